/* SPDX-License-Identifier: 0BSD
 * A device whose flash is a file: each call is what happens from one reset to the next.
 *
 *     device FLASH              a run by the weights in use; those on trial stay if they are good
 *     device FLASH FILE         then new weights: a blob, or a delta
 *     device FLASH FILE again   the same, when it was cut off before
 *     device FLASH good         those on trial stay */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>

#include "flash_file.h"
#include "model_device.h"

/* Signed blobs: verify.h has a function verify(), KEY is its context (docs/UPDATES.md of Inlay). */
#ifdef MODEL_DEVICE_SIGNED
#include "inlay_signed.h"
#include "verify.h"
static unsigned char key[] = { KEY };
static inlay_signed by = { verify, key };
#endif

/* A slot has room for a blob with 4 KiB of notes, and for the log. */
enum {
    NEEDED = MODEL_BLOB_SIZE + 4096 + INLAY_SLOTS_LOG,
    SLOT = (NEEDED + FLASH_FILE_SECTOR - 1) / FLASH_FILE_SECTOR * FLASH_FILE_SECTOR
};

static int32_t read_download(void *context, void *to, uint32_t n)
{
    FILE *file = (FILE *)context;
    const size_t k = fread(to, 1, n, file);
    return ferror(file) ? -1 : (int32_t)k;
}

static int download(inlay_slots *slots, const char *path, int resume)
{
    FILE *file = fopen(path, "rb");
    int error;
    if (!file)
        return INLAY_SLOTS_E_ARG;
    error = model_device_update(slots, resume, read_download, file);
    fclose(file);
    return error;
}

/* A run on made-up inputs, and the trial. */
static int use(inlay_slots *slots, const flash_file *f)
{
#if MODEL_WEIGHTS_STREAM
    inlay_source source;
    const inlay_source *weights = &source;
    int error = model_device_weights(slots, &source);
    (void)f;
#else
    const void *weights;
    int error = model_device_weights(slots, f->memory, &weights);
#endif
    if (!error)
        error = model_device_run(weights);
    printf("slot %d, trial %d, error %d: %g\n", slots->active, slots->trial, error,
           (double)out0[0]);
    if (!error && slots->trial && model_device_golden(slots, weights))
        return inlay_slots_confirm(slots);
    return error;
}

int main(int argc, char **argv)
{
    flash_file f;
    inlay_slots slots;
    uint32_t i;
    if (argc < 2 || flash_file_open(&f, argv[1], 2 * SLOT))
        return 1;
    model_device_slots(&slots, &f.flash, f.size);
#ifdef MODEL_DEVICE_SIGNED
    slots.check = inlay_signed_check;
    slots.context = &by;
#endif
    if (inlay_slots_open(&slots))
        return 1;
//@ ones {
    for (i = 0; i < MODEL_IN0_LENGTH; i++)
        in0[i] = 1;
//@ }
    if (slots.active == INLAY_SLOTS_NONE)
        puts("no weights yet");
    else if (use(&slots, &f))
        return 1;
    if (argc > 2 && !strcmp(argv[2], "good"))
        return inlay_slots_confirm(&slots);
    return argc > 2 ? download(&slots, argv[2], argc > 3) : 0;
}
