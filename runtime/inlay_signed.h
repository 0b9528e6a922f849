/* SPDX-License-Identifier: 0BSD
 * Inlay runtime: slots that take only blobs with a signature (`inlay weights sign-request` and
 * `attach-signature`). The signature's algorithm is the caller's; the SHA-256 is here. */
#ifndef INLAY_SIGNED_H
#define INLAY_SIGNED_H

#include "inlay_slots.h"

#ifdef __cplusplus
extern "C" {
#endif

#define INLAY_SIGNED_MOST 128u /* bytes of a signature, at most */

/* 1, and no other number: these n bytes are the signature of the message by the key of that number.
 * The message is an inlay_sign_message. */
typedef int inlay_signed_verify(void *context, uint32_t key,
                                const void *message, uint32_t length,
                                const void *signature, uint32_t n);

/* The context of inlay_slots. */
typedef struct inlay_signed {
    inlay_signed_verify *verify;
    void *context;
} inlay_signed;

/* The check of inlay_slots. */
inlay_slots_check inlay_signed_check;

#ifdef __cplusplus
}
#endif
#endif
