/* SPDX-License-Identifier: Apache-2.0
 * Results as files: numbers come back as they were, words as their texts. */
#include "build.h"

#include "ir/words.h"
#include "onnx/tensor_file.h"

static void write_tensor(Arena *arena, const char *path, const Tensor *tensor,
                         const void *values)
{
    File *file = file_create(arena, path);
    onnx_write_tensor(arena, file, tensor, values);
    file_close(file);
}

static void numbers_come_back(void **state)
{
    (void)state;
    static const float values[6] = { 1, -2, 3.5f, 0, 5, 6 };
    Read r = { .single = true };
    snprintf(r.path, sizeof r.path, "%s/model.onnx", folder);
    Tensor t = { .name = "t",
                 .dtype = DT_F32,
                 .shape = { .rank = 2, .dim = { 2, 3 } } };
    write_tensor(&r.arena, r.path, &t, values);
    assert_int_equal(read_path(&r), 0);
    assert_int_equal(recipe_dtype(r.tensor), DT_F32);
    assert_int_equal(recipe_count(r.tensor), 6);
    assert_memory_equal(recipe_values(&r.store, &r.arena, r.tensor), values,
                        sizeof values);
    read_free(&r);
}

/* dims 3; data_type 8; string_data "one", "", "three"; name "t" */
static void words_are_texts(void **state)
{
    (void)state;
    static const char want[] = "\x08\x03\x10\x08\x32\x03one\x32\x00"
                               "\x32\x05three\x42\x01t";
    char path[300], got[64];
    Arena arena = { 0 };
    Store store = { .arena = &arena };
    Graph graph = { .store = &store };
    const int64_t codes[] = { words_code(&store, "one"), words_code(&store, ""),
                              words_code(&store, "three") };
    const Tensor t = { .name = "t",
                       .graph = &graph,
                       .dtype = DT_I64,
                       .words = true,
                       .shape = { .rank = 1, .dim = { 3 } } };
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    write_tensor(&arena, path, &t, codes);
    FILE *file = fopen(path, "rb");
    assert_int_equal(fread(got, 1, sizeof got, file), sizeof want - 1);
    fclose(file);
    assert_memory_equal(got, want, sizeof want - 1);
    file_close_all(&arena);
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_come_back),
        cmocka_unit_test(words_are_texts),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
