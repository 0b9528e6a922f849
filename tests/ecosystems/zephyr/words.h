/* SPDX-License-Identifier: Apache-2.0
 * Words of today's Zephyr that version 1.14 has not, or has otherwise; for headers of their names
 * that the test makes. */
#ifndef INLAY_TESTS_ZEPHYR_WORDS_H
#define INLAY_TESTS_ZEPHYR_WORDS_H

#include <device.h>
#include <flash.h>
#include <flash_map.h>
#include <misc/printk.h>
#include <uart.h>
#include <zephyr.h>

#define FIXED_PARTITION_ID(label) 0
#define flash_area_erased_val(area) 0xff
#define DT_CHOSEN(name) 0
#define DEVICE_DT_GET(node) device_get_binding(CONFIG_UART_CONSOLE_ON_DEV_NAME)

#endif
