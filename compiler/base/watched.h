/* SPDX-License-Identifier: Apache-2.0
 * Where AddressSanitizer watches, the arena says what of its blocks belongs to somebody: what
 * touches the rest ends the program. */
#ifndef INLAY_BASE_WATCHED_H
#define INLAY_BASE_WATCHED_H

#include <stddef.h>

#if defined __SANITIZE_ADDRESS__
#define INLAY_WATCHED 1
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define INLAY_WATCHED 1
#endif
#endif

#ifdef INLAY_WATCHED
#include <sanitizer/asan_interface.h>

enum { RED_ZONE = 16 }; /* bytes behind each piece */

static inline void hide(const void *p, size_t bytes)
{
    __asan_poison_memory_region(p, bytes);
}

static inline void show(const void *p, size_t bytes)
{
    __asan_unpoison_memory_region(p, bytes);
}
#else
enum { RED_ZONE = 0 };

static inline void hide(const void *p, size_t bytes)
{
    (void)p;
    (void)bytes;
}

static inline void show(const void *p, size_t bytes)
{
    (void)p;
    (void)bytes;
}
#endif

#endif
