/* SPDX-License-Identifier: Apache-2.0
 * Every allocation fails: for each command, in this process, the k-th of the system's alone, all
 * from the k-th on, and the k-th piece that an arena gives away, for every k. Each run ends as the
 * one without faults did, with the same results to the byte, or with status 71, one message and
 * nothing printed; the output folder is as it was before, or as it must be. Leaks and wild accesses
 * are the sanitizers' to find: with them the calls of the compiler itself fail, without them also
 * those of the libraries.
 *
 *   faults MODEL.onnx [--input=FILE.pb]... [--shape=...]...
 *
 * INLAY_EVERY=N: of the arenas' pieces every N-th. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "cli/command_line.h"

/* ---- allocations ---- */

typedef enum Kind { OF_SYSTEM, OF_SYSTEM_AND_AFTER, OF_ARENA, KINDS } Kind;

static struct {
    bool armed, in_arena, and_all_after;
    long at, seen;
} fault;

static bool fails(bool in_arena)
{
    if (!fault.armed || fault.in_arena != in_arena)
        return false;
    fault.seen++;
    const bool now = fault.seen == fault.at ||
                     (fault.and_all_after && fault.seen > fault.at);
    if (now)
        errno = ENOMEM;
    return now;
}

#ifdef INLAY_WRAPPED /* by the linker: those of the compiler */
#define MINE(name) __wrap_##name
#define SYSTEM(name) __real_##name
#else /* in front of the library's: those of all */
#define MINE(name) name
#define SYSTEM(name) __libc_##name
#endif

void *SYSTEM(malloc)(size_t size);
void *SYSTEM(calloc)(size_t count, size_t size);
void *SYSTEM(realloc)(void *old, size_t size);
void *MINE(malloc)(size_t size);
void *MINE(calloc)(size_t count, size_t size);
void *MINE(realloc)(void *old, size_t size);

void *MINE(malloc)(size_t size)
{
    return fails(false) ? NULL : SYSTEM(malloc)(size);
}

void *MINE(calloc)(size_t count, size_t size)
{
    return fails(false) ? NULL : SYSTEM(calloc)(count, size);
}

void *MINE(realloc)(void *old, size_t size)
{
    return fails(false) ? NULL : SYSTEM(realloc)(old, size);
}

/* The arenas' own, wrapped by the linker: whoever asks for a piece from outside of arena.c. */
void *__real_arena_alloc(Arena *a, size_t bytes);
void *__real_arena_array(Arena *a, size_t count, size_t size);
void *__real_arena_buffer(Arena *a, size_t bytes);
void *__real_arena_copy(Arena *a, const void *from, size_t bytes);
void *__real_arena_grow(Arena *a, void *p, size_t from, size_t to);
char *__real_arena_text(Arena *a, const char *text, size_t length);
void *__wrap_arena_alloc(Arena *a, size_t bytes);
void *__wrap_arena_array(Arena *a, size_t count, size_t size);
void *__wrap_arena_buffer(Arena *a, size_t bytes);
void *__wrap_arena_copy(Arena *a, const void *from, size_t bytes);
void *__wrap_arena_grow(Arena *a, void *p, size_t from, size_t to);
char *__wrap_arena_text(Arena *a, const char *text, size_t length);

static void piece(size_t bytes)
{
    if (fails(true))
        fail_memory(bytes, "the test wants it so");
}

void *__wrap_arena_alloc(Arena *a, size_t bytes)
{
    piece(bytes);
    return __real_arena_alloc(a, bytes);
}

void *__wrap_arena_array(Arena *a, size_t count, size_t size)
{
    piece(count);
    return __real_arena_array(a, count, size);
}

void *__wrap_arena_buffer(Arena *a, size_t bytes)
{
    piece(bytes);
    return __real_arena_buffer(a, bytes);
}

void *__wrap_arena_copy(Arena *a, const void *from, size_t bytes)
{
    piece(bytes);
    return __real_arena_copy(a, from, bytes);
}

