/* SPDX-License-Identifier: Apache-2.0
 * Runs command lines that standard input names, one a line: NAME LOG and the words of the command,
 * parted by blanks. Each runs in a process of its own, forked from this one, so that a fault ends
 * only that one; messages go to LOG. Prints one line each: NAME, how it ended (its status, or minus
 * the signal), milliseconds of CPU.
 *
 * The command `run-extremes MODEL LEVEL SEED` is ours: a compile that writes nothing, and the plan
 * run by the compiler's own kernels, which are those of the generated C, on what fill.h makes. The
 * arena, each input and each output is a block of exactly its size. Its status is 2 where a run
 * ends with what no run may return, 3 where the work is too large to wait for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command_line.h"
#include "pipeline/compile.h"
#include "eval/eval.h"
#include "fill.h"

enum {
    CPU_SECONDS = 20,
    WORDS = 64,
    MOST_VALUES = 60,
    MOST_BYTES = 4 << 20,
    MOST_WORK = 20000000,
    WRONG_RESULT = 2,
    TOO_LARGE = 3
};

typedef struct Extremes {
    Options options;
    Compile compile;
    uint64_t seed;
    int verdict;
} Extremes;

static char form_of(DType d)
{
    static const struct {
        DType type;
        char form;
    } rows[] = { { DT_F32, 'f' }, { DT_F64, 'd' }, { DT_F16, 'e' },
                 { DT_I64, 'q' }, { DT_I32, 'i' }, { DT_I16, 'h' },
                 { DT_I8, 'b' },  { DT_U64, 'Q' }, { DT_U32, 'I' },
                 { DT_U16, 'H' }, { DT_U8, 'B' },  { DT_BOOL, '?' } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].type == d)
            return rows[i].form;
    return 'x';
}

static long longest(const Graph *g)
{
    long most = 1;
    for (size_t i = 0; i < g->input.n + g->output.n; i++) {
        const Tensor *t =
            i < g->input.n ? g->input.at[i] : g->output.at[i - g->input.n];
        for (int k = 0; k < t->shape.rank; k++)
            most = t->shape.dim[k] > most ? (long)t->shape.dim[k] : most;
    }
    return most < 100000 ? most : 100000;
}

static bool too_large(const Program *p)
{
    const Graph *g = p->graph;
    int64_t bytes = p->plan.arena_size;
    double work = 0;
    for (size_t i = 0; i < g->input.n; i++)
        bytes += tensor_bytes(g->input.at[i]);
    for (size_t i = 0; i < g->output.n; i++)
        bytes += tensor_bytes(g->output.at[i]);
    for (size_t i = 0; i < p->step.n; i++)
        work += (double)p->step.at[i]->macs;
    return bytes > MOST_BYTES || work > MOST_WORK ||
           g->input.n + g->output.n > MOST_VALUES;
}

static void *block(int64_t n)
{
    void *p = NULL;
    if (posix_memalign(&p, 64, (size_t)n))
        fail_memory((uint64_t)n, "a buffer of exactly its size");
    return p;
}

static int run_once(Extremes *e, int run)
{
    const Graph *g = e->compile.graph;
    void *value[MOST_VALUES];
    unsigned char *memory = block(e->compile.program->plan.arena_size);
    Random r = random_for(e->seed, run);
    const size_t n = g->input.n + g->output.n;
    for (size_t i = 0; i < n; i++) {
        const Tensor *t =
            i < g->input.n ? g->input.at[i] : g->output.at[i - g->input.n];
        const DrivenValue v = { form_of(t->dtype), (size_t)tensor_bytes(t), -1,
                                longest(g) };
        value[i] = block((int64_t)v.bytes);
        if (i < g->input.n)
            fill(&r, filling_for(run), &v, value[i]);
    }
    memset(memory, 0xA5, (size_t)e->compile.program->plan.arena_size);
    const int result =
        eval_run_in(e->compile.program, &memory, value, value + g->input.n);
    for (size_t i = 0; i < n; i++)
        free(value[i]);
    free(memory);
    return result;
}

static void run_all(void *context)
{
    Extremes *e = context;
    compile_open(&e->compile, &e->options);
    compile_to(&e->compile, STAGE_LAYOUT);
    if (too_large(e->compile.program)) {
        e->verdict = TOO_LARGE;
        return;
    }
    for (int k = 0; k < RUNS; k++) {
        fprintf(stderr, "run %d, %s\n", k, filling_text(filling_for(k)));
        const int result = run_once(e, k);
        if (result && result != INLAY_E_SHAPE && result != INLAY_E_INDEX) {
            fprintf(stderr, "returned %d\n", result);
            e->verdict = WRONG_RESULT;
            return;
        }
    }
}

static void close_all(void *context)
{
    compile_close(context);
}

static int run_extremes(char *const *word)
{
    static const long long memory = 512ll << 20;
    Extremes e = { .options = { .model = word[0],
                                .plan = (int)strtol(word[1], NULL, 10),
                                .max_memory = &memory },
                   .seed = strtoull(word[2], NULL, 10) };
    Diag d = { .out = stderr };
    protect(&d, run_all, &e);
    protect(&d, close_all, &e.compile);
    return d.status ? (int)d.status : e.verdict;
}

static int split(char *line, char **word)
{
    int n = 0;
    char *rest = line;
    while (n < WORDS - 1 && (word[n] = strtok_r(rest, " \n", &rest)))
        n++;
    word[n] = NULL;
    return n;
}

static _Noreturn void child(int argc, char *const *argv, const char *log)
{
    const struct rlimit cpu = { CPU_SECONDS, CPU_SECONDS };
    if (!freopen(log, "w", stderr) || setrlimit(RLIMIT_CPU, &cpu))
        _exit(STATUS_IO);
    setvbuf(stderr, NULL, _IONBF, 0);
    const bool ours = argc == 5 && !strcmp(argv[1], "run-extremes");
    const int status =
        ours ? run_extremes(argv + 2) : (int)command_line(argc, argv, stderr);
    fflush(stderr);
    _exit(status);
}

static long milliseconds(const struct rusage *r)
{
    return (r->ru_utime.tv_sec + r->ru_stime.tv_sec) * 1000 +
           (r->ru_utime.tv_usec + r->ru_stime.tv_usec) / 1000;
}

static void wait_for(pid_t process, const char *name)
{
    struct rusage used;
    int how;
    if (wait4(process, &how, 0, &used) != process)
        exit(STATUS_IO);
    printf("%s %d %ld\n", name,
           WIFSIGNALED(how) ? -WTERMSIG(how) : WEXITSTATUS(how),
           milliseconds(&used));
    fflush(stdout);
}

int main(void)
{
    static char line[4096], *word[WORDS];
    while (fgets(line, sizeof line, stdin)) {
        const int words = split(line, word);
        if (words < 3)
            return STATUS_USAGE;
        const pid_t process = fork();
        if (process < 0)
            return STATUS_IO;
        if (!process)
            child(words - 1, word + 1,
                  word[1]); /* LOG stands where the program's name does */
        wait_for(process, word[0]);
    }
    return 0;
}
