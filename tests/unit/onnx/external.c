/* SPDX-License-Identifier: Apache-2.0
 * External data: each way a path, a number or a file can be wrong, with openat2()
 * and without, from every place of a model where a tensor can stand. */
#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "build.h"
#include "base/io_calls.h"
#include "onnx/external.h"

/* The folder holds model/, the folder of the model, and things outside it. */

#define DATA "0123456789abcdef" /* of every good file: 16 bytes */

/* --- the table --- */

typedef struct Case {
    const char *location; /* NULL: no such entry */
    const char *offset, *length, *checksum;
    Status status;
    const char *words; /* of the message; where it is good: the four bytes */
} Case;

static const Case cases[] = {
    { "w.bin", NULL, NULL, NULL, 0, "0123" },
    { "w.bin", "0", "4", NULL, 0, "0123" },
    { "w.bin", "4", "4", NULL, 0, "4567" },
    { "w.bin", "12", "4", NULL, 0, "cdef" },
    { "w.bin", "12", NULL, NULL, 0, "cdef" },
    { "w.bin", "00004", NULL, NULL, 0, "4567" },
    { "./w.bin", NULL, NULL, NULL, 0, "0123" },
    { "sub/w.bin", "1", NULL, NULL, 0, "1234" },
    { "sub/deep/w.bin", "2", NULL, NULL, 0, "2345" },
    { "name with spaces", NULL, NULL, NULL, 0, "0123" },
    { "..w", NULL, NULL, NULL, 0, "0123" },
    { "w..", NULL, NULL, NULL, 0, "0123" },
    { "...", NULL, NULL, NULL, 0, "0123" },
    { "w.bin", NULL, NULL, "fe5567e8d769550852182cdf69d74bb16dff8e29", 0,
      "0123" },
    { "w.bin", NULL, NULL, "FE5567E8D769550852182CDF69D74BB16DFF8E29", 0,
      "0123" },
    { "w.bin", NULL, NULL, "", 0, "0123" },
    /* places */
    { NULL, NULL, NULL, NULL, 65, "it is empty" },
    { "", NULL, NULL, NULL, 65, "it is empty" },
    { "/etc/passwd", NULL, NULL, NULL, 65, "it is absolute" },
    { "/", NULL, NULL, NULL, 65, "it is absolute" },
    { "//w.bin", NULL, NULL, NULL, 65, "it is absolute" },
    { "..", NULL, NULL, NULL, 65, "upwards" },
    { "../secret", NULL, NULL, NULL, 65, "upwards" },
    { "../model/w.bin", NULL, NULL, NULL, 65, "upwards" },
    { "sub/../w.bin", NULL, NULL, NULL, 65, "upwards" },
    { "sub/../../secret", NULL, NULL, NULL, 65, "upwards" },
    { "sub/..", NULL, NULL, NULL, 65, "upwards" },
    { "./../secret", NULL, NULL, NULL, 65, "upwards" },
    { "..\\secret", NULL, NULL, NULL, 65, "backslash" },
    { "sub\\w.bin", NULL, NULL, NULL, 65, "backslash" },
    { "\\\\host\\share", NULL, NULL, NULL, 65, "backslash" },
    { "C:w.bin", NULL, NULL, NULL, 65, "drive" },
    { "c:/w.bin", NULL, NULL, NULL, 65, "drive" },
    { "A:w.bin", NULL, NULL, NULL, 65, "drive" },
    { "z:w.bin", NULL, NULL, NULL, 65, "drive" },
    { "@:w.bin", NULL, NULL, NULL, 66, "do not exist" },
    { "{:w.bin", NULL, NULL, NULL, 66, "do not exist" },
    { "sub//w.bin", NULL, NULL, NULL, 65, "empty part" },
    { "w.bin/", NULL, NULL, NULL, 65, "empty part" },
    { "sub/", NULL, NULL, NULL, 65, "empty part" },
    { "a\nb", NULL, NULL, NULL, 65, "control character" },
    { "a\x1b[31mb", NULL, NULL, NULL, 65, "control character" },
    { "a\x7f", NULL, NULL, NULL, 65, "control character" },
    /* what lies there */
    { "none", NULL, NULL, NULL, 66, "do not exist" },
    { "none/w.bin", NULL, NULL, NULL, 66, "do not exist" },
    { "sub/none", NULL, NULL, NULL, 66, "do not exist" },
    { "file:///etc/passwd", NULL, NULL, NULL, 65, "empty part" },
    { "w.bin/x", NULL, NULL, NULL, 65, "through a link or a file" },
    { "link", NULL, NULL, NULL, 65, "through a link" },
    { "link-out", NULL, NULL, NULL, 65, "through a link" },
    { "link-dangling", NULL, NULL, NULL, 65, "through a link" },
    { "link-proc", NULL, NULL, NULL, 65, "through a link" },
    { "link-self", NULL, NULL, NULL, 65, "through a link" },
    { "link-folder/w.bin", NULL, NULL, NULL, 65, "through a link" },
    { "link-root/etc/passwd", NULL, NULL, NULL, 65, "through a link" },
    { "sub/link", NULL, NULL, NULL, 65, "through a link" },
    { "hard", NULL, NULL, NULL, 65, "hard link" },
    { "hard-out", NULL, NULL, NULL, 65, "hard link" },
    { "sub", NULL, NULL, NULL, 65, "no regular file" },
    { ".", NULL, NULL, NULL, 65, "no regular file" },
    { "sub/.", NULL, NULL, NULL, 65, "no regular file" },
    { "fifo", NULL, NULL, NULL, 65, "no regular file" },
    { "socket", NULL, NULL, NULL, 65, "no regular file" },
    { "empty", NULL, NULL, NULL, 65, "beyond the end" },
    { "three", NULL, NULL, NULL, 65, "beyond the end" },
    /* numbers */
    { "w.bin", "13", NULL, NULL, 65, "beyond the end" },
    { "w.bin", "16", "4", NULL, 65, "beyond the end" },
    { "w.bin", "17", NULL, NULL, 65, "beyond the end" },
    { "w.bin", "4096", NULL, NULL, 65, "beyond the end" },
    { "w.bin", "9223372036854775807", NULL, NULL, 65, "beyond the end" },
    { "w.bin", "9223372036854775808", NULL, NULL, 65, "is no number" },
    { "w.bin", "18446744073709551612", NULL, NULL, 65, "is no number" },
    { "w.bin", "18446744073709551616", NULL, NULL, 65, "is no number" },
    { "w.bin", "99999999999999999999999999", NULL, NULL, 65, "is no number" },
    { "w.bin", "-1", NULL, NULL, 65, "is no number" },
    { "w.bin", "-0", NULL, NULL, 65, "is no number" },
    { "w.bin", "+1", NULL, NULL, 65, "is no number" },
    { "w.bin", " 1", NULL, NULL, 65, "is no number" },
    { "w.bin", "1 ", NULL, NULL, 65, "is no number" },
    { "w.bin", "", NULL, NULL, 65, "is no number" },
    { "w.bin", "0x4", NULL, NULL, 65, "is no number" },
    { "w.bin", "1e1", NULL, NULL, 65, "is no number" },
    { "w.bin", "4.0", NULL, NULL, 65, "is no number" },
    { "w.bin", NULL, "-4", NULL, 65, "is no number" },
    { "w.bin", NULL, "", NULL, 65, "is no number" },
    { "w.bin", NULL, "0", NULL, 65,
      "needs 4 bytes, but its external data have 0" },
    { "w.bin", NULL, "3", NULL, 65,
      "needs 4 bytes, but its external data have 3" },
    { "w.bin", NULL, "5", NULL, 65,
      "needs 4 bytes, but its external data have 5" },
    { "w.bin", NULL, "1125899906842624", NULL, 65, "needs 4 bytes" },
    { "w.bin", "9223372036854775804", "4", NULL, 65, "beyond the end" },
    /* checksums */
    { "w.bin", NULL, NULL, "fe5567e8d769550852182cdf69d74bb16dff8e28", 65,
      "have the checksum fe5567e8" },
    { "w.bin", NULL, NULL, "fe5567e8", 65, "is no SHA-1" },
    /* names with dots that lead nowhere */
    { "ab", NULL, NULL, NULL, 66, "do not exist" },
    { ".b", NULL, NULL, NULL, 66, "do not exist" },
    { "a.", NULL, NULL, NULL, 66, "do not exist" },
    { "1:b", NULL, NULL, NULL, 66, "do not exist" },
    { "{:b", NULL, NULL, NULL, 66, "do not exist" },
    { "w.bin", NULL, NULL, "zz5567e8d769550852182cdf69d74bb16dff8e29", 65,
      "is no SHA-1" },
};

