/* SPDX-License-Identifier: Apache-2.0
 * Blobs as the compiler makes them, opened by the check of the device: each is taken, and none that
 * is cut off, changed, or whose sums are right but whose words are another's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/crc32.h"
#include "emit/blob.h"
#include "emit/seal.h"
#include "emit/weights.h"

typedef struct World {
    Arena arena;
    Store store;
    Program program;
    uint64_t seal[3];
    size_t begin, size;
    uint8_t *own; /* a whole blob, and the one that is opened */
    uint8_t *blob;
} World;

/* A blob of n floats. */
static void begin(World *w, int64_t n)
{
    char sha256[65];
    *w = (World){ .store = { .window = 3 * 4096 } };
    w->store.arena = &w->arena;
    w->program.graph = graph_new(&w->arena, &w->store, "test", NULL);
    w->program.family = family_of_target("cortex-m4");
    float *values = NEW_ARRAY(&w->arena, float, n);
    for (int64_t i = 0; i < n; i++)
        values[i] = (float)i;
    Recipe *recipe = recipe_memory(&w->store, DT_F32, 1, &n, values);
    Tensor *tensor = graph_add_constant(w->program.graph, NULL, recipe);
    VEC_PUSH(&w->arena, &w->program.weight, ((WeightSlot){ .tensor = tensor }));
    weights_layout_blob(&w->program);
    File *file = file_temporary(&w->arena);
    weights_write_blob(&w->program, file, true, sha256);
    seal_words(&w->program, w->seal);
    w->begin = (size_t)blob_begin(w->program.weight_bytes);
    w->size = (size_t)blob_size(&w->program);
    assert_int_equal(file->size, w->size);
    w->own = arena_alloc(&w->arena, w->size);
    w->blob = arena_alloc(&w->arena, w->size);
    file_read(file, 0, w->own, w->size);
    memcpy(w->blob, w->own, w->size);
}

static void end(World *w)
{
    file_close_all(&w->arena);
    arena_free(&w->store.scratch);
    arena_free(&w->arena);
}

static bool opens(const World *w, size_t length)
{
    const void *weights = inlay_blob_open(w->blob, length, w->begin, w->seal);
    assert_true(!weights || weights == w->blob + w->begin);
    return weights != NULL;
}

static void each_size_is_taken(void **state)
{
    (void)state;
    static const int64_t floats[] = { 1,    4,    1000, 1016, 1017,
                                      1024, 2040, 2041, 70000 };
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
        World w;
        begin(&w, floats[i]);
        assert_true(w.begin % INLAY_BLOB_ALIGN == 0);
        assert_true(opens(&w, w.size));
        assert_true(opens(&w, SIZE_MAX));
        assert_false(opens(&w, w.size - 1));
        assert_false(opens(&w, 0));
        end(&w);
    }
}

static void each_bit_counts(void **state)
{
    (void)state;
    World w;
    begin(&w, 1500);
    for (size_t bit = 0; bit < 8 * w.size; bit++) {
        w.blob[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(opens(&w, w.size));
        w.blob[bit / 8] = w.own[bit / 8];
    }
    assert_true(opens(&w, w.size));
    end(&w);
}

static void each_length_but_its_own_is_cut_off(void **state)
{
    (void)state;
    World w;
    begin(&w, 600);
    for (size_t length = 0; length < w.size; length++)
        assert_false(opens(&w, length));
    end(&w);
}

/* Sums that are right do not make it this code's. */
static void words_of_another_are_refused(void **state)
{
    (void)state;
    World w;
    begin(&w, 600);
    for (size_t i = 0; i < INLAY_BLOB_WORDS * sizeof(uint64_t); i++) {
        Crc32 sum;
        crc32_begin(&sum);
        w.blob[i] ^= 1;
        crc32_add(&sum, w.blob, w.begin - INLAY_BLOB_CRC_SIZE);
        memcpy(w.blob + w.begin - INLAY_BLOB_CRC_SIZE, &sum.value,
               INLAY_BLOB_CRC_SIZE);
        assert_false(opens(&w, w.size));
        memcpy(w.blob, w.own, w.size);
    }
    w.seal[1]++;
    assert_false(opens(&w, w.size));
    end(&w);
}

/* What the code takes for granted beside the constants is part of the layout. */
static void layouts_differ_by_target_and_code(void **state)
{
    (void)state;
    World w;
    begin(&w, 8);
    const uint64_t layout = w.seal[1];
    w.program.family = family_of_target("cortex-m55");
    assert_true(seal_layout(&w.program) != layout);
    w.program.family = family_of_target("cortex-m4");
    assert_true(seal_layout(&w.program) == layout);
    w.program.code_sha256[0] ^= 1;
    assert_true(seal_layout(&w.program) != layout);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_size_is_taken),
        cmocka_unit_test(each_bit_counts),
        cmocka_unit_test(each_length_but_its_own_is_cut_off),
        cmocka_unit_test(words_of_another_are_refused),
        cmocka_unit_test(layouts_differ_by_target_and_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
