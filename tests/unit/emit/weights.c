/* SPDX-License-Identifier: Apache-2.0
 * The blob in each form, read back: offsets, sharing of equal constants, C text, ELF fields, hash.
 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/digest.h"
#include "emit/weights.h"

typedef struct World {
    Arena arena;
    Store store;
    Program program;
    char folder[4096];
} World;

static void begin(World *w)
{
    const char *root = getenv("TMPDIR");
    *w = (World){ .store = { .window = 3 * 4096 } };
    w->store.arena = &w->arena;
    w->program.graph = graph_new(&w->arena, &w->store, "test", NULL);
    snprintf(w->folder, sizeof w->folder, "%s/inlay-weights-XXXXXX",
             root && *root ? root : "/tmp");
    assert_non_null(mkdtemp(w->folder));
}

static void end(World *w)
{
    char command[4200];
    snprintf(command, sizeof command, "rm -rf '%s'", w->folder);
    assert_int_equal(system(command), 0);
    file_close_all(&w->arena);
    arena_free(&w->store.scratch);
    arena_free(&w->arena);
}

static void add(World *w, Recipe *value)
{
    Graph *g = w->program.graph;
    VEC_PUSH(&w->arena, &w->program.weight,
             ((WeightSlot){ .tensor = graph_add_constant(g, NULL, value) }));
}

static Recipe *floats(World *w, int64_t n, float first)
{
    float *v = NEW_ARRAY(&w->arena, float, n);
    for (int64_t i = 0; i < n; i++)
        v[i] = first + (float)i;
    return recipe_memory(&w->store, DT_F32, 1, &n, v);
}

/* The same values as an initializer of a file. */
static Recipe *filed(World *w, File *f, int64_t n, float first)
{
    float *v = NEW_ARRAY(&w->arena, float, n);
    for (int64_t i = 0; i < n; i++)
        v[i] = first + (float)i;
    const Span span = { f->size, (uint64_t)n * 4 };
    file_write(f, span.offset, v, span.length);
    const Source s = {
        .dtype = DT_F32, .count = n, .file = f, .span = &span, .spans = 1
    };
    return recipe_source(&w->store, &s, 1, &n);
}

static uint8_t *slurp(World *w, const char *name, size_t *n)
{
    File *f = file_open(
        &w->arena, arena_printf(&w->arena, "%s/out/src/%s", w->folder, name),
        LOAD_EAGER);
    *n = (size_t)f->size;
    uint8_t *bytes = arena_alloc(&w->arena, *n + 1);
    file_read(f, 0, bytes, *n);
    file_close(f);
    return bytes;
}

static bool exists(World *w, const char *name)
{
    return access(arena_printf(&w->arena, "%s/out/src/%s", w->folder, name),
                  F_OK) == 0;
}

static WeightsForm emit(World *w, WeightsForm form, const char *target,
                        char sha[65])
{
    Output *o =
        output_begin(&w->arena, arena_printf(&w->arena, "%s/out", w->folder));
    w->program.family = family_of_target(target);
    const WeightsForm taken = weights_emit(
        &w->program, o, "net", form, sha != NULL, sha ? sha : (char[65]){ 0 });
    output_commit(o);
    return taken;
}

