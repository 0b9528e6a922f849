/* SPDX-License-Identifier: Apache-2.0
 * The rings of a stream in one pool. A ring holds all of its rows only while one of them is made:
 * what it needs the least of the time is free for others. Each row gets a slot of the pool for as
 * long as it is needed, and a table says which. */
#ifndef INLAY_SCHEDULE_DEAL_H
#define INLAY_SCHEDULE_DEAL_H

#include "schedule/stream.h"

/* Sets Ring.slots and the stream's bytes where the pool takes less than the rings, and the stream
 * can then take at most aim->most bytes; or only its least bytes (DEAL_NONE). */
void deal_rows(Arena *arena, const Items *all, Stream *stream,
               const DealAim *aim);

#endif
