/* SPDX-License-Identifier: Apache-2.0
 * A manifest with every value that there is, and how it is read. */
#ifndef TEST_PROVE_MANIFEST_H
#define TEST_PROVE_MANIFEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/diag.h"
#include "prove/claim.h"

static const char whole[] =
    "{'schema_version': 1, 'model_sha256': 'abc',"
    " 'arena': {'size': 96, 'align': 32, 'lower_bound': 64, 'optimal': true,"
    "  'bound_schedules': 65,"
    "  'counters': {'offset': 80, 'bytes': 4},"
    "  'threads': 2, 'run_state': {'offset': 84, 'bytes': 8}},"
    " 'options': {'from': ['a'], 'to': ['b'], 'shape': ['x=1'], 'dim': ['N=2', "
    "'M=3'], 'const': [],"
    "  'without': ['cse'], 'io': ['rows'], 'preserve_input': true,"
    "  'state': ['s'], 'preprocess': ['p'], 'kept': ['k'], 'stream': ['t'],"
    "  'narrow': true, 'winograd': true, 'family': 'portable',"
    "  'banks': [6, 7], 'recompute': 512,"
    "  'lowered_steps': 5},"
    " 'weights': {'stream': {'window': 4096, 'resident': 77,"
    "  'whole': true, 'coded': true, 'room': [21, 22],"
    "  'palette': {'values': 16, 'left': [3, 5]}}},"
    " 'lengths': {'dims': [{'symbol': 'T', 'least': 4, 'most': 5}],"
    "  'variant_of': [0, 0]}, 'variants': [],"
    " 'regions': [{'size': 64}, {'size': 32}],"
    " 'tensors': ["
    "  {'storage': 'arena', 'offset': 16, 'bytes': 17, 'extent': 18,"
    "   'region': 1, 'scratch': true, 'slots': {'rows': [1, 2], 'unit': 23}},"
    "  {'storage': 'input', 'slot': 3, 'offset': 0, 'bytes': 1,"
    "   'extent': 2}],"
    " 'steps': [{'kernel': 'k', 'units': 7, 'backward': true, 'piece': 2,"
    "   'split': true,"
    "   'strip': 4, 'columns': [1, 6], 'lowered': [4, 0], 'operands': ["
    "    null, {'access': 'read', 'weights': 0},"
    "    {'access': 'write', 'tensor': 1, 'at': 8, 'rows': 9, 'row': 10,"
    "     'pixel': 11, 'part': 12, 'ring': 13, 'pitch': 14, 'reach': 15,"
    "     'rule': {'stride': 2, 'pad': -1, 'extent': 3},"
    "     'pixels': {'stride': 4, 'pad': -2, 'extent': 5, 'tile': 6}},"
    "    {'access': 'update', 'tensor': 0, 'at': 0, 'rows': 1, 'row': 0,"
    "     'pixel': 0, 'rule': {'table': [1, 2, 3, 5, 6, 9]}},"
    "    {'access': 'scratch', 'tensor': 0, 'at': 0, 'rows': 1, 'row': 0,"
    "     'pixel': 0, 'rule': 'same'}]},"
    "  {'kernel': 'l', 'units': 1, 'backward': false, 'lowered': [1],"
    "   'operands': []}],"
    " 'schedule': [{'first': 0, 'steps': 2}, {'first': 2, 'steps': 3,"
    "   'list': [3, 1, 255, 1], 'prologue': 1, 'period': 2, 'epilogue': 1,"
    "   'repeats': 6}],"
    " 'inputs': [{'place': 'arena', 'offset': 24, 'region': 1},"
    "  {'place': 'rows'}],"
    " 'outputs': [{'place': 'caller'}, {'place': 'arena', 'offset': 48}]}";

/* The document with `from`, of which there is one, in another form. */
static inline char *replaced(const char *from, const char *to)
{
    const char *at = strstr(whole, from);
    assert_non_null(at);
    assert_null(strstr(at + 1, from));
    const size_t room = sizeof whole + strlen(to);
    char *text = malloc(room);
    assert_non_null(text);
    snprintf(text, room, "%.*s%s%s", (int)(at - whole), whole, to,
             at + strlen(from));
    for (char *c = text; *c; c++)
        if (*c == '\'')
            *c = '"';
    return text;
}

typedef struct Reading {
    Arena arena;
    json_t *document;
    Claim *claim;
    Status status;
    char *said;
} Reading;

static inline void read_body(void *context)
{
    Reading *reading = context;
    reading->claim = claim_read(&reading->arena, "m.json", reading->document);
}

static inline Reading reading_of(const char *from, const char *to)
{
    Reading reading = { .status = 0 };
    char *text = replaced(from, to);
    size_t length;
    Diag diag = { .out = open_memstream(&reading.said, &length) };
    reading.document = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (!reading.document)
        print_error("not JSON: %s\n", text);
    assert_non_null(reading.document);
    free(text);
    reading.status = protect(&diag, read_body, &reading);
    fclose(diag.out);
    return reading;
}

static inline void reading_end(Reading *reading)
{
    json_decref(reading->document);
    free(reading->said);
    arena_free(&reading->arena);
}

#endif
