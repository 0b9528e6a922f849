/* SPDX-License-Identifier: Apache-2.0
 * Each wrong value of a manifest is refused by its place; the last right one before it is not. */
#include "manifest.h"

typedef struct Case {
    const char *from, *to;
    const char *why; /* NULL: it is right */
} Case;

static const Case cases[] = {
    { "'schema_version': 1", "'schema_version': 2", "schema_version is no 1" },
    { "'schema_version': 1", "'schema_version': 0", "is no 1, the one" },
    { "'schema_version': 1", "'schema_version': -1", "schema_version is no i" },
    { "'schema_version': 1", "'schema_version': 1.0",
      "schema_version is no i" },
    { "'schema_version': 1,", "", "schema_version is missing" },
    { "'abc'", "7", "model_sha256 is no text" },
    { "'abc'", "'a\\u0000c'", "model_sha256 is no text" },
    { "'size': 96", "'size': 97", "arena.size is no multiple of the align" },
    { "'size': 96", "'size': -32", "arena.size is no integer from 0" },
    { "'size': 96", "'size': 128", "regions is no list of regions whose" },
    { "'size': 96", "'size': 1099511627808", "arena.size is no integer" },
    { "'align': 32", "'align': 16", NULL },
    { "'align': 32", "'align': 8",
      "arena.align is no integer from 16 to 1048" },
    { "'align': 32", "'align': 48", "arena.align is no power of two" },
    { "'align': 32", "'align': 64", "arena.size is no multiple" },
    { "'align': 32", "'align': 2097152", "arena.align is no integer" },
    { "'lower_bound': 64", "'lower_bound': 0", NULL },
    { "'lower_bound': 64", "'lower_bound': '64'", "arena.lower_bound is no" },
    { "'optimal': true", "'optimal': 1", "arena.optimal is no boolean" },
    { "'offset': 80", "'offset': -1", "arena.counters.offset is no integer" },
    { "'bytes': 4}", "'byte': 4}", "arena.counters.bytes is missing" },
    { "'offset': 84", "'offset': 86", "arena.run_state.bytes is no 8 or" },
    { "'bytes': 8}", "'bytes': 4}", "arena.run_state.bytes is no 8 or" },
    { "'threads': 2", "'threads': 64", NULL },
    { "'threads': 2", "'threads': 1", "arena.threads is no integer from 2" },
    { "'threads': 2", "'threads': 65", "arena.threads is no integer from 2" },
    { "'split': true", "'split': 1", "steps[0].split is no boolean" },
    { "'shape': ['x=1']", "'shape': [1]", "options.shape is no list of texts" },
    { "'shape': ['x=1']", "'shape': 'x=1'", "options.shape is no list of a" },
    { "'preserve_input': true", "'preserve_input': 0", "options.preserve_inp" },
    { "'narrow': true", "'narrow': 0", "options.narrow is no boolean" },
    { "'portable'", "'abacus'", "options.family is no family of targets" },
    { "'lowered_steps': 5", "'lowered_steps': -1", "options.lowered_steps is" },
    { "'window': 4096", "'window': -1", "weights.stream.window is no integer" },
    { "'resident': 77", "'resident': '77'", "weights.stream.resident is no" },
    { "'whole': true", "'whole': 1", "weights.stream.whole is no boolean" },
    { "'stream': {", "'streamed': {", NULL },
    { "'lowered_steps': 5", "'lowered_steps': 0", "steps[0].lowered is no" },
    { "'lowered_steps': 5", "'lowered_steps': 4", "steps[0].lowered is no" },
    { "'lowered_steps': 5", "'lowered_steps': 2147483648", "options.lowered" },
    { "'options': {", "'options': 1, 'other': {", "options is no object" },
    { "'regions': [{'size': 64}, {'size': 32}]", "'regions': []",
      "regions is no list of regions" },
    { "{'size': 64}, {'size': 32}", "{'size': 96}",
      "tensors[0].region is no integer from 0 to 0" },
    { "{'size': 64}, {'size': 32}", "{'size': 64}, 32",
      "regions[1].entry is no object" },
    { "{'size': 64}, {'size': 32}", "{'size': 48}, {'size': 48}",
      "regions[0].size is no multiple" },
    { "{'size': 64}, {'size': 32}", "{'size': 64}, {'size': 64}",
      "regions is no list of regions" },
    { "{'storage': 'arena', 'offset': 16",
      "7, {'storage': 'arena', 'offset': 16", "tensors[0].entry is no object" },
    { "'storage': 'input'", "'storage': 1", "tensors[1].storage is no text" },
    { "'slot': 3", "'slot': 0", NULL },
    { "'slot': 3", "'slot': -1", "tensors[1].slot is no integer from 0" },
    { "'slot': 3", "'slot': 2147483647", NULL },
    { "'slot': 3", "'slot': 2147483648", "tensors[1].slot is no integer" },
    { "'region': 1, 'scratch'", "'region': 2, 'scratch'",
      "tensors[0].region is no integer from 0 to 1" },
    { "'extent': 18", "'extent': -18", "tensors[0].extent is no integer" },
    { "'scratch': true", "'scratch': 1", "tensors[0].scratch is no boolean" },
    { "'scratch': true", "'scratch': false", NULL },
    { "'kernel': 'k'", "'kernel': null", "steps[0].kernel is no text" },
    { "'units': 7", "'units': 0", NULL },
    { "'units': 7", "'units': -1", "steps[0].units is no integer" },
    { "'backward': true", "'backward': 'yes'", "steps[0].backward is no bool" },
    { "'piece': 2", "'piece': 1", NULL },
    { "'piece': 2", "'piece': 0", "steps[0].piece is no integer from 1" },
    { "'strip': 4", "'strip': 1", NULL },
    { "'strip': 4", "'strip': 0", "steps[0].strip is no integer from 1" },
    { "'columns': [1, 6]", "'columns': [0, 1]", NULL },
    { "'columns': [1, 6]", "'columns': [1, 2147483647]", NULL },
    { "'columns': [1, 6]", "'columns': [1]", "steps[0].columns is no list of" },
    { "'columns': [1, 6]", "'columns': [1, 6, 7]", "steps[0].columns is no" },
    { "'columns': [1, 6]", "'columns': ['1', 6]", "steps[0].columns is no" },
    { "'columns': [1, 6]", "'columns': [1, 6.5]", "steps[0].columns is no" },
    { "'columns': [1, 6]", "'columns': [-1, 6]", "steps[0].columns is no" },
    { "'columns': [1, 6]", "'columns': [6, 6]", "steps[0].columns is no" },
    { "'columns': [1, 6]", "'columns': [1, 2147483648]", "steps[0].columns" },
    { "'lowered': [4, 0]", "'lowered': []",
      "steps[0].lowered is no list of at" },
    { "'lowered': [4, 0]", "'lowered': [5]",
      "steps[0].lowered is no list of s" },
    { "'lowered': [4, 0]", "'lowered': [-1]",
      "steps[0].lowered is no list of" },
    { "'lowered': [4, 0]", "'lowered': [0.5]", "steps[0].lowered is no list" },
    { "null, {'access'", "1, {'access'",
      "steps[0].operands[0].entry is no ob" },
    { "'access': 'read'", "'access': 'look'",
      "steps[0].operands[1].access is no read, write, update or scratch" },
    { "'tensor': 1", "'tensor': 2", "steps[0].operands[2].tensor is no place" },
    { "'tensor': 1", "'tensor': -1", "steps[0].operands[2].tensor is no int" },
    { "'at': 8", "'at': -8", "steps[0].operands[2].at is no integer" },
    { "'rows': 9", "'rows': 1", NULL },
    { "'rows': 9", "'rows': 0", "steps[0].operands[2].rows is no integer" },
    { "'row': 10", "'row': -1", "steps[0].operands[2].row is no integer" },
    { "'row': 10", "'row': 1099511627776", NULL },
    { "'row': 10", "'row': 1099511627777", "steps[0].operands[2].row is no" },
    { "'pixel': 11", "'pixel': -1", "steps[0].operands[2].pixel is no" },
    { "'part': 12", "'part': 1", NULL },
    { "'part': 12", "'part': 0", "steps[0].operands[2].part is no integer" },
    { "'ring': 13", "'ring': 1", NULL },
    { "'ring': 13", "'ring': 0", "steps[0].operands[2].ring is no integer" },
    { "'ring': 13", "'ring': 2147483647", NULL },
    { "'ring': 13", "'ring': 2147483648", "steps[0].operands[2].ring is no" },
    { "'pitch': 14", "'pitch': 1", NULL },
    { "'pitch': 14", "'pitch': 0", "steps[0].operands[2].pitch is no integer" },
    { "'reach': 15", "'reach': 0", NULL },
    { "'reach': 15", "'reach': -1", "steps[0].operands[2].reach is no" },
    { "{'stride': 2, 'pad': -1, 'extent': 3}", "'all'", NULL },
    { "{'stride': 2, 'pad': -1, 'extent': 3}", "'unit'", NULL },
    { "{'stride': 2, 'pad': -1, 'extent': 3}", "'none'",
      "steps[0].operands[2].rule is no rule" },
    { "{'stride': 2, 'pad': -1, 'extent': 3}", "3",
      "steps[0].operands[2].rule is no text" },
    { "'stride': 2", "'stride': 0", NULL },
    { "'stride': 2", "'stride': -1", "steps[0].operands[2].rule.stride is no" },
    { "'extent': 3", "'extent': 0", NULL },
    { "'extent': 3", "'extent': -1", "steps[0].operands[2].rule.extent is no" },
    { "'pad': -1", "'pad': -2147483648", NULL },
    { "'pad': -1", "'pad': -2147483649",
      "steps[0].operands[2].rule.pad is no" },
    { "'pixels': {", "'pixels': 1, 'more': {",
      "steps[0].operands[2].pixels is no object" },
    { "'stride': 4", "'stride': -1",
      "steps[0].operands[2].pixels.stride is no" },
    { "'stride': 4", "'stride': 0", NULL },
    { "'pad': -2", "'pad': 2147483647", NULL },
    { "'pad': -2", "'pad': 2147483648",
      "steps[0].operands[2].pixels.pad is no" },
    { "'extent': 5", "'extent': 0", NULL },
    { "'extent': 5", "'extent': -1",
      "steps[0].operands[2].pixels.extent is no" },
    { "'tile': 6", "'tile': 1", NULL },
    { "'tile': 6", "'tile': 0",
      "steps[0].operands[2].pixels.tile is no integer" },
    { "'table': [1, 2, 3, 5, 6, 9]", "'table': [0, 2147483647]", NULL },
    { "'table': [1, 2, 3, 5, 6, 9]", "'table': [-1, 2]",
      "steps[0].operands[3].rule.table is no list of rows" },
    { "'table': [1, 2, 3, 5, 6, 9]", "'table': [1, 2147483648]",
      "steps[0].operands[3].rule.table is no list of rows" },
    { "'table': [1, 2, 3, 5, 6, 9]", "'table': [1, 2.5]",
      "steps[0].operands[3].rule.table is no list of rows" },
    { "'table': [1, 2, 3, 5, 6, 9]", "'table': [1, 2, 3]",
      "steps[0].operands[3].rule.table is no list of rows" },
    { "'table': [1, 2, 3, 5, 6, 9]", "'table': 1",
      "steps[0].operands[3].rule.table is no list of a sensible length" },
    { "'steps': [{'kernel'", "'steps': [3, {'kernel'",
      "steps[0].entry is no object" },
    { "'schedule': [{", "'schedule': [1, {", "schedule[0].entry is no object" },
    { "'first': 2", "'first': -1", "schedule[1].first is no integer" },
    { "'steps': 3", "'steps': -1", "schedule[1].steps is no integer" },
    { "'prologue': 1", "'prologue': 0", "schedule[1].list is no list of prol" },
    { "'prologue': 1", "'prologue': -1", "schedule[1].prologue is no integer" },
    { "'prologue': 1", "'prologue': 1048577", "schedule[1].prologue is no" },
    { "'period': 2", "'period': -1", "schedule[1].period is no integer" },
    { "'period': 2", "'period': 1048577", "schedule[1].period is no integer" },
    { "'epilogue': 1", "'epilogue': -1", "schedule[1].epilogue is no integer" },
    { "'epilogue': 1", "'epilogue': 2", "schedule[1].list is no list of prol" },
    { "'steps': 3", "'steps': 0", NULL },
    { "[3, 1, 255, 1], 'prologue': 1, 'period': 2",
      "[3, 1], 'prologue': 1, 'period': 0", NULL },
    { "[3, 1, 255, 1], 'prologue': 1, 'period': 2, 'epilogue': 1",
      "[3, 1, 255], 'prologue': 1, 'period': 2, 'epilogue': 0", NULL },
    { "'repeats': 6", "'repeats': 0", NULL },
    { "'repeats': 6", "'repeats': -1", "schedule[1].repeats is no integer" },
    /* (2^31 - 1 - 2 * 2^20) / (period + 1) */
    { "'repeats': 6", "'repeats': 715128831", NULL },
    { "'repeats': 6", "'repeats': 715128832", "schedule[1].repeats is no" },
    { "[3, 1, 255, 1]", "[0, 1, 256, 1]",
      "schedule[1].list is no list of num" },
    { "[3, 1, 255, 1]", "[0, -1, 255, 1]",
      "schedule[1].list is no list of nu" },
    { "[3, 1, 255, 1]", "[0, 1, 255, '1']", "schedule[1].list is no list of" },
    { "{'place': 'rows'}", "1", "inputs[1].entry is no object" },
    { "{'place': 'rows'}", "{'place': 1}", "inputs[1].place is no text" },
    { "'offset': 24", "'offset': -1", "inputs[0].offset is no integer" },
    { "'offset': 24, 'region': 1", "'offset': 24, 'region': 2",
      "region is no integer from 0 to 1" },
    { "{'place': 'caller'}", "{}", "outputs[0].place is missing" },
    { "'bound_schedules': 65", "'bound_schedules': -1",
      "arena.bound_schedules is no integer" },
    { "'bytes': 8}", "'bytes': 12}", NULL },
    { "'winograd': true", "'winograd': 1", "options.winograd is no boolean" },
    { "'winograd': true", "'winograd': false", NULL },
    { "'split': true", "'split': false", NULL },
    { "'banks': [6, 7]", "'banks': []", NULL },
    { "'banks': [6, 7]", "'banks': [0, 2147483647]", NULL },
    { "'banks': [6, 7]", "'banks': [6, -1]",
      "options.banks is no list of channels" },
    { "'banks': [6, 7]", "'banks': [2147483648]",
      "options.banks is no list of channels" },
    { "'banks': [6, 7]", "'banks': 6", "options.banks is no list" },
    { "'recompute': 512", "'recompute': 0",
      "options.recompute is no integer from 1 to 1099511627776" },
    { "'recompute': 512", "'recompute': 1099511627776", NULL },
    { "'stream': ['t']", "'stream': [1]",
      "options.stream is no list of texts" },
    { "'coded': true", "'coded': 1", "weights.stream.coded is no boolean" },
    { "'coded': true", "'coded': false", NULL },
    { "[21, 22]", "[0, 2147483647]", NULL },
    { "[21, 22]", "[0, -1]", "weights.stream.room is no list of bytes" },
    { "[21, 22]", "[2147483648]", "weights.stream.room is no list of bytes" },
    { "'values': 16", "'values': 4", NULL },
    { "'values': 16", "'values': 17",
      "weights.stream.palette.values is no integer from 4 to 16" },
    { "'left': [3, 5]", "'left': []", NULL },
    { "'left': [3, 5]", "'left': [-1]",
      "weights.stream.palette.left is no list of numbers" },
    { "'left': [3, 5]", "'right': 1",
      "weights.stream.palette.left is missing" },
    { "'rows': [1, 2]", "'rows': [0, 65535]", NULL },
    { "'rows': [1, 2]", "'rows': [0, 65536]",
      "tensors[0].slots.rows is no list of slots" },
    { "'unit': 23", "'unit': 1", NULL },
    { "'unit': 23", "'unit': 0", "tensors[0].slots.unit is no integer" },
    { "'symbol': 'T'", "'symbol': 1", "lengths.dims[0].symbol is no text" },
    { "'least': 4, 'most': 5", "'least': 6, 'most': 5",
      "lengths.dims[0].most is no number that is not below the least" },
    { "'least': 4, 'most': 5", "'least': 5, 'most': 5",
      "lengths.variant_of is no list with each combination" },
    { "'least': 4, 'most': 5", "'least': 0, 'most': 1", NULL },
    { "'least': 4, 'most': 5", "'least': 4, 'most': -1",
      "lengths.dims[0].most is no integer from 0" },
    { "'least': 4, 'most': 5", "'least': -1, 'most': 0",
      "lengths.dims[0].least is no integer" },
    { "'variant_of': [0, 0]", "'variant_of': [0, 0, 0]",
      "lengths.variant_of is no list with each combination" },
    { "'variant_of': [0, 0]", "'variant_of': [0, 256]",
      "lengths.variant_of is no list of variants" },
    { "'variant_of': [0, 0]", "'variant_of': [0, 1]",
      "variants is no list of all variants" },
    { "'variant_of': [0, 0]", "'variant_of': [1, 0]",
      "variants is no list of all variants" },
    { "'most': 5}],", "'most': 5}, {'symbol': 'S', 'least': 0, 'most': 1}],",
      "lengths.variant_of is no list with each combination" },
    { "'variants': []", "'variants': [1]", "variants[0].entry is no object" },
    { "'variants': []", "'variants': [{}]", "variants[0].arena is missing" },
};