static void equal_constants_are_stored_once(void **state)
{
    (void)state;
    World w;
    begin(&w);
    File *f = file_temporary(&w.arena);
    Recipe *a = filed(&w, f, 5000, 0), *twin = filed(&w, f, 5000, 0),
           *other = filed(&w, f, 5000, 1);
    float *late = NEW_ARRAY(&w.arena, float, 5000);
    for (int i = 0; i < 5000; i++)
        late[i] = (float)(i == 4999 ? -1 : i);
    Recipe *differs_late =
        recipe_memory(&w.store, DT_F32, 1, (const int64_t[]){ 5000 }, late);
    const int perm[] = { 1, 0 };
    const int64_t dims[] = { 50, 100 };
    add(&w, a);
    add(&w, floats(&w, 3, 7));
    add(&w, twin);
    add(&w, other);
    add(&w, differs_late);
    add(&w,
        recipe_transpose(&w.store, recipe_reshape(&w.store, a, 2, dims), perm));
    add(&w, recipe_transpose(&w.store, recipe_reshape(&w.store, twin, 2, dims),
                             perm));
    add(&w, floats(&w, 3, 7));
    weights_layout(&w.program, UINT64_MAX);
    const WeightSlot *s = w.program.weight.at;
    assert_int_equal(s[0].offset, 0);
    assert_int_equal(s[2].offset, s[0].offset);
    assert_int_equal(s[6].offset, s[5].offset);
    assert_int_equal(s[7].offset, s[1].offset);
    assert_int_equal(s[1].offset, 20000);
    assert_int_equal(s[3].offset, 20032); /* 64 for large ones */
    assert_true(s[4].offset > s[3].offset && s[5].offset > s[4].offset);
    assert_int_equal(s[5].tensor->offset, s[5].offset);
    assert_int_equal(w.program.weight_bytes % 16, 0);
    end(&w);
}

/* n floats, all zero but the last. */
static Recipe *zeros_but(World *w, File *f, int64_t n, float last)
{
    const Span span = { f->size, (uint64_t)n * 4 };
    file_write(f, span.offset + span.length - 4, &last, 4);
    const Source s = {
        .dtype = DT_F32, .count = n, .file = f, .span = &span, .spans = 1
    };
    return recipe_source(&w->store, &s, 1, &n);
}

/* What is made of the same bytes is equal without a look at them; what looks alike is read only as
 * far as it may be, and once. */
static void constants_are_read_only_if_alike(void **state)
{
    (void)state;
    enum { N = 100000 };
    World w;
    begin(&w);
    File *f = file_temporary(&w.arena);
    Recipe *a = zeros_but(&w, f, N, 1), *b = zeros_but(&w, f, N, 2),
           *c = zeros_but(&w, f, N, 1);
    add(&w, a);
    add(&w, recipe_reshape(&w.store, a, 2, (const int64_t[]){ 10, N / 10 }));
    add(&w, filed(&w, f, N, 5));
    weights_layout(&w.program, UINT64_MAX);
    assert_int_equal(w.program.weight.at[1].offset, 0);
    assert_true(w.store.bytes_read <= 2 * 512);
    add(&w, b);
    add(&w, c);
    w.store.bytes_read = 0;
    weights_layout(&w.program, WEIGHTS_LITTLE);
    assert_true(w.program.weights_alike);
    assert_true(w.store.bytes_read <= 4 * WEIGHTS_LITTLE);
    assert_int_equal(w.program.weight_bytes, 4 * N * 4 + 32);
    w.store.bytes_read = 0;
    weights_layout(&w.program, UINT64_MAX);
    assert_false(w.program.weights_alike);
    assert_true(w.store.bytes_read <= 3 * N * 4 + 512);
    assert_int_equal(w.program.weight.at[4].offset, 0);
    assert_true(w.program.weight.at[3].offset > 0);
    end(&w);
}

/* Every constant lies at its offset, whatever the form; the hash is that of the blob. */
static void check_blob(World *w, const uint8_t *blob, const char *sha)
{
    for (size_t i = 0; i < w->program.weight.n; i++) {
        const WeightSlot *s = w->program.weight.at + i;
        const void *want =
            recipe_values(&w->store, &w->arena, s->tensor->value);
        assert_memory_equal(blob + s->offset, want, s->bytes);
    }
    char hex[65];
    Sha256 h;
    sha256_begin(&h);
    sha256_add(&h, blob, w->program.weight_bytes);
    sha256_end(&h, hex);
    assert_string_equal(hex, sha);
}

static void fill(World *w)
{
    add(w, floats(w, 5, 1));
    add(w, recipe_transpose(&w->store,
                            recipe_reshape(&w->store, floats(w, 9000, -3), 2,
                                           (const int64_t[]){ 90, 100 }),
                            (const int[]){ 1, 0 }));
    add(w, recipe_memory(&w->store, DT_I8, 1, (const int64_t[]){ 3 },
                         "\x81\x02\xff"));
    weights_layout(&w->program, UINT64_MAX);
}

