/* SPDX-License-Identifier: 0BSD
 * Flash for inlay_slots.h that is a partition of ESP-IDF (from 5.1 on), by component esp_partition.
 * Not one that is encrypted: what is erased there reads as anything. */
#ifndef FLASH_PARTITION_H
#define FLASH_PARTITION_H

#include <string.h>

#include "esp_partition.h"
#include "inlay_slots.h"

typedef struct flash_partition {
    inlay_flash flash;
    const esp_partition_t *partition;
    uint32_t size;      /* bytes of it */
    const void *memory; /* its first byte, read only */
} flash_partition;

static int flash_partition_read(void *context, uint32_t at, void *to, uint32_t n)
{
    return esp_partition_read(((const flash_partition *)context)->partition, at, to, n);
}

static int flash_partition_prog(void *context, uint32_t at, const void *from, uint32_t n)
{
    return esp_partition_write(((const flash_partition *)context)->partition, at, from, n);
}

static int flash_partition_erase(void *context, uint32_t at)
{
    const flash_partition *p = (const flash_partition *)context;
    return esp_partition_erase_range(p->partition, at, p->flash.erase_unit);
}

/* Writes and erasures come back when they are done. */
static int flash_partition_sync(void *context)
{
    (void)context;
    return 0;
}

/* The data partition of that name in partitions.csv. */
static esp_err_t flash_partition_open(flash_partition *p, const char *name)
{
    esp_partition_mmap_handle_t handle;
    memset(p, 0, sizeof *p);
    p->partition =
        esp_partition_find_first(ESP_PARTITION_TYPE_DATA, ESP_PARTITION_SUBTYPE_ANY, name);
    if (!p->partition)
        return ESP_ERR_NOT_FOUND;
    if (p->partition->encrypted)
        return ESP_ERR_NOT_SUPPORTED;
    p->size = p->partition->size;
    p->flash.context = p;
    p->flash.read = flash_partition_read;
    p->flash.prog = flash_partition_prog;
    p->flash.erase = flash_partition_erase;
    p->flash.sync = flash_partition_sync;
    p->flash.prog_unit = 4;
    p->flash.erase_unit = p->partition->erase_size;
    p->flash.erased_value = 0xff;
    return esp_partition_mmap(p->partition, 0, p->size, ESP_PARTITION_MMAP_DATA, &p->memory,
                              &handle);
}

#endif