/* --- one tensor, found as the reader finds it --- */

typedef struct Find {
    Arena arena;
    Store store;
    Diag diag;
    External external;
    const ReadOptions *options;
    const char *model;
    const Case *c;
    bool by_components;
    char bytes[5];
} Find;

static void find_body(void *context)
{
    Find *f = context;
    Span span;
    const ExternalRef ref = { f->c->location, f->c->offset, f->c->length,
                              f->c->checksum };
    f->external = external_new(&f->arena, &f->store, f->model);
    if (f->options && f->options->external_dir)
        f->external.folder = f->options->external_dir;
    f->external.refused = f->options && f->options->no_external;
    f->external.by_components = f->by_components;
    File *file =
        external_find(&f->external, (Loc){ .byte = 7, .node = -1, .name = "w" },
                      &ref, 4, &span);
    assert_int_equal(span.length, 4);
    file_read(file, span.offset, f->bytes, 4);
}

static int open_files(void)
{
    int n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void check_case(const Case *c, bool by_components,
                       const ReadOptions *options)
{
    char model[128], *text = NULL;
    size_t n;
    const int before = open_files();
    snprintf(model, sizeof model, "%s/model/model.onnx", folder);
    Find f = { .c = c,
               .by_components = by_components,
               .options = options,
               .model = model };
    f.diag.out = open_memstream(&text, &n);
    const Status s = protect(&f.diag, find_body, &f);
    fclose(f.diag.out);
    const char *found = s ? text : f.bytes;
    if (s != c->status || !strstr(found, c->words))
        print_error("\"%s\" offset %s length %s: wanted %d \"%s\", got %d %s\n",
                    c->location, c->offset, c->length, c->status, c->words, s,
                    found);
    assert_int_equal(s, c->status);
    assert_non_null(strstr(found, c->words));
    if (s)
        assert_non_null(strstr(text, "\"w\""));
    file_close_all(&f.arena);
    arena_free(&f.arena);
    free(text);
    assert_int_equal(open_files(), before);
}

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_case(cases + i, false, NULL);
}

