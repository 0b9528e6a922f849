/* SPDX-License-Identifier: Apache-2.0
 * Runs generated models on extreme inputs. The arena, every input and every output is a block of
 * exactly its size from malloc, so that AddressSanitizer sees each byte beside it. Each model runs
 * in a process of its own: prints its name and 0, or what was wrong and with which inputs.
 *
 *   drive [SEED] */
#include "drive.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CPU_SECONDS = 20, MOST = 64, E_SHAPE = 3, E_INDEX = 4 };

static void *block(size_t n, size_t align)
{
    void *p = NULL;
    if (posix_memalign(&p, align < sizeof(void *) ? sizeof(void *) : align, n))
        _exit(90);
    return p;
}

/* 0, or a result that no run may return. */
static int run_once(const Driven *d, Random *r, Filling how)
{
    void *in[MOST] = { 0 }, *out[MOST] = { 0 }, *dims[MOST] = { 0 };
    void *const arena = block(d->arena, d->align);
    memset(arena, 0xA5, d->arena);
    for (int i = 0; i < d->inputs; i++) {
        in[i] = block(d->input[i].bytes, 16);
        fill(r, how, d->input + i, in[i]);
    }
    for (int i = 0; i < d->outputs; i++) {
        out[i] = block(d->output[i].bytes, 16);
        if (d->output[i].rank >= 0)
            dims[i] = block(sizeof(int64_t) * (size_t)d->output[i].rank, 8);
    }
    const int result = d->run(arena, in, out, dims);
    for (int i = 0; i < MOST; i++) {
        free(in[i]);
        free(out[i]);
        free(dims[i]);
    }
    free(arena);
    return result == 0 || result == E_SHAPE || result == E_INDEX ? 0 : result;
}

/* In the model's own process; the last line of what it says names the inputs. */
static _Noreturn void run_all(const Driven *d, uint64_t seed)
{
    const struct rlimit cpu = { CPU_SECONDS, CPU_SECONDS };
    setrlimit(RLIMIT_CPU, &cpu);
    for (int k = 0; k < RUNS; k++) {
        Random r = random_for(seed, k);
        const Filling how = filling_for(k);
        fprintf(stderr, "%s: run %d, %s\n", d->name, k, filling_text(how));
        const int result = run_once(d, &r, how);
        if (result) {
            fprintf(stderr, "%s: returned %d\n", d->name, result);
            _exit(91);
        }
    }
    _exit(0);
}

int main(int argc, char **argv)
{
    const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    for (int i = 0; i < driven_count; i++) {
        char log[64];
        snprintf(log, sizeof log, "%s.run", driven[i].name);
        const pid_t process = fork();
        if (!process) {
            if (!freopen(log, "w", stderr))
                _exit(92);
            setvbuf(stderr, NULL, _IONBF, 0);
            run_all(driven + i, seed);
        }
        int how;
        if (waitpid(process, &how, 0) != process)
            return 1;
        printf("%s %d\n", driven[i].name,
               WIFSIGNALED(how) ? -WTERMSIG(how) : WEXITSTATUS(how));
        fflush(stdout);
    }
    return 0;
}
