/* SPDX-License-Identifier: Apache-2.0
 * Which results are offered as states: by names that say the same, else by shapes that nothing
 * else has and not to the first input; never all inputs, never where states are given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "emit/state_offers.h"

enum { MOST = 4 };

/* Names, each with the length of its second dimension; NULL: no more. */
typedef struct Value {
    const char *name;
    int64_t size;
} Value;

typedef struct Known {
    Value in[MOST], out[MOST];
    const char *offers; /* "out=in " of each */
} Known;

static Tensor *add_value(Graph *graph, const Value *value)
{
    const int64_t dims[] = { 1, value->size };
    return graph_add_tensor(graph, value->name, DT_F32, shape_of(2, dims));
}

static void compare(const Known *known, bool has_state)
{
    Arena arena = { 0 };
    Store store = { .arena = &arena, .window = 4096 };
    Graph *graph = graph_new(&arena, &store, "test", NULL);
    char text[256] = "";
    for (int i = 0; i < MOST && known->in[i].name; i++)
        VEC_PUSH(&arena, &graph->input, add_value(graph, known->in + i));
    for (int i = 0; i < MOST && known->out[i].name; i++)
        VEC_PUSH(&arena, &graph->output, add_value(graph, known->out + i));
    if (has_state)
        VEC_PUSH(&arena, &graph->state, ((State){ .in = 0 }));
    const StateOffers offers = state_offers(graph);
    for (size_t i = 0; i < offers.n; i++) {
        strcat(text, offers.at[i].out->name);
        strcat(text, "=");
        strcat(text, offers.at[i].in->name);
        strcat(text, " ");
    }
    assert_string_equal(text, has_state ? "" : known->offers);
    arena_free(&store.scratch);
    arena_free(&arena);
}

static const Known known[] = {
    /* a network that keeps nothing */
    { { { "x", 4 } }, { { "y", 4 } }, "" },
    { { { "input_1", 4 } }, { { "output_1", 4 } }, "" },
    /* by name */
    { { { "frame", 9 }, { "state", 4 } },
      { { "gain", 9 }, { "stateN", 4 } },
      "stateN=state " },
    { { { "x", 9 }, { "h0", 4 }, { "c0", 4 } },
      { { "new_c0", 4 }, { "y", 9 }, { "H0.out", 4 } },
      "new_c0=c0 H0.out=h0 " },
    { { { "x", 9 }, { "past.key", 4 } },
      { { "y", 9 }, { "present.key", 5 } },
      "" },
    /* by shape */
    { { { "frame", 9 }, { "a", 4 } }, { { "gain", 7 }, { "b", 4 } }, "b=a " },
    { { { "frame", 9 }, { "a", 4 }, { "b", 4 } },
      { { "gain", 7 }, { "c", 4 } },
      "" },
    { { { "frame", 9 }, { "a", 4 } }, { { "b", 4 } }, "" },
    { { { "a", 9 }, { "b", 4 } }, { { "c", 9 }, { "d", 4 } }, "d=b " },
    /* something is left to give */
    { { { "a", 9 }, { "b", 4 } },
      { { "a_out", 9 }, { "b_out", 4 } },
      "b_out=b " },
    { { { "a", 9 }, { "b", 9 } }, { { "a_out", 9 }, { "b_out", 9 } }, "" },
};

static void known_models(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        compare(known + i, false);
        compare(known + i, true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(known_models) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