/* The same answers where the system has no openat2(). */
static void test_components(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_case(cases + i, true, NULL);
}

static void test_long(void **state)
{
    (void)state;
    char *location = malloc(5001);
    memset(location, 'a', 5000);
    location[5000] = 0;
    check_case(&(Case){ location, NULL, NULL, NULL, 65, "too long" }, false,
               NULL);
    location[300] = 0;
    check_case(&(Case){ location, NULL, NULL, NULL, 65, "too long" }, false,
               NULL);
    check_case(&(Case){ location, NULL, NULL, NULL, 65, "too long" }, true,
               NULL);
    free(location);
}

static void test_options(void **state)
{
    (void)state;
    char other[128];
    snprintf(other, sizeof other, "%s/other", folder);
    const ReadOptions refuse = { .no_external = true },
                      elsewhere = { .external_dir = other },
                      missing = { .external_dir = "/none-such" };
    check_case(&(Case){ "w.bin", NULL, NULL, NULL, 65, "--no-external-data" },
               false, &refuse);
    check_case(&(Case){ "o.bin", "6", NULL, NULL, 0, "6789" }, false,
               &elsewhere);
    check_case(&(Case){ "w.bin", NULL, NULL, NULL, 66, "do not exist" }, false,
               &elsewhere);
    check_case(&(Case){ "../model/w.bin", NULL, NULL, NULL, 65, "upwards" },
               false, &elsewhere);
    check_case(&(Case){ "w.bin", NULL, NULL, NULL, 66, "/none-such" }, false,
               &missing);
}

static void test_numbers(void **state)
{
    (void)state;
    uint64_t v = 0;
    assert_true(external_number("0", &v) && v == 0);
    assert_true(external_number("9223372036854775807", &v) && v == INT64_MAX);
    assert_false(external_number("9223372036854775808", &v));
    assert_false(external_number("12a", &v));
}

/* --- whole models --- */

static void put_entry(Bytes *t, const char *key, const char *value)
{
    Bytes e = { 0 };
    put_text(&e, NUMBER(string_string_entry_proto, key), key);
    put_text(&e, NUMBER(string_string_entry_proto, value), value);
    put_message(t, NUMBER(tensor_proto, external_data), e);
}

static Bytes external_tensor(const char *name, int type, int64_t n,
                             const char *location)
{
    Bytes t = tensor_head(name, type, 1, &n);
    put_entry(&t, "location", location);
    put_int(&t, NUMBER(tensor_proto, data_location), 1);
    return t;
}