void *__wrap_arena_grow(Arena *a, void *p, size_t from, size_t to)
{
    piece(to);
    return __real_arena_grow(a, p, from, to);
}

char *__wrap_arena_text(Arena *a, const char *text, size_t length)
{
    piece(length);
    return __real_arena_text(a, text, length);
}

/* ---- a run and what came of it ---- */

enum { MOST_WORDS = 64, MOST_TEXT = 1 << 16 };

typedef struct Words {
    int n;
    char *at[MOST_WORDS];
} Words;

typedef struct Outcome {
    Status status;
    uint64_t printed, folder; /* digests; 0: nothing */
    int next_file; /* descriptor: none is left open where it stays the same */
    char message[MOST_TEXT];
} Outcome;

static char folder[200];
static char out[220], made[220], manifest[240], csv[240];
static int printed_fd, message_fd;
static FILE *messages, *report;
static uint64_t digest;

static void add(const void *data, size_t n)
{
    const unsigned char *byte = data;
    for (size_t i = 0; i < n; i++)
        digest = (digest ^ byte[i]) * UINT64_C(0x100000001b3);
}

static uint64_t digest_fd(int fd)
{
    char part[4096];
    ssize_t n;
    digest = 0;
    for (off_t at = 0; (n = pread(fd, part, sizeof part, at)) > 0; at += n)
        add(part, (size_t)n);
    return digest;
}

/* Files come in any order: their digests are added. */
static uint64_t sum;

static int visit(const char *path, const struct stat *st, int type,
                 struct FTW *ftw)
{
    (void)st;
    (void)ftw;
    const int fd = type == FTW_F ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    const uint64_t content = fd < 0 ? 0 : digest_fd(fd);
    if (fd >= 0)
        close(fd);
    digest = 1;
    add(path, strlen(path));
    add(&content, sizeof content);
    sum += digest;
    return 0;
}

/* The output folder and all beside it. */
static uint64_t digest_folder(void)
{
    sum = 0;
    nftw(folder, visit, 16, FTW_PHYS);
    return sum;
}

static int drop(const char *path, const struct stat *st, int type,
                struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void remove_folder(const char *path)
{
    nftw(path, drop, 16, FTW_DEPTH | FTW_PHYS);
}

static void empty(int fd, FILE *file)
{
    fflush(file);
    rewind(file);
    clearerr(file);
    if (ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET))
        abort();
}

static void run(const Words *words, Outcome *o)
{
    empty(printed_fd, stdout);
    empty(message_fd, messages);
    fault.seen = 0;
    fault.armed = true;
    o->status = command_line(words->n, words->at, messages);
    fault.armed = false;
    fflush(stdout);
    fflush(messages);
    const ssize_t n = pread(message_fd, o->message, sizeof o->message - 1, 0);
    o->message[n > 0 ? n : 0] = '\0';
    o->printed = digest_fd(printed_fd);
    o->folder = digest_folder();
    o->next_file = dup(message_fd);
    close(o->next_file);
}

/* ---- the judge ---- */

typedef struct Case {
    const char *name;
    Words words;
    /* makes the output folder as it is found; none: there is none */
    Words before;
} Case;

static int count_errors(const char *message)
{
    int n = 0;
    for (const char *at = message; (at = strstr(at, "error: ")); at++)
        n++;
    return n;
}

static const char *objection(const Outcome *o, const Outcome *want,
                             uint64_t folder_before)
{
    if (o->next_file != want->next_file)
        return "leaves a file open";
    if (o->status == want->status) {
        if (o->printed != want->printed)
            return "prints something else";
        return o->folder == want->folder ? NULL : "leaves another folder";
    }
    if (o->status != STATUS_MEMORY)
        return "has another status";
    if (count_errors(o->message) != 1)
        return "has not one message";
    if (o->printed)
        return "prints half of its results";
    return o->folder == folder_before ? NULL
                                      : "leaves the folder neither old nor new";
}

