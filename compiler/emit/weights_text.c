/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/weights_text.h"

#include <inttypes.h>

#include "base/crc32.h"
#include "emit/text.h"

enum {
    CHUNK = 64 * 1024,
    WORDS_A_LINE = 4,
    LONGEST_WORD = 24 /* and the end of its line */
};

/* ---- text ---- */

static const char PROLOGUE[] =
    "/* SPDX-License-Identifier: 0BSD\n"
    " * Constant weights: read-only, reached through the base pointer of the "
    "steps. */\n"
    "#include <stdint.h>\n\n";

static const char SECTION[] =
    "/* Where they lie: a section of your linker's script, say. */\n"
    "#ifndef MODEL_WEIGHTS_ATTR\n"
    "#define MODEL_WEIGHTS_ATTR\n"
    "#endif\n\n";

/* Elements of 1, 2 and 4 bytes lie one after the other on any machine. */
static const char ELEMENTS[] =
    "/* Eight bytes of elements of 1, 2 or 4 bytes, the first one lowest. */\n"
    "#if defined __ARM_BIG_ENDIAN || defined __BYTE_ORDER__ && "
    "__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__\n"
    "#define BIG_ENDIAN_WORDS\n"
    "#define W4(word) ((uint64_t)(word) >> 32 | (uint64_t)(word) << 32)\n"
    "#define W2(word) W4((word) >> 16 & 0x0000ffff0000ffff | ((word) & "
    "0x0000ffff0000ffff) << 16)\n"
    "#define W1(word) W2((word) >> 8 & 0x00ff00ff00ff00ff | ((word) & "
    "0x00ff00ff00ff00ff) << 8)\n"
    "#else\n"
    "#define W4(word) word\n"
    "#define W2(word) word\n"
    "#define W1(word) word\n"
    "#endif\n\n";

static const char ALIGNMENT[] =
    "#if defined __GNUC__\n"
    "#define WEIGHTS_ALIGN __attribute__((aligned(64)))\n"
    "#elif defined __STDC_VERSION__ && __STDC_VERSION__ >= 201112L\n"
    "#define WEIGHTS_ALIGN _Alignas(64)\n"
    "#elif defined _MSC_VER\n"
    "#define WEIGHTS_ALIGN __declspec(align(64))\n"
    "#else\n"
    "#define WEIGHTS_ALIGN          /* that of uint64_t: enough for "
    "all elements, vectors are only used by the compilers above */\n"
    "#endif\n\n";

/* `model` and `MODEL` become the model's name. */
static void put_named(Text *t, const char *text, const char *name)
{
    for (const char *s = text; *s;) {
        const bool lower = !strncmp(s, "model_", 6);
        const bool upper = !strncmp(s, "MODEL_", 6);
        if (!lower && !upper) {
            text_add(t, s++, 1);
            continue;
        }
        for (const char *k = name; *k; k++) {
            const char c =
                upper && *k >= 'a' && *k <= 'z' ? (char)(*k - 'a' + 'A') : *k;
            text_add(t, &c, 1);
        }
        s += 5;
    }
}

/* The blob as text, on its way. */
typedef struct WordWriter {
    const Program *program;
    File *file;
    uint64_t at;   /* where the text ends */
    uint64_t byte; /* of the blob, up to where it is written */
    int region;    /* of its constants */
    size_t slot;   /* the first of them that ends behind it */
    Crc32 crc;     /* of the bytes as a big-endian machine has them */
} WordWriter;

/* Bytes of an element of the word that comes next: 1, 2, 4 or 8. */
static int element_size(WordWriter *writer)
{
    const Program *program = writer->program;
    while (writer->slot < program->weight.n) {
        const WeightSlot *slot = program->weight.at + writer->slot;
        const bool here = slot->tensor->region == writer->region;
        if (here && writer->byte < slot->offset)
            return 8; /* zeros between two */
        if (here && writer->byte < slot->offset + slot->bytes)
            return slot->coded ? 1 : dtype_element(slot->tensor->dtype);
        writer->slot++;
    }
    return 8;
}