typedef enum Place {
    INITIALIZER,
    ATTRIBUTE,
    SPARSE_VALUE,
    SPARSE_INDEX,
    SUBGRAPH,
    FUNCTION,
    TENSOR_LIST,
    SPARSE_ATTRIBUTE,
    PLACES
} Place;

static Bytes one_value(Bytes values, Bytes indices)
{
    Bytes s = { 0 };
    put_message(&s, NUMBER(sparse_tensor_proto, values), values);
    put_message(&s, NUMBER(sparse_tensor_proto, indices), indices);
    put_int(&s, NUMBER(sparse_tensor_proto, dims), 1);
    return s;
}

static Bytes constant_of(int field, Bytes value, AttrKind kind)
{
    Bytes n = node("Constant > y"), a = attr_head("value", kind);
    put_message(&a, field, value);
    put_message(&n, NUMBER(node_proto, attribute), a);
    return n;
}

/* y in a subgraph, from its own initializer. */
static Bytes with_subgraph(Bytes tensor)
{
    Bytes n = node("If x > y"), a = attr_head("then_branch", ATTR_GRAPH),
          g = { 0 };
    put_message(&g, NUMBER(graph_proto, initializer), tensor);
    put_message(&g, NUMBER(graph_proto, output), value_float("w"));
    put_message(&a, NUMBER(attribute_proto, g), g);
    put_message(&n, NUMBER(node_proto, attribute), a);
    return n;
}

static Bytes model_with(Place place, const char *location)
{
    Bytes g = { 0 }, f = { 0 }, one = tensor_raw("w", DT_F32, 1, "abcd", 4),
          zero = tensor_raw("i", DT_I64, 1, "\0\0\0\0\0\0\0", 8);
    Bytes t =
        external_tensor(place == SPARSE_INDEX ? "i" : "w",
                        place == SPARSE_INDEX ? DT_I64 : DT_F32, 1, location);
    switch (place) {
    case INITIALIZER:
        put_message(&g, NUMBER(graph_proto, initializer), t);
        put_message(&g, NUMBER(graph_proto, node), node("Neg w > y"));
        break;
    case ATTRIBUTE:
        put_message(&g, NUMBER(graph_proto, node),
                    constant_of(NUMBER(attribute_proto, t), t, ATTR_TENSOR));
        break;
    case TENSOR_LIST:
        put_message(
            &g, NUMBER(graph_proto, node),
            constant_of(NUMBER(attribute_proto, tensors), t, ATTR_TENSORS));
        break;
    case SPARSE_VALUE:
        put_message(&g, NUMBER(graph_proto, sparse_initializer),
                    one_value(t, zero));
        put_message(&g, NUMBER(graph_proto, node), node("Neg w > y"));
        break;
    case SPARSE_INDEX:
        put_message(&g, NUMBER(graph_proto, sparse_initializer),
                    one_value(one, t));
        put_message(&g, NUMBER(graph_proto, node), node("Neg w > y"));
        break;
    case SPARSE_ATTRIBUTE:
        put_message(&g, NUMBER(graph_proto, node),
                    constant_of(NUMBER(attribute_proto, sparse_tensor),
                                one_value(t, zero), ATTR_SPARSE_TENSOR));
        break;
    case SUBGRAPH:
        put_message(&g, NUMBER(graph_proto, node), with_subgraph(t));
        break;
    default:
        put_text(&f, NUMBER(function_proto, name), "F");
        put_text(&f, NUMBER(function_proto, output), "y");
        put_message(&f, NUMBER(function_proto, node),
                    constant_of(NUMBER(attribute_proto, t), t, ATTR_TENSOR));
        put_message(&g, NUMBER(graph_proto, node), node("Neg x > y"));
    }
    if (place != SPARSE_INDEX)
        free(one.at);
    if (place != SPARSE_VALUE && place != SPARSE_ATTRIBUTE)
        free(zero.at);
    put_ends(&g, "x", "y");
    Bytes m = model_of(g);
    if (f.n)
        put_message(&m, NUMBER(model_proto, functions), f);
    return m;
}

static Status read_in(Read *r, Bytes m)
{
    char in[128];
    snprintf(in, sizeof in, "%s/model", folder);
    return read_model(r, in, m);
}

