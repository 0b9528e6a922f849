/* SPDX-License-Identifier: 0BSD
 * Prints the keys whose tones a recording has (WAV, 16 bits, one channel, 8000 samples a second),
 * 80 samples after the other, as a microphone gives them. The network is compiled with
 *   --stream sound:2:80 --preprocess int16,scale=1/32768 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "dtmf.h"

enum { HEADER = 44, SILENCE = 16 };

/* All the memory that changes while it runs. */
static _Alignas(DTMF_ARENA_ALIGN) unsigned char arena[DTMF_ARENA_SIZE];

/* Samples of a hop, lower byte first. 0: there are none left. */
static int read_hop(FILE *f, int16_t *sound)
{
    unsigned char bytes[2 * DTMF_IN0_LENGTH];
    if (fread(bytes, 1, sizeof bytes, f) != sizeof bytes)
        return 0;
    for (int i = 0; i < (int)DTMF_IN0_LENGTH; i++)
        sound[i] = (int16_t)(bytes[2 * i] | bytes[2 * i + 1] << 8);
    return 1;
}

static int loudest(const float *scores)
{
    int best = 0;
    for (int i = 1; i < (int)DTMF_OUT0_LENGTH; i++)
        if (scores[i] > scores[best])
            best = i;
    return best;
}

int main(int argc, char **argv)
{
    static int16_t sound[DTMF_IN0_LENGTH];
    static float scores[DTMF_OUT0_LENGTH];
    const dtmf_inputs in = { sound };
    const dtmf_outputs out = { scores };
    unsigned char header[HEADER];
    int before = SILENCE;
    FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;
    if (!f || fread(header, 1, HEADER, f) != HEADER ||
        memcmp(header, "RIFF", 4)) {
        fprintf(stderr, "listen: needs a recording, RECORDING.wav\n");
        return 66;
    }
    dtmf_reset(arena);
    for (int run = 1; read_hop(f, sound); run++) {
        const int code = dtmf_run(arena, &in, &out);
        const int key = loudest(scores);
        if (code) {
            fprintf(stderr, "dtmf_run returned %d\n", code);
            return 70;
        }
        if (run < DTMF_FULL_RUNS) /* the window is not full yet */
            continue;
        if (key != before && key != SILENCE)
            putchar("123A456B789C*0#D"[key]);
        before = key;
    }
    putchar('\n');
    fclose(f);
    return 0;
}
