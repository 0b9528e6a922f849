/* SPDX-License-Identifier: Apache-2.0
 * Attributes: strings of every length, lists that go to the spill file, and what they must
 * not mix. */
#include "build.h"

enum {
    LIST = 16384,
    PART = 4096
}; /* floats in memory; bytes that are looked at in one go */

static Bytes graph_with(Bytes attr)
{
    Bytes g = { 0 };
    put_message(&g, NUMBER(graph_proto, node), node_with("Op x > y", attr));
    put_ends(&g, "x", "y");
    return g;
}

static const Attr *read_attr(Read *r, Bytes attr)
{
    const Node *node = read_good(r, graph_with(attr))->node.at[0];
    assert_int_equal(node->n_attr, 1);
    return node->attr;
}

static char *letters(size_t n)
{
    char *text = malloc(n + 1);
    memset(text, 'q', n);
    text[n] = 0;
    return text;
}

static void strings_of_every_length(void **state)
{
    (void)state;
    static const size_t length[] = { 0, 1, PART - 1, PART, PART + 1, 1 << 20 };
    for (size_t i = 0; i < sizeof length / sizeof *length; i++) {
        char *text = letters(length[i]);
        for (int list = 0; list < 2; list++) {
            Bytes a = attr_head("a", list ? ATTR_STRINGS : ATTR_STRING);
            const int field = list ? NUMBER(attribute_proto, strings)
                                   : NUMBER(attribute_proto, s);
            put_bytes(&a, field, text, length[i]);
            Read r = { 0 };
            const Attr *attr = read_attr(&r, a);
            assert_int_equal(attr->n, list ? 1 : (int64_t)length[i]);
            assert_string_equal(list ? attr->strings[0] : attr->s, text);
            read_free(&r);
        }
        free(text);
    }
}

static void strings_that_are_too_long(void **state)
{
    (void)state;
    char *text = letters((1 << 20) + 1);
    Bytes a = attr_head("a", ATTR_STRING);
    put_text(&a, NUMBER(attribute_proto, s), text);
    expect_graph(graph_with(a), 69,
                 "\"a\": error: an attribute's string has more than 1048576");
    a = attr_head("a", ATTR_STRINGS);
    put_text(&a, NUMBER(attribute_proto, strings), text);
    expect_graph(graph_with(a), 69, "has more than 1048576 bytes");
    free(text);
}

static void strings_with_nul(void **state)
{
    (void)state;
    static const size_t length[] = { 2, PART, PART + 1 };
    for (size_t i = 0; i < 3; i++) {
        char *text = letters(length[i]);
        text[length[i] - 1] = 0;
        Bytes a = attr_head("a", ATTR_STRINGS);
        put_bytes(&a, NUMBER(attribute_proto, strings), text, length[i]);
        expect_graph(graph_with(a), 65, "contains a NUL byte");
        a = attr_head("a", ATTR_STRING);
        put_bytes(&a, NUMBER(attribute_proto, s), text, length[i]);
        Read r = { 0 };
        const Attr *attr = read_attr(&r, a);
        assert_int_equal(attr->n, length[i]);
        assert_memory_equal(attr->s, text, length[i]);
        read_free(&r);
        free(text);
    }
}

/* Packed in one range, one by one, and in two ranges. */
static void put_floats(Bytes *a, int how, int n)
{
    const int field = NUMBER(attribute_proto, floats);
    float *values = malloc((size_t)n * sizeof *values + 4);
    for (int i = 0; i < n; i++)
        values[i] = (float)i;
    const int first = how == 2 ? n / 3 : n;
    if (how == 1)
        for (int i = 0; i < n; i++)
            put_float(a, field, values[i]);
    else
        put_bytes(a, field, values, (size_t)first * 4);
    if (how == 2)
        put_bytes(a, field, values + first, (size_t)(n - first) * 4);
    free(values);
}

static void floats_in_memory_and_spilled(void **state)
{
    (void)state;
    static const int count[] = { 0,    1,        511,      512,         513,
                                 LIST, LIST + 1, 3 * LIST, 3 * LIST + 7 };
    for (size_t i = 0; i < sizeof count / sizeof *count; i++)
        for (int how = 0; how < 3; how++) {
            const int n = count[i];
            Bytes a = attr_head("a", ATTR_FLOATS);
            put_floats(&a, how, n);
            Read r = { 0 };
            const Attr *attr = read_attr(&r, a);
            assert_int_equal(attr->n, n);
            assert_int_equal(attr->list != NULL, n > LIST);
            const float *got =
                attr->list ? recipe_values(&r.store, &r.arena, attr->list)
                           : attr->floats;
            for (int k = 0; k < n; k++)
                assert_true(got[k] == (float)k);
            read_free(&r);
        }
}

static void put_many_ints(Bytes *a, int n)
{
    for (int i = 0; i < n; i++)
        put_int(a, NUMBER(attribute_proto, ints), i - 5);
}