/* Wherever the tensor stands, the path is checked by the same function. */
static void test_places(void **state)
{
    (void)state;
    for (Place p = 0; p < PLACES; p++) {
        static const struct {
            const char *location, *words;
        } bad[] = {
            { "../secret", "upwards" },
            { "link-out", "through a link" },
            { "hard-out", "hard link" },
            { "fifo", "no regular file" },
        };
        Read r = { 0 };
        if (read_in(&r, model_with(p, "zeros")))
            print_error("place %d: %s\n", p, r.message);
        assert_int_equal(r.status, 0);
        read_free(&r);
        for (int i = 0; i < 4; i++) {
            assert_int_equal(read_in(&r, model_with(p, bad[i].location)), 65);
            assert_non_null(strstr(r.message, bad[i].words));
            read_free(&r);
        }
        assert_int_equal(read_in(&r, model_with(p, "none")), 66);
        read_free(&r);
    }
}

static Status read_tensor(Read *r, Bytes t)
{
    r->single = true;
    return read_in(r, t);
}

static void test_entries(void **state)
{
    (void)state;
    Read r = { 0 };
    Bytes t = external_tensor("w", DT_F32, 1, "w.bin");
    put_entry(&t, "offset", "8");
    put_entry(&t, "prepacked_0", "x");
    put_entry(&t, "basepath", "y");
    assert_int_equal(read_tensor(&r, t), 0);
    assert_int_equal(r.diag.warnings, 1);
    assert_memory_equal(recipe_values(&r.store, &r.arena, r.tensor), "89ab", 4);
    read_free(&r);
    static const char *const keys[] = { "location", "offset", "length",
                                        "checksum" };
    for (int i = 0; i < 4; i++) {
        t = external_tensor("w", DT_F32, 1, "w.bin");
        put_entry(&t, keys[i], "4");
        put_entry(&t, keys[i], "4");
        assert_int_equal(read_tensor(&r, t), 65);
        assert_non_null(strstr(r.message, "is given twice"));
        read_free(&r);
    }
    t = external_tensor("w", DT_F32, 1, "w.bin");
    put_float(&t, NUMBER(tensor_proto, float_data), 1);
    assert_int_equal(read_tensor(&r, t), 65);
    assert_non_null(strstr(r.message, "float_data as well"));
    read_free(&r);
    t = external_tensor("w", DT_STRING, 1, "w.bin");
    assert_int_equal(read_tensor(&r, t), 65);
    read_free(&r);
    t = tensor_head("w", DT_F32, 1, (const int64_t[]){ 1 });
    put_int(&t, NUMBER(tensor_proto, data_location), 1);
    assert_int_equal(read_tensor(&r, t), 65);
    assert_non_null(strstr(r.message, "it is empty"));
    read_free(&r);
    t = tensor_head("w", DT_F32, 1, (const int64_t[]){ 1 });
    Bytes e = { 0 };
    put_text(&e, NUMBER(string_string_entry_proto, key), "location");
    put_bytes(&e, NUMBER(string_string_entry_proto, value), "w.bin\0x", 7);
    put_message(&t, NUMBER(tensor_proto, external_data), e);
    put_int(&t, NUMBER(tensor_proto, data_location), 1);
    assert_int_equal(read_tensor(&r, t), 65);
    assert_non_null(strstr(r.message, "NUL"));
    read_free(&r);
}

/* Many tensors of one file share one descriptor; several may overlap. */
static void test_shared(void **state)
{
    (void)state;
    Bytes g = { 0 };
    for (int i = 0; i < 500; i++) {
        char name[32], offset[32];
        snprintf(name, sizeof name, "w%d", i);
        snprintf(offset, sizeof offset, "%d", i % 4 * 4);
        Bytes t = external_tensor(name, DT_U8, 4, "w.bin");
        put_entry(&t, "offset", offset);
        put_message(&g, NUMBER(graph_proto, initializer), t);
    }
    put_message(&g, NUMBER(graph_proto, node), node("Add x w0 > y"));
    put_ends(&g, "x", "y");
    const int before = open_files();
    Read r = { 0 };
    assert_int_equal(read_in(&r, model_of(g)), 0);
    assert_int_equal(open_files(), before + 2);
    assert_memory_equal(
        recipe_values(&r.store, &r.arena, graph_find(r.graph, "w499")->value),
        "cdef", 4);
    read_free(&r);
    assert_int_equal(open_files(), before);
}

