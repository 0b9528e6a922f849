/* SPDX-License-Identifier: 0BSD
 * A device of ESP-IDF: its weights lie in a data partition, new ones come over the console: their
 * length in 4 bytes, the lowest first, then a blob or a delta. */
#include <stdio.h>

#include "freertos/FreeRTOS.h"
#include "freertos/task.h"

#include "flash_partition.h"
#include "model_device.h"

static inlay_slots slots;
static flash_partition partition;
static uint32_t left; /* bytes of the download that are to come */

static unsigned char next_byte(void)
{
    int byte;
    while ((byte = getchar()) == EOF) { /* the console does not wait */
        clearerr(stdin);
        vTaskDelay(1);
    }
    return (unsigned char)byte;
}

static int32_t read_download(void *context, void *to, uint32_t n)
{
    unsigned char *bytes = (unsigned char *)to;
    uint32_t i;
    (void)context;
    n = n < left ? n : left;
    left -= n;
    for (i = 0; i < n; i++)
        bytes[i] = next_byte();
    return (int32_t)n;
}

static void download(void)
{
    int i;
    left = 0;
    for (i = 0; i < 4; i++)
        left |= (uint32_t)next_byte() << 8 * i;
    printf("download %d\n", model_device_update(&slots, 0, read_download, NULL));
    while (left) {
        left--;
        (void)next_byte();
    }
}

/* Weights on trial stay where their golden bytes come out. */
static void use(void)
{
#if MODEL_WEIGHTS_STREAM
    inlay_source source;
    const inlay_source *weights = &source;
    int error = model_device_weights(&slots, &source);
#else
    const void *weights;
    int error = model_device_weights(&slots, partition.memory, &weights);
#endif
    if (!error)
        error = model_device_run(weights);
    printf("slot %d, trial %d, error %d\n", slots.active, slots.trial, error);
    if (!error && slots.trial && model_device_golden(&slots, weights))
        error = inlay_slots_confirm(&slots);
    if (slots.trial)
        printf("not good: the old ones come back\n");
}

void app_main(void)
{
    int error = flash_partition_open(&partition, "weights");
    if (error) {
        printf("no partition: %d\n", error);
        return;
    }
    model_device_slots(&slots, &partition.flash, partition.size);
    for (;;) { /* what a reset does, or a download that is complete */
        error = inlay_slots_open(&slots);
        if (error) {
            printf("no slots: %d\n", error);
            return;
        }
        if (slots.active != INLAY_SLOTS_NONE)
            use();
        else
            printf("no weights yet\n");
        if (!slots.trial) /* else the next inlay_slots_open() goes back to the old ones */
            download();
    }
}
