/* SPDX-License-Identifier: Apache-2.0
 * A flash driver of Zephyr 1.14 that keeps its bytes in RAM and refuses what flash does: units that
 * are written twice, and what is not aligned; and a flash map with one partition of it. */
#include <string.h>

#include <flash.h>
#include <flash_map.h>
#include <init.h>

enum { UNIT = 8, SECTOR = 1024, BEFORE = 2, SECTORS = 16 };

static u8_t bytes[(BEFORE + SECTORS) * SECTOR] __aligned(8);

static bool inside(off_t offset, size_t n, size_t unit)
{
    return offset >= 0 && offset % unit == 0 && n % unit == 0 &&
           (size_t)offset + n <= sizeof bytes;
}

static int read_bytes(struct device *dev, off_t offset, void *to, size_t n)
{
    ARG_UNUSED(dev);
    if (!inside(offset, n, 1))
        return -EINVAL;
    memcpy(to, bytes + offset, n);
    return 0;
}

static int write_bytes(struct device *dev, off_t offset, const void *from,
                       size_t n)
{
    ARG_UNUSED(dev);
    if (!inside(offset, n, UNIT))
        return -EINVAL;
    for (size_t i = 0; i < n; i++)
        if (bytes[offset + i] != 0xff)
            return -EIO;
    memcpy(bytes + offset, from, n);
    return 0;
}

static int erase_bytes(struct device *dev, off_t offset, size_t n)
{
    ARG_UNUSED(dev);
    if (!inside(offset, n, SECTOR))
        return -EINVAL;
    memset(bytes + offset, 0xff, n);
    return 0;
}

static int protect(struct device *dev, bool enable)
{
    ARG_UNUSED(dev);
    ARG_UNUSED(enable);
    return 0;
}

static void layout(struct device *dev, const struct flash_pages_layout **pages,
                   size_t *n)
{
    static const struct flash_pages_layout all = { BEFORE + SECTORS, SECTOR };
    ARG_UNUSED(dev);
    *pages = &all;
    *n = 1;
}

static const struct flash_driver_api api = {
    .read = read_bytes,
    .write = write_bytes,
    .erase = erase_bytes,
    .write_protection = protect,
    .page_layout = layout,
    .write_block_size = UNIT,
};

static int begin(struct device *dev)
{
    ARG_UNUSED(dev);
    memset(bytes, 0x5a, sizeof bytes); /* whatever was there before */
    return 0;
}

DEVICE_AND_API_INIT(ram_flash, "RAM_FLASH", begin, NULL, NULL, POST_KERNEL,
                    CONFIG_KERNEL_INIT_PRIORITY_DEVICE, &api);

static const struct flash_area areas[] = {
    { .fa_id = 0,
      .fa_off = BEFORE * SECTOR,
      .fa_size = SECTORS * SECTOR,
      .fa_dev_name = "RAM_FLASH" },
};
const int flash_map_entries = ARRAY_SIZE(areas);
const struct flash_area *flash_map = areas;
