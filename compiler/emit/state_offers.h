/* SPDX-License-Identifier: Apache-2.0
 * Results that look like inputs of the next run: what --state could keep in the arena. */
#ifndef INLAY_EMIT_STATE_OFFERS_H
#define INLAY_EMIT_STATE_OFFERS_H

#include "base/vec.h"
#include "ir/graph.h"

typedef struct StateOffer {
    const Tensor *out, *in; /* names: text of the model, not escaped */
} StateOffer;

typedef VEC(StateOffer) StateOffers;

/* Pairs of a result and an input of one type and shape whose names say the same but for words like
 * "out", "new" or "prev"; without such, those behind the first input that are the only ones of
 * their shape on both sides. None where no other input would be left, or where some are states
 * already. In the order of the results, at most one for each result and each input; in the graph's
 * arena. */
StateOffers state_offers(const Graph *graph);

#endif
