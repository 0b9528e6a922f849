/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Headers of C, POSIX, and of the compilers and libraries in use; without those that end in
 * "intrin". NAME.h would be found in their place, by the system's own headers too. */
static const char *const headers[] = {
    "aio",        "aliases",      "alloca",    "altivec",      "ar",
    "argp",       "argz",         "arm_acle",  "arm_bf16",     "arm_cde",
    "arm_cmse",   "arm_fp16",     "arm_mve",   "arm_neon",     "arm_sve",
    "assert",     "byteswap",     "complex",   "conio",        "cpio",
    "cpuid",      "crt",          "crypt",     "ctype",        "curses",
    "dbm",        "devctl",       "direct",    "dirent",       "dlfcn",
    "dos",        "elf",          "endian",    "envlock",      "envz",
    "err",        "errno",        "error",     "execinfo",     "fastmath",
    "fcntl",      "features",     "fenv",      "float",        "fmtmsg",
    "fnmatch",    "fpu_control",  "fstab",     "fts",          "ftw",
    "gconv",      "getopt",       "glob",      "grp",          "gshadow",
    "iconv",      "ieee754",      "ieeefp",    "ifaddrs",      "intrin",
    "intrinsics", "inttypes",     "io",        "iso646",       "langinfo",
    "lastlog",    "libgen",       "libintl",   "limits",       "link",
    "locale",     "malloc",       "math",      "mcheck",       "memory",
    "mm_malloc",  "mntent",       "monetary",  "mqueue",       "msa",
    "ndbm",       "netdb",        "newlib",    "nl_types",     "nss",
    "obstack",    "omp",          "openacc",   "paths",        "poll",
    "printf",     "proc_service", "process",   "pthread",      "pty",
    "pwd",        "quadmath",     "re_comp",   "reent",        "regdef",
    "regex",      "regexp",       "resolv",    "riscv_vector", "sched",
    "search",     "semaphore",    "setjmp",    "sgtty",        "shadow",
    "share",      "signal",       "spawn",     "stab",         "stdalign",
    "stdarg",     "stdatomic",    "stdbit",    "stdbool",      "stdckdint",
    "stddef",     "stdfix",       "stdint",    "stdio",        "stdio_ext",
    "stdlib",     "stdnoreturn",  "string",    "strings",      "stropts",
    "syscall",    "sysexits",     "syslimits", "syslog",       "tar",
    "term",       "termio",       "termios",   "tgmath",       "thread_db",
    "threads",    "time",         "trace",     "ttyent",       "uchar",
    "ucontext",   "ulimit",       "unctrl",    "unistd",       "unwind",
    "utime",      "utmp",         "utmpx",     "vadefs",       "values",
    "varargs",    "wait",         "wchar",     "wctype",       "windows",
    "winsock",    "winsock2",     "wordexp"
};

/* Their NAME_OK is a macro: access() of POSIX, Windows. */
static const char *const macros[] = { "f", "r", "s", "w", "x" };

static bool among(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(name, list[i]))
            return true;
    return false;
}

static bool ends_with(const char *name, const char *end)
{
    const size_t n = strlen(name);
    const size_t k = strlen(end);
    return n >= k && !strcmp(name + n - k, end);
}

const char *name_fault(const char *name)
{
    if (!strncmp(name, "inlay", 5) && (!name[5] || name[5] == '_'))
        return "belongs to Inlay's own files and identifiers";
    if (ends_with(name, "intrin") ||
        among(name, headers, sizeof headers / sizeof *headers))
        return "is that of a header of the system, which the model's header "
               "would hide";
    if (among(name, macros, sizeof macros / sizeof *macros))
        return "makes an identifier that is a macro of the system";
    if (ends_with(name, "_weights"))
        return "is that of the weights of another model";
    if (ends_with(name, "_golden"))
        return "is that of the test of another model";
    if (!strcmp(name, "library"))
        return "has the manifest library.json, which PlatformIO takes for its "
               "own";
    if (ends_with(name, "_selftest"))
        return "is that of the self-test of another model";
    if (ends_with(name, "_plan_check"))
        return "is that of the checks of another model";
    return NULL;
}
