/* SPDX-License-Identifier: Apache-2.0
 * The sets of executed steps that a search met, by number. */
#ifndef INLAY_SCHEDULE_ORDER_STATES_H
#define INLAY_SCHEDULE_ORDER_STATES_H

#include "schedule/order_set.h"

/* The least peak by which the set was reached, or INT64_MAX; equal keys count as equal sets. */
int64_t *order_met(Search *search, uint64_t key);

/* The set at hand, and what is safe after it, is where the search begins: an open state, unless its
 * peak is of no use. Then no set is at hand. */
void order_add_root(Search *search);

/* Open states: the next one is that of the least peak, of these with the most steps. */
void order_open(Search *search, int32_t state);
int32_t order_next_open(Search *search);

/* Makes state k the set at hand, and notes its steps; then no set is at hand. */
void order_enter(Search *search, int32_t k);
void order_leave(Search *search);

/* The steps of state k, which was entered, in the order in which they were taken; how many. */
int32_t order_path(const Search *search, int32_t k, int32_t *path);

/* What follows from the set at hand, state k, by one step and what is safe after it, of more than
 * `most` steps by those that need least. Calls found() with each new state. */
void order_expand(Search *search, int32_t k, int32_t most,
                  void (*found)(Search *, int32_t));

#endif
