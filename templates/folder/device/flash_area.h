/* SPDX-License-Identifier: 0BSD
 * Flash for inlay_slots.h that is a partition of Zephyr's flash map. prj.conf: CONFIG_FLASH,
 * CONFIG_FLASH_MAP and CONFIG_FLASH_PAGE_LAYOUT. */
#ifndef FLASH_AREA_H
#define FLASH_AREA_H

#include <errno.h>
#include <string.h>

#include <zephyr/drivers/flash.h>
#include <zephyr/storage/flash_map.h>

#include "inlay_slots.h"

typedef struct flash_partition {
    inlay_flash flash;
    const struct flash_area *area;
    uint32_t size; /* bytes of it */
} flash_partition;

static int flash_partition_read(void *context, uint32_t at, void *to, uint32_t n)
{
    return flash_area_read(((const flash_partition *)context)->area, (off_t)at, to, n);
}

static int flash_partition_prog(void *context, uint32_t at, const void *from, uint32_t n)
{
    return flash_area_write(((const flash_partition *)context)->area, (off_t)at, from, n);
}

static int flash_partition_erase(void *context, uint32_t at)
{
    const flash_partition *p = (const flash_partition *)context;
    return flash_area_erase(p->area, (off_t)at, p->flash.erase_unit);
}

/* flash_area_write() and flash_area_erase() come back when it is done. */
static int flash_partition_sync(void *context)
{
    (void)context;
    return 0;
}

/* Bytes of the sectors, which all have to be of one size; or 0. */
static uint32_t flash_partition_sector(const struct flash_area *area)
{
    struct flash_pages_info page;
    uint32_t sector = 0;
    off_t at;
    for (at = 0; at < (off_t)area->fa_size; at += (off_t)sector) {
        if (flash_get_page_info_by_offs(flash_area_get_device(area), area->fa_off + at, &page))
            return 0;
        if (page.start_offset != area->fa_off + at || (sector && page.size != sector))
            return 0;
        sector = (uint32_t)page.size;
    }
    return sector;
}

/* The partition with that number, FIXED_PARTITION_ID(label): 0, or an error of Zephyr. */
static int flash_partition_open(flash_partition *p, int id)
{
    int error;
    memset(p, 0, sizeof *p);
    error = flash_area_open((uint8_t)id, &p->area);
    if (error)
        return error;
    p->size = (uint32_t)p->area->fa_size;
    p->flash.context = p;
    p->flash.read = flash_partition_read;
    p->flash.prog = flash_partition_prog;
    p->flash.erase = flash_partition_erase;
    p->flash.sync = flash_partition_sync;
    p->flash.prog_unit = (uint32_t)flash_area_align(p->area);
    p->flash.erase_unit = flash_partition_sector(p->area);
    p->flash.erased_value = flash_area_erased_val(p->area);
    return p->flash.erase_unit ? 0 : -ENOTSUP;
}

#endif
