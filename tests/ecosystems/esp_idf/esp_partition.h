/* SPDX-License-Identifier: Apache-2.0
 * What the example takes from ESP-IDF's component esp_partition, on a host: one data partition,
 * "weights", in memory, which is refused what flash does not take. */
#ifndef INLAY_TESTS_ESP_PARTITION_H
#define INLAY_TESTS_ESP_PARTITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int esp_err_t;
enum {
    ESP_OK = 0,
    ESP_ERR_INVALID_ARG = 0x102,
    ESP_ERR_INVALID_SIZE = 0x104,
    ESP_ERR_NOT_FOUND = 0x105,
    ESP_ERR_NOT_SUPPORTED = 0x106
};

typedef enum { ESP_PARTITION_TYPE_DATA = 1 } esp_partition_type_t;
typedef enum { ESP_PARTITION_SUBTYPE_ANY = 0xff } esp_partition_subtype_t;
typedef enum { ESP_PARTITION_MMAP_DATA } esp_partition_mmap_memory_t;
typedef uint32_t esp_partition_mmap_handle_t;

typedef struct {
    uint32_t size;
    uint32_t erase_size;
    bool encrypted;
} esp_partition_t;

const esp_partition_t *esp_partition_find_first(esp_partition_type_t type,
                                                esp_partition_subtype_t subtype,
                                                const char *label);
esp_err_t esp_partition_read(const esp_partition_t *partition, size_t offset,
                             void *to, size_t size);
esp_err_t esp_partition_write(const esp_partition_t *partition, size_t offset,
                              const void *from, size_t size);
esp_err_t esp_partition_erase_range(const esp_partition_t *partition,
                                    size_t offset, size_t size);
esp_err_t esp_partition_mmap(const esp_partition_t *partition, size_t offset,
                             size_t size, esp_partition_mmap_memory_t memory,
                             const void **pointer,
                             esp_partition_mmap_handle_t *handle);

#endif
