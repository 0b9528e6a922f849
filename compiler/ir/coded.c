/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/coded.h"

enum {
    FIXED = 96,     /* bytes of code that a coded constant costs, about */
    LEAST_PART = 32 /* it saves this part of its bytes at least */
};

bool coded_pays(uint64_t plain, uint64_t bytes)
{
    return bytes + FIXED + plain / LEAST_PART <= plain;
}
