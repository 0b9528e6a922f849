/* SPDX-License-Identifier: Apache-2.0
 * One command with every system call failing in turn: calls HOW STRIDE FOLDER -- COMMAND...
 *
 * HOW is `errors` (each plausible error, once and from then on), `kill` (SIGKILL before and after
 * the call) or `signal` (SIGTERM). The folder `start` of the working folder is copied to `work` for
 * each run, and the command runs there. FOLDER, of `work`, is what it writes ("-": nothing); after
 * each run it is as it was or complete, and after a compile into another folder nothing hidden is
 * left. `mixed` instead of `kill`: files of both may be in it. STRIDE: so many calls from one that
 * fails to the next. Prints what is wrong, one line each, and as last line how many runs there
 * were. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io_calls.h"
#include "base/signals.h"
#include "cli/command_line.h"

enum { MOST_CALLS = 100000, SECONDS = 60, SHORT = -1, ENDED = -2 };

typedef enum Call {
    OPENAT,
    CLOSE,
    FSTAT,
    FSTATAT,
    READ,
    PREAD,
    PWRITE,
    LSEEK,
    GETDENTS,
    FLOCK,
    FSYNC,
    FCHMOD,
    MKDIRAT,
    RENAMEAT,
    EXCHANGE,
    LINKAT,
    UNLINKAT,
    CALLS
} Call;

static const char *const call_names[] = {
    "openat",  "close",    "fstat",    "fstatat", "read",    "pread",
    "pwrite",  "lseek",    "getdents", "flock",   "fsync",   "fchmod",
    "mkdirat", "renameat", "exchange", "linkat",  "unlinkat"
};

/* SHORT: half of what was asked for; ENDED: the file ends here. 0 ends a row. */
static const int plausible[CALLS][8] = {
    [OPENAT] = { EINTR, EACCES, EMFILE, EIO, ENOSPC },
    [CLOSE] = { EIO, EINTR, ENOSPC },
    [FSTAT] = { EIO },
    [FSTATAT] = { EIO, EACCES },
    [READ] = { EINTR, EIO, SHORT },
    [PREAD] = { EINTR, EIO, SHORT, ENDED },
    [PWRITE] = { EINTR, EIO, ENOSPC, EDQUOT, EFBIG, SHORT },
    [LSEEK] = { EINVAL },
    [GETDENTS] = { EIO, EINTR },
    [FLOCK] = { ENOLCK, EWOULDBLOCK, EINTR },
    [FSYNC] = { EIO, ENOSPC, EINVAL, EINTR },
    [FCHMOD] = { EPERM },
    [MKDIRAT] = { EACCES, ENOSPC, EEXIST, EROFS },
    [RENAMEAT] = { EIO, EACCES, EXDEV, ENOTEMPTY },
    [EXCHANGE] = { EINVAL, ENOSYS, EIO, EBUSY },
    [LINKAT] = { EMLINK, EPERM, ENOSPC },
    [UNLINKAT] = { EIO, EACCES },
};

typedef enum How { COUNT, ERRORS, KILL_BEFORE, KILL_AFTER, SIGNAL } How;

/* What the child does at call number `at`; shared, so that the parent sees the calls. */
typedef struct Plan {
    How how;
    int at, error;
    bool on; /* all later calls of that kind as well */
    int calls;
    Call kind; /* of call `at` */
    unsigned char kinds[MOST_CALLS];
} Plan;

static Plan *plan;

/* ---- the calls ---- */

/* 0, or what is to happen to this call. */
static int meet(Call c)
{
    const int now = plan->calls++;
    if (now < MOST_CALLS && plan->how == COUNT)
        plan->kinds[now] = (unsigned char)c;
    if (now == plan->at && (plan->how == KILL_BEFORE || plan->how == SIGNAL))
        raise(plan->how == SIGNAL ? SIGTERM : SIGKILL);
    const bool hit =
        now == plan->at || (plan->on && now > plan->at && c == plan->kind);
    return plan->how == ERRORS && hit ? plan->error : 0;
}

