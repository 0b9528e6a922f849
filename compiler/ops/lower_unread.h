/* SPDX-License-Identifier: Apache-2.0
 * Takes steps out whose results only nodes read that make nothing. */
#ifndef INLAY_OPS_LOWER_UNREAD_H
#define INLAY_OPS_LOWER_UNREAD_H

#include "ir/program.h"

void lower_unread(Program *program);

#endif