/* A model from a pipe has no folder. */
static void test_stdin(void **state)
{
    (void)state;
    char in[128];
    snprintf(in, sizeof in, "%s/model", folder);
    for (int named = 0; named < 2; named++) {
        Bytes m = model_with(INITIALIZER, "w.bin");
        int ends[2];
        const int before = dup(STDIN_FILENO);
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], m.at, m.n), (ssize_t)m.n);
        close(ends[1]);
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        Read r = { .options.external_dir = named ? in : NULL };
        snprintf(r.path, sizeof r.path, "-");
        assert_int_equal(read_path(&r), named ? 0 : 66);
        read_free(&r);
        dup2(before, STDIN_FILENO);
        close(before);
        free(m.at);
    }
}

/* --- the files --- */

static const char *path(const char *name)
{
    static char text[4][160];
    static int turn;
    char *to = text[turn++ % 4];
    snprintf(to, sizeof text[0], "%s/%s", folder, name);
    return to;
}

static void make_socket(void)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(a.sun_path, sizeof a.sun_path, "%s", path("model/socket"));
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    close(fd);
}

static const char *const folders[] = { "model", "model/sub", "model/sub/deep",
                                       "other" };
static const char *const good[] = { "model/w.bin",
                                    "model/sub/w.bin",
                                    "model/sub/deep/w.bin",
                                    "model/name with spaces",
                                    "model/..w",
                                    "model/w..",
                                    "model/...",
                                    "other/o.bin",
                                    "secret",
                                    "model/twin" };
static const struct {
    const char *name, *to;
} links[] = {
    { "model/link", "w.bin" },
    { "model/link-out", "../secret" },
    { "model/link-dangling", "nowhere" },
    { "model/link-proc", "/proc/self/exe" },
    { "model/link-self", "link-self" },
    { "model/link-folder", "sub" },
    { "model/link-root", "/" },
    { "model/sub/link", "w.bin" },
};
static const char *const others[] = { "model/hard",  "model/hard-out",
                                      "model/fifo",  "model/socket",
                                      "model/empty", "model/three",
                                      "model/zeros", "model/model.onnx" };

static int make_files(void **state)
{
    begin(state);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        assert_int_equal(mkdir(path(folders[i]), 0700), 0);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        write_file(path(good[i]), DATA, 16);
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        assert_int_equal(symlink(links[i].to, path(links[i].name)), 0);
    assert_int_equal(link(path("model/twin"), path("model/hard")), 0);
    assert_int_equal(link(path("secret"), path("model/hard-out")), 0);
    assert_int_equal(mkfifo(path("model/fifo"), 0600), 0);
    make_socket();
    write_file(path("model/empty"), "", 0);
    write_file(path("model/three"), "012", 3);
    write_file(path("model/zeros"), "\0\0\0\0\0\0\0", 8);
    return 0;
}

static int remove_files(void **state)
{
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        unlink(path(others[i]));
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        unlink(path(links[i].name));
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        unlink(path(good[i]));
    for (size_t i = sizeof folders / sizeof *folders; i-- > 0;)
        rmdir(path(folders[i]));
    return end(state);
}

typedef struct Values {
    Read *read;
    const Tensor *tensor;
} Values;

static void read_values(void *context)
{
    Values *v = context;
    (void)recipe_values(&v->read->store, &v->read->arena, v->tensor->value);
}

/* A file that shrinks after its size was checked: the read that meets its end fails, whatever it
 * has read by then. */