static void leave(void)
{
    if (plan->how == KILL_AFTER && plan->calls - 1 == plan->at)
        raise(SIGKILL);
}

static bool refused(Call c)
{
    const int error = meet(c);
    if (error > 0)
        errno = error;
    return error > 0;
}

#define GUARDED(type, name, call, parameters, arguments) \
    static type fault_##name parameters \
    { \
        if (refused(call)) \
            return -1; \
        const type r = io_system.name arguments; \
        const int error = errno; \
        leave(); \
        errno = error; \
        return r; \
    }

GUARDED(int, openat, OPENAT, (int in, const char *p, int flags, mode_t m),
        (in, p, flags, m))
GUARDED(int, fstat, FSTAT, (int fd, struct stat *to), (fd, to))
GUARDED(int, fstatat, FSTATAT, (int in, const char *p, struct stat *to, int f),
        (in, p, to, f))
GUARDED(off_t, lseek, LSEEK, (int fd, off_t at, int from), (fd, at, from))
GUARDED(ssize_t, getdents, GETDENTS, (int fd, void *to, size_t n), (fd, to, n))
GUARDED(int, flock, FLOCK, (int fd, int how), (fd, how))
GUARDED(int, fsync, FSYNC, (int fd), (fd))
GUARDED(int, fchmod, FCHMOD, (int fd, mode_t m), (fd, m))
GUARDED(int, mkdirat, MKDIRAT, (int in, const char *p, mode_t m), (in, p, m))
GUARDED(int, renameat, RENAMEAT, (int a, const char *p, int b, const char *q),
        (a, p, b, q))
GUARDED(int, exchange, EXCHANGE, (int in, const char *p, const char *q),
        (in, p, q))
GUARDED(int, linkat, LINKAT,
        (int a, const char *p, int b, const char *q, int f), (a, p, b, q, f))
GUARDED(int, unlinkat, UNLINKAT, (int in, const char *p, int flags),
        (in, p, flags))

/* The descriptor is closed whatever close() says. */
static int fault_close(int fd)
{
    const int error = meet(CLOSE), r = io_system.close(fd);
    leave();
    if (error > 0)
        errno = error;
    return error > 0 ? -1 : r;
}

static size_t less(int fault, size_t n)
{
    return fault == SHORT && n > 1 ? n / 2 : n;
}

#define MOVING(name, call, parameters, n, arguments) \
    static ssize_t fault_##name parameters \
    { \
        const int fault = meet(call); \
        if (fault > 0) \
            errno = fault; \
        if (fault > 0) \
            return -1; \
        if (fault == ENDED) \
            return 0; \
        n = less(fault, n); \
        const ssize_t r = io_system.name arguments; \
        leave(); \
        return r; \
    }

MOVING(read, READ, (int fd, void *to, size_t n), n, (fd, to, n))
MOVING(pread, PREAD, (int fd, void *to, size_t n, off_t at), n, (fd, to, n, at))
MOVING(pwrite, PWRITE, (int fd, const void *from, size_t n, off_t at), n,
       (fd, from, n, at))

static const IoCalls faulty = { .openat = fault_openat,
                                .close = fault_close,
                                .fstat = fault_fstat,
                                .fstatat = fault_fstatat,
                                .read = fault_read,
                                .pread = fault_pread,
                                .pwrite = fault_pwrite,
                                .lseek = fault_lseek,
                                .getdents = fault_getdents,
                                .flock = fault_flock,
                                .fsync = fault_fsync,
                                .fchmod = fault_fchmod,
                                .mkdirat = fault_mkdirat,
                                .renameat = fault_renameat,
                                .exchange = fault_exchange,
                                .linkat = fault_linkat,
                                .unlinkat = fault_unlinkat };

/* ---- folders as text ---- */

typedef struct Tree {
    char text[1 << 16];
    size_t n;
} Tree;

