/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/family.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum {
#define FAMILY(name, ...) FAMILY_##name,
#define TARGET(name, family)
#include "ir/family.def"
#undef FAMILY
#undef TARGET
#if defined __aarch64__
    FAMILY_HOST = FAMILY_arm64,
#elif defined __arm__
    FAMILY_HOST = FAMILY_arm,
#elif defined __riscv
    FAMILY_HOST = sizeof(void *) == 8 ? FAMILY_rv64 : FAMILY_rv32,
#else
    FAMILY_HOST = FAMILY_x86,
#endif
};

static const Family families[] = {
#define FAMILY(title, ...) { .name = #title, __VA_ARGS__ },
#define TARGET(name, family)
#include "ir/family.def"
#undef FAMILY
#undef TARGET
};

const char *const target_names[] = {
#define FAMILY(name, ...)
#define TARGET(name, family) name,
#include "ir/family.def"
#undef FAMILY
#undef TARGET
    NULL,
};

/* Of each of target_names. */
static const int family_of[] = {
#define FAMILY(name, ...)
#define TARGET(name, family) FAMILY_##family,
#include "ir/family.def"
#undef FAMILY
#undef TARGET
};

/* rv32imc is rv32. */
static bool has_extensions(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    return !strncmp(name, "rv", 2) && strlen(name) > 4 &&
           !name[4 + strspn(name + 4, letters)];
}

static bool is_target(const char *name, const char *target)
{
    return !strcmp(name, target) ||
           (has_extensions(name) && !strncmp(name, target, 4) && !target[4]);
}

const Family *family_of_target(const char *target)
{
    const char *name = target ? target : "host";
    for (size_t i = 0; target_names[i]; i++)
        if (is_target(name, target_names[i]))
            return families + family_of[i];
    return NULL;
}

const char *family_target(const Family *family)
{
    size_t i = 0;
    while (families + family_of[i] != family)
        i++;
    return target_names[i];
}

const Family *family_named(const char *name)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (!strcmp(families[i].name, name))
            return families + i;
    return NULL;
}