static void binary_forms_hold_the_blob(void **state)
{
    (void)state;
    World w;
    begin(&w);
    fill(&w);
    char sha[65];
    size_t n;
    assert_int_equal(emit(&w, WEIGHTS_BIN, NULL, sha), WEIGHTS_BIN);
    uint8_t *bytes = slurp(&w, "net_weights.bin", &n);
    assert_int_equal(n, w.program.weight_bytes);
    check_blob(&w, bytes, sha);
    assert_false(exists(&w, "net_weights.c"));
    assert_int_equal(emit(&w, WEIGHTS_INCBIN, NULL, sha), WEIGHTS_INCBIN);
    check_blob(&w, slurp(&w, "net_weights.bin", &n), sha);
    const char *text = (const char *)slurp(&w, "net_weights.c", &n);
    assert_non_null(strstr(text, ".incbin"));
    assert_non_null(strstr(text, "NET_WEIGHTS_BIN"));
    assert_null(strstr(text, "model_"));
    end(&w);
}

/* A word as it is, or in a macro that says how wide its elements are: W4(...). */
static uint64_t read_word(char **at)
{
    const bool wrapped = **at == 'W';
    if (wrapped)
        *at += 3;
    const uint64_t word = strtoull(*at, at, 16);
    assert_true(!wrapped || **at == ')');
    *at += wrapped;
    return word;
}

/* The text without what is for machines of the other byte order. */
static char *little_endian(char *text)
{
    char *other = strstr(text, "#ifdef BIG_ENDIAN_WORDS\n");
    char *ours = strstr(text, "#else\n");
    char *end = strstr(text, "#endif\n");
    assert_true(other && other < ours && ours < end);
    ours += strlen("#else\n");
    memmove(other, ours, (size_t)(end - ours));
    other += end - ours;
    memmove(other, end + 7, strlen(end + 7) + 1);
    return text;
}

static void text_reads_back(void **state)
{
    (void)state;
    World w;
    begin(&w);
    fill(&w);
    char sha[65];
    size_t n;
    assert_int_equal(emit(&w, WEIGHTS_AUTO, NULL, sha), WEIGHTS_C);
    char *at = strstr((char *)slurp(&w, "net_weights.c", &n), "= {\n");
    assert_non_null(at);
    uint8_t *blob = arena_alloc(&w.arena, w.program.weight_bytes);
    uint64_t words = 0;
    at = little_endian(at);
    for (at += 4; *at == '0' || *at == 'W'; words++) {
        const uint64_t v = read_word(&at);
        assert_true(words < w.program.weight_bytes / 8 && *at == ',');
        memcpy(blob + 8 * words, &v, 8);
        at += 1 + (at[1] == '\n');
    }
    assert_string_equal(at, "};\n");
    assert_int_equal(words * 8, w.program.weight_bytes);
    check_blob(&w, blob, sha);
    end(&w);
}

static void auto_takes_the_form_that_links(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        WeightsForm form;
    } cases[] = {
        { 0, WEIGHTS_C },
        { 256 * 1024, WEIGHTS_C },
        { 256 * 1024 + 16, WEIGHTS_INCBIN },
        { UINT64_C(0x7fff0000) - 16, WEIGHTS_INCBIN },
        { UINT64_C(0x7fff0000), WEIGHTS_BIN },
        { UINT64_C(1) << 33, WEIGHTS_BIN },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Program p = { .weight_bytes = cases[i].bytes };
        assert_int_equal(weights_form_taken(&p, WEIGHTS_AUTO), cases[i].form);
        assert_int_equal(weights_form_taken(&p, WEIGHTS_C), WEIGHTS_C);
        assert_int_equal(weights_linkable(&p), cases[i].form != WEIGHTS_BIN);
    }
}