static unsigned long long hash_file(const char *path)
{
    unsigned long long h = 14695981039346656037u;
    FILE *f = fopen(path, "rb");
    for (int c; f && (c = getc(f)) != EOF;)
        h = (h ^ (unsigned)c) * 1099511628211u;
    if (f)
        fclose(f);
    return h;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void list(Tree *t, const char *folder, int depth)
{
    struct dirent **entry;
    const int n = scandir(folder, &entry, NULL, by_name);
    for (int i = 0; i < n; i++) {
        char path[4096];
        struct stat st;
        const char *name = entry[i]->d_name;
        snprintf(path, sizeof path, "%s/%s", folder, name);
        const bool is_folder = !lstat(path, &st) && S_ISDIR(st.st_mode);
        if (strcmp(name, ".") && strcmp(name, "..") &&
            t->n < sizeof t->text - 300) {
            t->n += (size_t)snprintf(t->text + t->n, 300, "%d %s %llx\n", depth,
                                     name, is_folder ? 0 : hash_file(path));
            if (is_folder && depth < 3)
                list(t, path, depth + 1);
        }
        free(entry[i]);
    }
    if (n >= 0)
        free(entry);
}

static void read_tree(Tree *t, const char *folder)
{
    t->n = 0;
    t->text[0] = 0;
    list(t, folder, 0);
}

static int visit_hidden(const struct dirent *d)
{
    return !strncmp(d->d_name, ".inlay-", 7);
}

static int hidden_in(const char *folder)
{
    struct dirent **entry;
    const int n = scandir(folder, &entry, visit_hidden, by_name);
    for (int i = 0; i < n; i++)
        free(entry[i]);
    if (n >= 0)
        free(entry);
    return n > 0 ? n : 0;
}

/* ---- runs ---- */

static int spawn(const char *const *arguments)
{
    int status = 0;
    const pid_t child = fork();
    if (!child) {
        execvp(arguments[0], (char *const *)(size_t)arguments);
        _exit(127);
    }
    waitpid(child, &status, 0);
    return status;
}

static void prepare(void)
{
    const char *const wipe[] = { "rm", "-rf", "work", NULL };
    const char *const copy[] = { "cp", "-a", "start", "work", NULL };
    if (spawn(wipe) || spawn(copy))
        exit(99);
}

static _Noreturn void child_runs(int argc, char *const *argv, bool whole)
{
    const struct rlimit no_core = { 0, 0 };
    setrlimit(RLIMIT_CORE, &no_core);
    FILE *messages = fopen("messages", "w");
    const int in = open("start/stdin", O_RDONLY);
    if (!messages || !freopen("/dev/null", "w", stdout) || chdir("work"))
        _exit(98);
    if (in >= 0)
        dup2(in, 0);
    alarm(SECONDS);
    if (whole)
        io_calls_test = &faulty;
    signals_install();
    const Status s = command_line(argc, argv, messages);
    fclose(messages);
    _exit((int)s);
}

/* What waitpid() says of the command in `work`. */
static int run(int argc, char *const *argv, bool whole)
{
    int status = 0;
    plan->calls = 0;
    fflush(stdout);
    const pid_t child = fork();
    if (!child)
        child_runs(argc, argv, whole);
    waitpid(child, &status, 0);
    return status;
}

typedef struct Job {
    const char *folder; /* that the command writes; NULL: none */
    int argc;
    char *const *argv;
    Tree old, complete, now;
    bool mixed;
    int runs, bad;
} Job;

static void complain(Job *j, const char *what, int status)
{
    static const char *const how[] = { "", "fails", "killed before",
                                       "killed after", "signal at" };
    j->bad++;
    printf("%s %s, call %d (%s), errno %d%s, status %x: %s\n", j->argv[1],
           how[plan->how], plan->at, call_names[plan->kind], plan->error,
           plan->on ? " from then on" : "", (unsigned)status, what);
}

static bool documented(int s)
{
    static const int all[] = { 0, 1, 64, 65, 66, 69, 71, 73, 74, 78 };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] == s)
            return true;
    return false;
}

