/* SPDX-License-Identifier: 0BSD
 * Opens a blob with instructions left out, one try after each reset of the core. The emulator
 * loads memory anew at a reset, and its files stay: "tries" holds an address and a number of
 * halfwords for each, "results" gets a letter for each, so that its length is the next one's
 * number. A fault ends a try, and so does the timer. */
#include "board.h"
#include "net.h"
#include "semihosting.h"

enum { SEMI_FLEN = 0x0C, SEMI_APPEND_BINARY = 9 }; /* "ab" */
enum { TAKEN = 'G', REFUSED = 'B', FAULT = 'F', DONE = 0 };
enum { NOTHING = 0xBF00, TICKS = 400000 };

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define TIMER_CONTROL REGISTER(0xE000E010u)
#define TIMER_RELOAD REGISTER(0xE000E014u)
#define TIMER_NOW REGISTER(0xE000E018u)
#define RESET REGISTER(0xE000ED0Cu)

extern const unsigned char case_blob[];

/* Of results, to be added to. */
static uintptr_t open_results(void)
{
    const uintptr_t name[3] = { (uintptr_t) "results", SEMI_APPEND_BINARY, 7 };
    return semi_call(SEMI_OPEN, name);
}

/* The next try; returns 0 behind the last. */
static int next_try(uint32_t what[2])
{
    const uintptr_t results = open_results();
    const uintptr_t tries = semi_open("tries", 5);
    const uintptr_t number = semi_call(SEMI_FLEN, &results);
    const int found = semi_read(tries, number * 8, what, 8);
    semi_call(SEMI_CLOSE, &tries);
    semi_call(SEMI_CLOSE, &results);
    return found;
}

static void report(char result)
{
    const uintptr_t results = open_results();
    const uintptr_t end[2] = { results, semi_call(SEMI_FLEN, &results) };
    const uintptr_t content[3] = { results, (uintptr_t)&result, 1 };
    semi_call(SEMI_SEEK, end); /* some emulators append nothing */
    semi_call(SEMI_WRITE, content);
    semi_call(SEMI_CLOSE, &results);
    RESET = 0x05FA0004u;
    for (;;) {
    }
}

__attribute__((aligned(4))) void fault(void)
{
    TIMER_CONTROL = 0;
    report(FAULT);
}

int main(void)
{
    const void *weights = NULL;
    uint32_t what[2];
    volatile uint16_t *code;
    int taken;
    if (!next_try(what))
        return DONE;
    code = (volatile uint16_t *)what[0];
    while (what[1]--)
        *code++ = NOTHING;
    protect_constants();
    TIMER_RELOAD = TICKS;
    TIMER_NOW = 0;
    TIMER_CONTROL = 7; /* on, with an interrupt, at the core's clock */
    taken =
        net_weights_open(case_blob, NET_BLOB_SIZE, &weights) == 0 && weights;
    TIMER_CONTROL = 0;
    report(taken ? TAKEN : REFUSED);
    return DONE;
}