static void no_constants_are_no_error(void **state)
{
    (void)state;
    World w;
    begin(&w);
    weights_layout(&w.program, UINT64_MAX);
    assert_int_equal(w.program.weight_bytes, 0);
    char sha[65] = "x";
    size_t n;
    for (WeightsForm f = WEIGHTS_AUTO; f <= WEIGHTS_OBJ; f++) {
        (void)emit(&w, f, NULL, f == WEIGHTS_BIN ? sha : NULL);
        if (f == WEIGHTS_AUTO || f == WEIGHTS_C)
            assert_null(strstr((char *)slurp(&w, "net_weights.c", &n), "{"));
    }
    assert_string_equal(
        sha,
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    end(&w);
}

static void sixty_four_bit_object(void **state)
{
    (void)state;
    World w;
    begin(&w);
    fill(&w);
    char sha[65];
    size_t n;
    (void)emit(&w, WEIGHTS_OBJ, "aarch64", sha);
    const uint8_t *o = slurp(&w, "net_weights.o", &n);
    Elf64_Ehdr h;
    memcpy(&h, o, sizeof h);
    assert_int_equal(h.e_machine, EM_AARCH64);
    assert_int_equal(h.e_type, ET_REL);
    Elf64_Shdr *s = arena_copy(&w.arena, o + h.e_shoff, h.e_shnum * sizeof *s);
    const char *names = (const char *)o + s[h.e_shstrndx].sh_offset;
    int seen = 0;
    for (int i = 1; i < h.e_shnum; i++) {
        const char *name = names + s[i].sh_name;
        assert_true(s[i].sh_offset + s[i].sh_size <= n);
        if (!strcmp(name, ".rodata")) {
            seen |= 1;
            assert_int_equal(s[i].sh_flags, SHF_ALLOC);
            assert_int_equal(s[i].sh_addralign, 64);
            assert_int_equal(s[i].sh_size, w.program.weight_bytes);
            check_blob(&w, o + s[i].sh_offset, sha);
        }
        if (!strcmp(name, ".note.gnu.property"))
            seen |= 2;
        if (!strcmp(name, ".note.GNU-stack"))
            seen |= s[i].sh_flags ? 0 : 4;
        if (s[i].sh_type == SHT_SYMTAB) {
            Elf64_Sym y;
            memcpy(&y, o + s[i].sh_offset + sizeof y, sizeof y);
            seen |= 8;
            assert_int_equal(y.st_size, w.program.weight_bytes);
            assert_string_equal((const char *)o + s[s[i].sh_link].sh_offset +
                                    y.st_name,
                                "net_weights_data");
        }
    }
    assert_int_equal(seen, 15);
    end(&w);
}

static void thirty_two_bit_objects(void **state)
{
    (void)state;
    static const struct {
        const char *target;
        int machine;
        uint32_t flags;
    } row[] = {
        { "cortex-m4", EM_ARM, 0x05000000 },
        { "riscv32", EM_RISCV, 0 },
    };
    for (int k = 0; k < 2; k++) {
        World w;
        begin(&w);
        fill(&w);
        char sha[65];
        size_t n;
        (void)emit(&w, WEIGHTS_OBJ, row[k].target, sha);
        const uint8_t *o = slurp(&w, "net_weights.o", &n);
        Elf32_Ehdr h;
        memcpy(&h, o, sizeof h);
        assert_int_equal(h.e_machine, row[k].machine);
        assert_int_equal(h.e_flags, row[k].flags);
        assert_int_equal(h.e_ident[EI_CLASS], ELFCLASS32);
        assert_int_equal(h.e_shoff + h.e_shnum * sizeof(Elf32_Shdr), n);
        Elf32_Shdr s;
        memcpy(&s, o + h.e_shoff + sizeof s, sizeof s);
        check_blob(&w, o + s.sh_offset, sha);
        end(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_constants_are_stored_once),
        cmocka_unit_test(constants_are_read_only_if_alike),
        cmocka_unit_test(binary_forms_hold_the_blob),
        cmocka_unit_test(text_reads_back),
        cmocka_unit_test(auto_takes_the_form_that_links),
        cmocka_unit_test(no_constants_are_no_error),
        cmocka_unit_test(sixty_four_bit_object),
        cmocka_unit_test(thirty_two_bit_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