static void judge_status(Job *j, int status)
{
    const int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    const bool fatal = plan->how == KILL_BEFORE || plan->how == KILL_AFTER ||
                       plan->how == SIGNAL;
    const int meant = plan->how == SIGNAL ? SIGTERM : SIGKILL;
    if (number && (!fatal || number != meant))
        complain(j, number == SIGALRM ? "it does not end" : "a signal", status);
    if (!number && !documented(WEXITSTATUS(status)))
        complain(j, "no documented status", status);
    struct stat st;
    if (!number && WEXITSTATUS(status) && !stat("messages", &st) && !st.st_size)
        complain(j, "no message", status);
}

static void judge_folder(Job *j, int status)
{
    char path[4096];
    snprintf(path, sizeof path, "work/%s", j->folder);
    read_tree(&j->now, path);
    const bool old = !strcmp(j->now.text, j->old.text),
               new = !strcmp(j->now.text, j->complete.text);
    if (!old && !new && !j->mixed)
        complain(j, "the folder is neither as it was nor complete", status);
    if (!WIFSIGNALED(status) && WEXITSTATUS(status) && !old)
        complain(j, "an error, and the folder is not as it was", status);
    if (!status && !new)
        complain(j, "status 0, and the folder is not complete", status);
    if (plan->how == SIGNAL && hidden_in("work"))
        complain(j, "a hidden folder is left by a signal", status);
}

/* A compile of something else beside it removes what is left. */
static void judge_rest(Job *j, int status)
{
    char *argv[] = { "inlay", "compile", "sine.onnx", "-o", "beside", NULL };
    char path[4096];
    if (!j->folder || !(hidden_in("work") || j->mixed))
        return;
    if (run(5, argv, false))
        complain(j, "the next compile fails", status);
    snprintf(path, sizeof path, "work/%s", j->folder);
    if (hidden_in("work") || (!j->mixed && hidden_in(path)))
        complain(j, "a hidden folder is left by the next compile", status);
}

static void test_one(Job *j, How how, int at, int error, bool on)
{
    plan->how = how;
    plan->at = at;
    plan->error = error;
    plan->on = on;
    plan->kind = (Call)plan->kinds[at];
    prepare();
    const int status = run(j->argc, j->argv, true);
    judge_status(j, status);
    if (j->folder)
        judge_folder(j, status);
    judge_rest(j, status);
    j->runs++;
}

static void test_errors(Job *j, int at)
{
    for (const int *e = plausible[plan->kinds[at]]; *e; e++) {
        test_one(j, ERRORS, at, *e, false);
        if (*e > 0 && *e != EINTR)
            test_one(j, ERRORS, at, *e, true);
    }
}

static void test_at(Job *j, const char *how, int at)
{
    if (!strcmp(how, "errors"))
        test_errors(j, at);
    else if (!strcmp(how, "signal"))
        test_one(j, SIGNAL, at, 0, false);
    else {
        test_one(j, KILL_BEFORE, at, 0, false);
        test_one(j, KILL_AFTER, at, 0, false);
    }
}

int main(int argc, char **argv)
{
    static Job j;
    if (argc < 6 || strcmp(argv[4], "--"))
        return 64;
    plan = mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (plan == MAP_FAILED)
        return 71;
    const int stride = atoi(argv[2]);
    j.folder = strcmp(argv[3], "-") ? argv[3] : NULL;
    j.mixed = !strcmp(argv[1], "mixed");
    j.argc = argc - 5;
    j.argv = argv + 5;
    prepare();
    char path[4096];
    snprintf(path, sizeof path, "work/%s", argv[3]);
    read_tree(&j.old, path);
    plan->how = COUNT;
    plan->at = -1;
    const int clean = run(j.argc, j.argv, true), calls = plan->calls;
    read_tree(&j.complete, path);
    if (clean || !calls || calls > MOST_CALLS ||
        (j.folder && !strcmp(j.old.text, j.complete.text)))
        complain(&j, "the command itself", clean);
    for (int at = 0; at < calls && !j.bad; at += stride)
        test_at(&j, argv[1], at);
    printf("%d runs of %d calls, %d bad\n", j.runs, calls, j.bad);
    return j.bad != 0;
}