static uint64_t prepare(const Case *c)
{
    static Outcome made_before;
    const long at = fault.at;
    fault.at = 0;
    remove_folder(out);
    if (c->before.n)
        run(&c->before, &made_before);
    fault.at = at;
    return digest_folder();
}

static long every(Kind kind)
{
    const char *text = getenv("INLAY_EVERY");
    return text && kind == OF_ARENA ? strtol(text, NULL, 10) : 1;
}

typedef struct Tally {
    long allocations, refused, bad;
} Tally;

static void complain(const Case *c, Kind kind, const Outcome *o,
                     const char *why)
{
    static const char *const which[] = { [OF_SYSTEM] = "allocation",
                                         [OF_SYSTEM_AND_AFTER] =
                                             "all from allocation",
                                         [OF_ARENA] = "piece" };
    fprintf(report, "#   %s, %s %ld: status %d, %s: %s", c->name, which[kind],
            fault.at, (int)o->status, why,
            *o->message ? o->message : "no message\n");
}

/* All faults of a kind. */
static void fail_all(const Case *c, Kind kind, Tally *tally)
{
    static Outcome want, o;
    fault.in_arena = kind == OF_ARENA;
    fault.and_all_after = kind == OF_SYSTEM_AND_AFTER;
    fault.at = LONG_MAX;
    uint64_t before = prepare(c);
    run(&c->words, &want);
    const long allocations = fault.seen;
    if ((want.status != STATUS_OK && want.status != STATUS_LIMIT) ||
        !allocations) {
        complain(c, kind, &want, "without faults");
        tally->bad++;
    }
    before = prepare(c);
    for (fault.at = 1; fault.at <= allocations; fault.at += every(kind)) {
        run(&c->words, &o);
        const char *why = objection(&o, &want, before);
        if (why && ++tally->bad < 6)
            complain(c, kind, &o, why);
        tally->refused += o.status == STATUS_MEMORY;
        if (o.folder != before)
            before = prepare(c);
    }
    tally->allocations += allocations;
}

static bool try_case(const Case *c, int number)
{
    Tally tally = { 0 };
    for (Kind kind = 0; kind < KINDS; kind++)
        fail_all(c, kind, &tally);
    if (!tally.refused)
        tally.bad++;
    fprintf(report,
            "%sok %d - %s: %ld allocations, %ld runs refused, %ld wrong\n",
            tally.bad ? "not " : "", number, c->name, tally.allocations,
            tally.refused, tally.bad);
    return tally.bad;
}

/* ---- the commands ---- */

static void put(Words *w, const char *word)
{
    if (w->n + 1 == MOST_WORDS)
        abort();
    w->at[w->n++] = (char *)word;
}

/* A model's command; the words of the command line that are for it. */
static Words words_of(const char *command, int argc, char **argv,
                      const char *const *more)
{
    Words w = { 0 };
    const bool is_run = !strcmp(command, "run"),
               is_prove = !strcmp(command, "prove");
    put(&w, "inlay");
    put(&w, command);
    if (is_prove)
        put(&w, manifest);
    put(&w, argv[1]);
    for (int i = 2; i < argc; i++)
        if (!strncmp(argv[i], "--input=", 8) ? is_run : !is_prove)
            put(&w, argv[i]);
    for (; *more; more++)
        put(&w, *more);
    return w;
}

static Words plain_words(const char *command, const char *word)
{
    Words w = { 0 };
    put(&w, "inlay");
    put(&w, command);
    put(&w, word);
    return w;
}

/* For `place`. */
static void write_problem(void)
{
    FILE *f = fopen(csv, "w");
    if (!f ||
        fputs("id,lower,upper,size\na,0,3,4\nb,3,9,4\nc,0,9,4\nd,9,21,4\ne,0,"
              "21,4\n",
              f) < 0 ||
        fclose(f))
        abort();
}

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