/* Adds 8 bytes as they lie on a machine that has the highest of an element first. */
static void add_swapped(Crc32 *crc, const uint8_t *bytes, int size)
{
    uint8_t swapped[8];
    for (int i = 0; i < 8; i++)
        swapped[i] = bytes[i / size * size + size - 1 - i % size];
    crc32_add(crc, swapped, 8);
}

/* "W4(0x0123456789abcdef)," with the bytes' first one lowest; returns the length. */
static size_t word_text(char *to, const uint8_t *bytes, int size)
{
    char *t = to;
    if (size < 8) {
        *t++ = 'W';
        *t++ = (char)('0' + size);
        *t++ = '(';
    }
    *t++ = '0';
    *t++ = 'x';
    for (int k = 7; k >= 0; k--) {
        *t++ = "0123456789abcdef"[bytes[k] >> 4];
        *t++ = "0123456789abcdef"[bytes[k] & 15];
    }
    if (size < 8)
        *t++ = ')';
    *t++ = ',';
    return (size_t)(t - to);
}

/* The text of n bytes, a multiple of 8. */
static size_t words_text(WordWriter *writer, char *to, const uint8_t *from,
                         size_t n)
{
    char *t = to;
    for (size_t i = 0; i < n; i += 8) {
        const int size = element_size(writer);
        add_swapped(&writer->crc, from + i, size);
        t += word_text(t, from + i, size);
        writer->byte += 8;
        if (i / 8 % WORDS_A_LINE == WORDS_A_LINE - 1 || i + 8 == n)
            *t++ = '\n';
    }
    return (size_t)(t - to);
}

/* The text before the array's values. */
static void put_array_head(Text *text, const Program *program, const char *name)
{
    text_put(text, PROLOGUE);
    if (!program->weight_bytes) {
        text_print(text,
                   "extern const uint64_t %s_weights_data[];      /* this "
                   "model has none */\n",
                   name);
        return;
    }
    put_named(text, SECTION, name);
    text_put(text, ELEMENTS);
    text_put(text, ALIGNMENT);
    text_print(text, "extern const uint64_t %s_weights_data[];\n", name);
    put_named(text, "MODEL_WEIGHTS_ATTR ", name);
    text_print(
        text, "WEIGHTS_ALIGN const uint64_t %s_weights_data[%" PRIu64 "] = {\n",
        name, program->weight_bytes / 8);
}

static void write_at_end(WordWriter *writer, const char *text, size_t length)
{
    file_write(writer->file, writer->at, text, length);
    writer->at += length;
}

/* So many bytes as words. */
static void write_words(WordWriter *writer, File *blob, uint64_t left)
{
    Arena *arena = writer->program->graph->arena;
    const ArenaMark mark = arena_mark(arena);
    uint8_t *bytes = arena_alloc(arena, CHUNK);
    char *text = arena_alloc(arena, CHUNK / 8 * LONGEST_WORD);
    while (left) {
        const size_t count = left < CHUNK ? (size_t)left : CHUNK;
        file_read(blob, writer->byte, bytes, count);
        write_at_end(writer, text, words_text(writer, text, bytes, count));
        left -= count;
    }
    arena_release(arena, mark);
}

/* The last one, of zeros and the checksum, which is that of the machine's own bytes. */
static void write_last_word(WordWriter *writer, File *blob)
{
    static const uint8_t zeros[4];
    uint8_t last[8];
    char word[LONGEST_WORD] = { 0 };
    Text text = text_new(writer->program->graph->arena);
    file_read(blob, writer->byte, last, sizeof last);
    word_text(word, last, 8);
    crc32_add(&writer->crc, zeros, sizeof zeros);
    text_print(&text,
               "#ifdef BIG_ENDIAN_WORDS\n0x%016" PRIx32
               ",\n#else\n%s\n#endif\n};\n",
               writer->crc.value, word);
    write_at_end(writer, text.at, text.n);
}

