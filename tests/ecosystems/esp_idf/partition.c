/* SPDX-License-Identifier: Apache-2.0
 * The partition: NOR flash, whose writes make ones to zeros and whose sectors have 4 KiB. */
#include <string.h>

#include "esp_partition.h"

void app_main(void);

enum { SIZE = 1 << 20, SECTOR = 4096 };

static uint8_t flash[SIZE];
static const esp_partition_t weights = { SIZE, SECTOR, false };

const esp_partition_t *esp_partition_find_first(esp_partition_type_t type,
                                                esp_partition_subtype_t subtype,
                                                const char *label)
{
    (void)subtype;
    if (type != ESP_PARTITION_TYPE_DATA || strcmp(label, "weights"))
        return NULL;
    return &weights;
}

static bool inside(size_t offset, size_t size)
{
    return offset <= SIZE && size <= SIZE - offset;
}

esp_err_t esp_partition_read(const esp_partition_t *partition, size_t offset,
                             void *to, size_t size)
{
    (void)partition;
    if (!inside(offset, size))
        return ESP_ERR_INVALID_SIZE;
    memcpy(to, flash + offset, size);
    return ESP_OK;
}

esp_err_t esp_partition_write(const esp_partition_t *partition, size_t offset,
                              const void *from, size_t size)
{
    (void)partition;
    const uint8_t *bytes = from;
    if (!inside(offset, size))
        return ESP_ERR_INVALID_SIZE;
    for (size_t i = 0; i < size; i++)
        flash[offset + i] &= bytes[i];
    return ESP_OK;
}

esp_err_t esp_partition_erase_range(const esp_partition_t *partition,
                                    size_t offset, size_t size)
{
    (void)partition;
    if (offset % SECTOR || size % SECTOR || !inside(offset, size))
        return ESP_ERR_INVALID_ARG;
    memset(flash + offset, 0xff, size);
    return ESP_OK;
}

esp_err_t esp_partition_mmap(const esp_partition_t *partition, size_t offset,
                             size_t size, esp_partition_mmap_memory_t memory,
                             const void **pointer,
                             esp_partition_mmap_handle_t *handle)
{
    (void)partition;
    (void)memory;
    if (!inside(offset, size))
        return ESP_ERR_INVALID_ARG;
    *pointer = flash + offset;
    *handle = 1;
    return ESP_OK;
}

int main(void)
{
    memset(flash, 0x5a, sizeof flash); /* whatever was there before */
    app_main();
    return 1;
}