static bool try_commands(int argc, char **argv)
{
    const Words whole = words_of("compile", argc, argv,
                                 LIST("-o", out, "--json", "--html", "--csv"));
    const Words other = words_of("compile", argc, argv,
                                 LIST("-o", out, "--no-hash", "--weights=bin"));
    const Case cases[] = {
        { .name = "compile", .words = whole },
        { .name = "compile over a folder", .words = whole, .before = other },
        { .name = "compile to an object",
          .words = words_of("compile", argc, argv,
                            LIST("-o", out, "--weights=obj")) },
        { .name = "compile of two",
          .words = words_of("compile", argc, argv,
                            LIST("--name=one", argv[1], "--name=two",
                                 "--concurrent=one,two", "-o", out)) },
        { .name = "analyze --curve",
          .words = words_of("analyze", argc, argv, LIST("--json", "--curve")) },
        { .name = "analyze",
          .words =
              words_of("analyze", argc, argv, LIST("--hash-model", "-j")) },
        { .name = "analyze --html",
          .words = words_of("analyze", argc, argv, LIST("--html")) },
        { .name = "check",
          .words = words_of("check", argc, argv, LIST("--max-arena=1M")) },
        { .name = "run",
          .words = words_of("run", argc, argv, LIST("-o", out)) },
        { .name = "run and print",
          .words = words_of("run", argc, argv, LIST("--load=eager")) },
        { .name = "dump",
          .words = words_of("dump", argc, argv, LIST("--after=clean")) },
        { .name = "dump --initializers",
          .words = words_of("dump", argc, argv, LIST("--initializers")) },
        { .name = "prove",
          .words = words_of("prove", argc, argv, LIST("--json")) },
        { .name = "place", .words = plain_words("place", csv) },
        { .name = "ops", .words = plain_words("ops", "--json") },
        { .name = "passes", .words = plain_words("passes", "--json") },
        { .name = "explain", .words = plain_words("explain", "--json") },
        { .name = "help", .words = plain_words("help", "--json") },
    };
    static Outcome o;
    const int n = sizeof cases / sizeof *cases;
    const Words for_prove = words_of("compile", argc, argv,
                                     LIST("-o", made, "--name=m", "--no-hash"));
    bool bad = false;
    run(&for_prove, &o);
    write_problem();
    fprintf(report, "1..%d\n", n);
    for (int i = 0; i < n; i++)
        bad |= try_case(cases + i, i + 1);
    return bad;
}

/* Standard output and messages go to memory, through buffers that were there before. */
static void redirect(void)
{
    static char printed_buffer[BUFSIZ], message_buffer[BUFSIZ],
        report_buffer[BUFSIZ];
    const int real = dup(STDOUT_FILENO);
    printed_fd = memfd_create("printed", 0);
    message_fd = memfd_create("messages", 0);
    report = fdopen(real, "w");
    messages = fdopen(message_fd, "w");
    if (!report || !messages || dup2(printed_fd, STDOUT_FILENO) < 0)
        abort();
    setvbuf(stdout, printed_buffer, _IOFBF, sizeof printed_buffer);
    setvbuf(messages, message_buffer, _IOFBF, sizeof message_buffer);
    setvbuf(report, report_buffer, _IOLBF, sizeof report_buffer);
}

int main(int argc, char **argv)
{
    const char *place = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/inlay-faults-XXXXXX",
             place ? place : ".");
    if (argc < 2 || !mkdtemp(folder))
        return STATUS_USAGE;
    snprintf(out, sizeof out, "%s/out", folder);
    snprintf(made, sizeof made, "%s/made", folder);
    snprintf(manifest, sizeof manifest, "%s/m.json", made);
    snprintf(csv, sizeof csv, "%s/problem.csv", made);
    redirect();
    const bool bad = try_commands(argc, argv);
    remove_folder(folder);
    fclose(report);
    fclose(messages);
    return bad;
}