/* The document as it is now is refused. */
static void objects(Reading *reading, const char *why)
{
    size_t length;
    free(reading->said);
    Diag diag = { .out = open_memstream(&reading->said, &length) };
    assert_int_equal(protect(&diag, read_body, reading), STATUS_MALFORMED);
    fclose(diag.out);
    assert_non_null(strstr(reading->said, why));
}

/* No object at all. */
static void a_manifest_is_an_object(void **state)
{
    (void)state;
    Reading reading = reading_of("'abc'", "'abc'");
    json_t *document = reading.document;
    reading.document = json_array();
    objects(&reading, "the document is no object");
    json_decref(document);
    reading_end(&reading);
}

/* As many entries as no manifest has. */
static void lists_have_an_end(void **state)
{
    (void)state;
    Reading reading = reading_of("'abc'", "'abc'");
    json_t *schedule = json_object_get(reading.document, "schedule");
    for (int i = 0; i < 1 << 20; i++)
        json_array_append_new(schedule, json_null());
    objects(&reading, "schedule is no list of a sensible length");
    reading_end(&reading);
}

static void each_value_is_asked(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Case *c = cases + i;
        Reading reading = reading_of(c->from, c->to);
        const bool right = c->why ? reading.status == STATUS_MALFORMED &&
                                        strstr(reading.said, c->why)
                                  : reading.status == 0;
        if (!right)
            print_error("%s as %s: status %d, %s\n", c->from, c->to,
                        reading.status, reading.said);
        assert_true(right);
        reading_end(&reading);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_value_is_asked),
        cmocka_unit_test(a_manifest_is_an_object),
        cmocka_unit_test(lists_have_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