static void test_shrinking(void **state)
{
    (void)state;
    Bytes g = { 0 };
    char path[128];
    snprintf(path, sizeof path, "%s/model/shrinks.bin", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("0123456789abcdef", f);
    fclose(f);
    put_message(&g, NUMBER(graph_proto, initializer),
                external_tensor("w", DT_U8, 16, "shrinks.bin"));
    put_message(&g, NUMBER(graph_proto, node), node("Add x w > y"));
    put_ends(&g, "x", "y");
    Read r = { 0 };
    assert_int_equal(read_in(&r, model_of(g)), 0);
    assert_int_equal(truncate(path, 7), 0);
    Values v = { &r, graph_find(r.graph, "w") };
    FILE *sink = fopen("/dev/null", "w");
    Diag d = { .out = sink };
    assert_int_equal(protect(&d, read_values, &v), 74);
    fclose(sink);
    read_free(&r);
    unlink(path);
}

/* Two tensors of a file: they may be the same bytes or others, not some of the same. */
static void test_overlap(void **state)
{
    (void)state;
    static const struct {
        const char *first, *second;
        int bytes;
        Status status;
    } pairs[] = {
        { "0", "4", 4, 0 },  { "4", "0", 4, 0 },  { "4", "4", 4, 0 },
        { "0", "3", 4, 65 }, { "3", "0", 4, 65 }, { "0", "2", 2, 65 },
        { "2", "0", 2, 0 },  { "1", "0", 2, 65 }, { "8", "5", 4, 65 },
        { "0", "0", 2, 65 },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        Bytes g = { 0 }, a = external_tensor("a", DT_U8, 4, "w.bin"),
              b = external_tensor("b", DT_U8, pairs[i].bytes, "w.bin");
        put_entry(&a, "offset", pairs[i].first);
        put_entry(&b, "offset", pairs[i].second);
        put_message(&g, NUMBER(graph_proto, initializer), a);
        put_message(&g, NUMBER(graph_proto, initializer), b);
        put_message(&g, NUMBER(graph_proto, node), node("Add x x > y"));
        put_ends(&g, "x", "y");
        Read r = { 0 };
        assert_int_equal(read_in(&r, model_of(g)), pairs[i].status);
        if (pairs[i].status)
            assert_non_null(strstr(r.message, "overlap"));
        read_free(&r);
    }
}

/* The folder of a model by its path. */
static void test_folders(void **state)
{
    (void)state;
    static const struct {
        const char *model, *folder;
    } paths[] = {
        { "m.onnx", "." },     { "/m.onnx", "/" },  { "a/m.onnx", "a" },
        { "/a/m.onnx", "/a" }, { "./m.onnx", "." }, { "a/b/", "a/b" },
    };
    Arena arena = { 0 };
    Store store = { .mode = LOAD_EAGER };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const External x = external_new(&arena, &store, paths[i].model);
        assert_string_equal(x.folder, paths[i].folder);
        assert_int_equal(x.mode, LOAD_EAGER);
        assert_false(x.refused || x.warned || x.by_components);
    }
    assert_null(external_new(&arena, &store, NULL).folder);
    arena_free(&arena);
}

/* --- system calls that fail --- */

static IoCalls faulty;
static int fault_error;
static int fault_times; /* then it works */

static int fault_beneath(int in, const char *path, int flags)
{
    if (fault_times-- > 0) {
        errno = fault_error;
        return -1;
    }
    return io_system.open_beneath(in, path, flags);
}

static int fault_stat(int fd, struct stat *to)
{
    if (fault_times-- > 0) {
        errno = fault_error;
        return -1;
    }
    return io_system.fstat(fd, to);
}

static int fault_never(int in, const char *path, int flags)
{
    (void)in;
    (void)path;
    (void)flags;
    errno = ENOENT;
    return -1;
}

static void find_with(int error, int times, Status status, const char *words)
{
    static const Case plain = { .location = "w.bin" };
    fault_error = error;
    fault_times = times;
    char model[128];
    char *text = NULL;
    size_t n;
    const int before = open_files();
    snprintf(model, sizeof model, "%s/model/model.onnx", folder);
    Find find = { .model = model, .c = &plain };
    find.diag.out = open_memstream(&text, &n);
    find.store.arena = &find.arena;
    io_calls_test = &faulty;
    assert_int_equal(protect(&find.diag, find_body, &find), status);
    io_calls_test = NULL;
    fclose(find.diag.out);
    if (status)
        assert_non_null(strstr(text, words));
    else
        assert_memory_equal(find.bytes, "0123", 4);
    free(text);
    file_close_all(&find.arena);
    arena_free(&find.arena);
    assert_int_equal(open_files(), before);
}

/* Interrupted it is tried again, some hundred times; where the call is missing, the folders are
 * opened one after the other. */
static void test_open_beneath(void **state)
{
    (void)state;
    faulty = io_system;
    faulty.open_beneath = fault_beneath;
    find_with(EINTR, 3, 0, NULL);
    find_with(EAGAIN, 99, 0, NULL);
    find_with(EAGAIN, 100, 74, "cannot be opened");
    find_with(ENOSYS, 1, 0, NULL);
    find_with(EPERM, 1, 0, NULL);
    find_with(E2BIG, 1, 0, NULL);
    find_with(EACCES, 1, 74, "cannot be opened: Permission denied");
    find_with(ENOENT, 1, 66, "do not exist");
    find_with(ELOOP, 1, 65, "are reached through a link or a file");
    find_with(ENOTDIR, 1, 65, "are reached through a link or a file");
    find_with(EXDEV, 1, 65, "are reached through a link or a file");
    find_with(ENAMETOOLONG, 1, 65, "is too long");
    find_with(ENXIO, 1, 65, "are no regular file");
    find_with(ENODEV, 1, 65, "are no regular file");
    faulty.open_beneath = NULL;
    find_with(0, 0, 0, NULL);
    faulty.open_beneath = fault_never;
    find_with(0, 0, 66, "do not exist");
}