void weights_text(const Program *program, Output *output, const char *name,
                  File *blob)
{
    Arena *arena = program->graph->arena;
    const char *path = arena_printf(arena, "src/%s_weights.c", name);
    Text head = text_new(arena);
    WordWriter writer = { .program = program };
    put_array_head(&head, program, name);
    writer.file = output_create(output, path);
    crc32_begin(&writer.crc);
    write_at_end(&writer, head.at, head.n);
    if (program->weight_bytes) {
        write_words(&writer, blob, program->weight_bytes - 8);
        write_last_word(&writer, blob);
    }
    file_close(writer.file);
}

/* ---- what stays in the code ---- */

static const char CONSTANTS[] =
    "/* SPDX-License-Identifier: 0BSD\n"
    " * Constants that the steps take as they are: places, sizes, numbers of "
    "steps between bytes. They are\n"
    " * no part of the blob. */\n"
    "#include <stdint.h>\n\n";

static void put_constants_head(Text *text, const Program *program)
{
    text_put(text, CONSTANTS);
    text_put(text, ELEMENTS);
    text_put(text, ALIGNMENT);
    text_print(text,
               "WEIGHTS_ALIGN static const uint64_t code_constants[%" PRIu64
               "] = {\n",
               program->code_bytes / 8);
}

void weights_constants(const Program *program, Output *output, const char *name)
{
    static const char end[] = "};\n";
    Arena *arena = program->graph->arena;
    const char *path = arena_printf(arena, "src/%s_constants.h", name);
    Text head = text_new(arena);
    WordWriter writer = { .program = program, .region = 1 };
    put_constants_head(&head, program);
    writer.file = output_create(output, path);
    crc32_begin(&writer.crc);
    write_at_end(&writer, head.at, head.n);
    write_words(&writer, program->code, program->code_bytes);
    write_at_end(&writer, end, sizeof end - 1);
    file_close(writer.file);
}

/* ---- included bytes ---- */

/* Words of assembly that gas and clang take for all their ELF machines (so no @, a comment on Arm).
 */
static const char INCBIN[] =
    "#if !defined __GNUC__ || !defined __ELF__\n"
    "#error \"this form of the weights needs gcc or clang and ELF objects; "
    "compile the model with "
    "--weights=c\"\n"
    "#endif\n\n"
    "/* Found in the folders given with -I; define it to name the file by its "
    "path. */\n"
    "#ifndef MODEL_WEIGHTS_BIN\n"
    "#define MODEL_WEIGHTS_BIN \"model_weights.bin\"\n"
    "#endif\n\n"
    "extern const uint64_t model_weights_data[];\n"
    "__asm__(\".pushsection .rodata.model_weights_data,\\\"a\\\"\\n\"\n"
    "        \".balign 64\\n\"\n"
    "        \".globl model_weights_data\\n\"\n"
    "        \".type model_weights_data, %object\\n\"\n"
    "        \"model_weights_data:\\n\"\n"
    "        \".incbin \\\"\" MODEL_WEIGHTS_BIN \"\\\"\\n\"\n"
    "        \".size model_weights_data, . - model_weights_data\\n\"\n"
    "        \".popsection\\n\");\n";

/* It ends the blob. */
static void put_checksum(Text *text, const Program *program, const char *name,
                         File *blob)
{
    uint8_t crc[4];
    if (!program->weight_bytes)
        return;
    file_read(blob, program->weight_bytes - sizeof crc, crc, sizeof crc);
    text_print(text,
               "/* The checksum of %s_weights.bin: 0x%02x%02x%02x%02x. */\n",
               name, crc[3], crc[2], crc[1], crc[0]);
}

void weights_incbin(const Program *program, Output *output, const char *name,
                    File *blob)
{
    Text t = text_new(program->graph->arena);
    text_put(&t, PROLOGUE);
    put_checksum(&t, program, name, blob);
    put_named(&t, INCBIN, name);
    output_text(output,
                arena_printf(program->graph->arena, "src/%s_weights.c", name),
                t.at, t.n);
}