static void ints_in_memory_and_spilled(void **state)
{
    (void)state;
    static const int count[] = { 8191, 8192, 8193, 20000 };
    for (size_t i = 0; i < 4; i++) {
        Bytes a = attr_head("a", ATTR_INTS);
        put_many_ints(&a, count[i]);
        Read r = { 0 };
        const Attr *attr = read_attr(&r, a);
        assert_int_equal(attr->n, count[i]);
        assert_int_equal(attr->list != NULL, count[i] > 8192);
        const int64_t *got = attr->list
                                 ? recipe_values(&r.store, &r.arena, attr->list)
                                 : attr->ints;
        for (int k = 0; k < count[i]; k++)
            assert_int_equal(got[k], k - 5);
        read_free(&r);
    }
}

/* A long list beside another value, before it or behind it. */
static void lists_do_not_mix(void **state)
{
    (void)state;
    static const char words[] = "an attribute with several values";
    Bytes a = attr_head("a", ATTR_FLOATS);
    put_many_ints(&a, 1);
    put_floats(&a, 0, LIST + 1);
    expect_graph(graph_with(a), 65, words);
    a = attr_head("a", ATTR_INTS);
    put_floats(&a, 0, 1);
    put_many_ints(&a, 8193);
    expect_graph(graph_with(a), 65, words);
    a = attr_head("a", ATTR_STRING);
    put_floats(&a, 0, LIST + 1);
    expect_graph(graph_with(a), 65, words);
    /* The list is spilled, then a tensor's elements, then more of the list. */
    Bytes t = tensor_head("t", DT_F32, 1, (const int64_t[]){ 20000 });
    for (int i = 0; i < 20000; i++)
        put_float(&t, NUMBER(tensor_proto, float_data), 1);
    a = attr_head("a", ATTR_FLOATS);
    put_floats(&a, 0, LIST + 1);
    put_message(&a, NUMBER(attribute_proto, t), t);
    put_floats(&a, 0, LIST + 1);
    expect_graph(graph_with(a), 65, words);
}

/* Two lists in the spill file: neither writes over the other, and both are counted. */
static void two_spilled_lists(void **state)
{
    (void)state;
    Bytes n = node("Op x > y");
    for (int i = 0; i < 2; i++) {
        Bytes a = attr_head(i ? "b" : "a", ATTR_FLOATS);
        put_floats(&a, 0, LIST + 1 + i);
        put_message(&n, NUMBER(node_proto, attribute), a);
    }
    Bytes g = { 0 };
    put_message(&g, NUMBER(graph_proto, node), n);
    put_ends(&g, "x", "y");
    Read r = { 0 };
    const Attr *attr = read_good(&r, g)->node.at[0]->attr;
    assert_int_equal(r.store.bytes_spilled, (2 * LIST + 3) * 4);
    assert_int_equal(r.store.spill_size, (2 * LIST + 4) * 4);
    for (int i = 0; i < 2; i++) {
        const float *got = recipe_values(&r.store, &r.arena, attr[i].list);
        assert_int_equal(attr[i].n, LIST + 1 + i);
        for (int k = 0; k < LIST + 1 + i; k++)
            assert_true(got[k] == (float)k);
    }
    read_free(&r);
}

static void most_attributes(void **state)
{
    (void)state;
    for (int n = 1024; n <= 1025; n++) {
        Bytes g = { 0 };
        Bytes many = node("Op x > y");
        for (int i = 0; i < n; i++) {
            char name[16];
            snprintf(name, sizeof name, "a%d", i);
            Bytes a = attr_head(name, ATTR_INT);
            put_int(&a, NUMBER(attribute_proto, i), i);
            put_message(&many, NUMBER(node_proto, attribute), a);
        }
        put_message(&g, NUMBER(graph_proto, node), many);
        put_ends(&g, "x", "y");
        if (n > 1024) {
            expect_graph(g, 65, "the node has too many attributes");
            continue;
        }
        Read r = { 0 };
        const Node *node = read_good(&r, g)->node.at[0];
        assert_int_equal(node->n_attr, 1024);
        assert_int_equal(node->attr[1023].i, 1023);
        read_free(&r);
    }
}

/* What no handler takes is stepped over; the value is as it was. */
static void other_fields(void **state)
{
    (void)state;
    Bytes a = attr_head("a", ATTR_INT);
    put_text(&a, NUMBER(attribute_proto, doc_string), "a\tword");
    put_int(&a, NUMBER(attribute_proto, i), -7);
    Read r = { 0 };
    assert_int_equal(read_attr(&r, a)->i, -7);
    read_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_of_every_length),
        cmocka_unit_test(strings_that_are_too_long),
        cmocka_unit_test(strings_with_nul),
        cmocka_unit_test(floats_in_memory_and_spilled),
        cmocka_unit_test(ints_in_memory_and_spilled),
        cmocka_unit_test(lists_do_not_mix),
        cmocka_unit_test(two_spilled_lists),
        cmocka_unit_test(most_attributes),
        cmocka_unit_test(other_fields),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