static void test_stat_fails(void **state)
{
    (void)state;
    faulty = io_system;
    faulty.fstat = fault_stat;
    find_with(EIO, 1, 74, "cannot be opened: Input/output error");
}

/* --- several tensors --- */

typedef struct Piece {
    const char *name, *location, *offset;
    int bytes;
} Piece;

static Status read_pieces(Read *r, int n, const Piece *pieces,
                          const char *checksum)
{
    Bytes g = { 0 };
    for (int i = 0; i < n; i++) {
        Bytes t = external_tensor(pieces[i].name, DT_U8, pieces[i].bytes,
                                  pieces[i].location);
        put_entry(&t, "offset", pieces[i].offset);
        if (checksum)
            put_entry(&t, "checksum", checksum);
        put_message(&g, NUMBER(graph_proto, initializer), t);
    }
    put_message(&g, NUMBER(graph_proto, node), node("Add x x > y"));
    put_ends(&g, "x", "y");
    return read_in(r, model_of(g));
}

/* A file is hashed once for all its tensors. */
static void test_checksum_once(void **state)
{
    (void)state;
    static const Piece two[] = { { "a", "w.bin", "0", 4 },
                                 { "b", "w.bin", "4", 4 } };
    Read r = { 0 };
    assert_int_equal(
        read_pieces(&r, 2, two, "fe5567e8d769550852182cdf69d74bb16dff8e29"), 0);
    read_free(&r);
    assert_int_equal(
        read_pieces(&r, 2, two, "FE5567E8D769550852182CDF69D74BB16DFF8E29"), 0);
    read_free(&r);
    assert_int_equal(
        read_pieces(&r, 2, two, "ge5567e8d769550852182cdf69d74bb16dff8e29"),
        65);
    read_free(&r);
}

/* Ranges of different files do not overlap; those without bytes overlap nothing. */
static void test_several_files(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/model/v.bin", folder);
    write_file(path, "0123456789abcdef", 16);
    static const Piece apart[] = {
        { "a", "w.bin", "0", 8 }, { "b", "v.bin", "0", 8 },
        { "c", "w.bin", "8", 8 }, { "d", "v.bin", "4", 0 },
        { "e", "v.bin", "8", 8 }, { "f", "w.bin", "0", 8 },
        { "g", "w.bin", "2", 0 },
    };
    static const Piece cut[] = {
        { "a", "w.bin", "0", 8 }, { "b", "v.bin", "4", 8 },
        { "c", "v.bin", "0", 4 }, { "d", "v.bin", "11", 2 },
        { "e", "w.bin", "9", 2 },
    };
    static const Piece lengths[] = {
        { "a", "w.bin", "0", 6 }, { "b", "w.bin", "0", 4 },
        { "c", "w.bin", "0", 5 }, { "d", "w.bin", "0", 4 },
        { "e", "w.bin", "0", 7 },
    };
    Read r = { 0 };
    assert_int_equal(read_pieces(&r, 7, apart, NULL), 0);
    read_free(&r);
    assert_int_equal(read_pieces(&r, 5, cut, NULL), 65);
    assert_non_null(strstr(r.message, "2 bytes at 11 of"));
    assert_non_null(strstr(r.message, "overlap those of \"b\", 8 bytes at 4"));
    read_free(&r);
    assert_int_equal(read_pieces(&r, 5, lengths, NULL), 65);
    assert_non_null(strstr(r.message, "\"c\""));
    assert_non_null(strstr(r.message, "5 bytes at 0 of"));
    read_free(&r);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folders),
        cmocka_unit_test(test_open_beneath),
        cmocka_unit_test(test_stat_fails),
        cmocka_unit_test(test_checksum_once),
        cmocka_unit_test(test_several_files),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_components),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_entries),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_shrinking),
        cmocka_unit_test(test_stdin),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
