/* SPDX-License-Identifier: Apache-2.0
 * A manifest as it is read: every value arrives. */
#include "manifest.h"

static void operands_arrive(const ClaimStep *step)
{
    assert_int_equal(step->operand.n, 5);
    const ClaimOperand *operand = step->operand.at;
    assert_false(operand[0].given);
    assert_true(operand[1].given && operand[1].constant);
    assert_int_equal(operand[1].reach, -1);
    const ClaimOperand *full = operand + 2;
    assert_true(full->given && !full->constant);
    assert_int_equal(full->access, CLAIM_WRITE);
    assert_int_equal(full->tensor, 1);
    assert_int_equal(full->at, 8);
    assert_int_equal(full->rows, 9);
    assert_int_equal(full->row, 10);
    assert_int_equal(full->pixel, 11);
    assert_int_equal(full->part, 12);
    assert_int_equal(full->ring, 13);
    assert_int_equal(full->pitch, 14);
    assert_int_equal(full->reach, 15);
    assert_int_equal(full->rule.kind, ROWS_WINDOW);
    assert_int_equal(full->rule.stride, 2);
    assert_int_equal(full->rule.pad, -1);
    assert_int_equal(full->rule.extent, 3);
    assert_int_equal(full->pixels.stride, 4);
    assert_int_equal(full->pixels.pad, -2);
    assert_int_equal(full->pixels.extent, 5);
    assert_int_equal(full->pixels.tile, 6);
    assert_int_equal(operand[3].access, CLAIM_UPDATE);
    assert_int_equal(operand[3].rule.kind, ROWS_TABLE);
    assert_int_equal(operand[3].entries, 3);
    assert_int_equal(operand[3].rule.table[0].lo, 1);
    assert_int_equal(operand[3].rule.table[0].hi, 2);
    assert_int_equal(operand[3].rule.table[1].lo, 3);
    assert_int_equal(operand[3].rule.table[1].hi, 5);
    assert_int_equal(operand[3].rule.table[2].lo, 6);
    assert_int_equal(operand[3].rule.table[2].hi, 9);
    assert_int_equal(operand[3].pixels.stride, 0);
    assert_int_equal(operand[3].part, 0);
    assert_int_equal(operand[3].ring, 0);
    assert_int_equal(operand[3].pitch, 0);
    assert_int_equal(operand[3].pixels.tile, 0);
    assert_int_equal(operand[4].access, CLAIM_SCRATCH);
    assert_int_equal(operand[4].rule.kind, ROWS_SAME);
}

static void steps_arrive(const Claim *claim)
{
    assert_int_equal(claim->step.n, 2);
    const ClaimStep *last = claim->step.at + 1;
    assert_string_equal(last->kernel, "l");
    assert_false(last->backward);
    assert_int_equal(last->piece, 0);
    assert_int_equal(last->strip, 0);
    assert_int_equal(last->operand.n, 0);
    const ClaimStep *step = claim->step.at;
    assert_string_equal(step->kernel, "k");
    assert_int_equal(step->units, 7);
    assert_true(step->backward);
    assert_int_equal(step->piece, 2);
    assert_int_equal(step->strip, 4);
    assert_int_equal(step->first_column, 1);
    assert_int_equal(step->end_column, 6);
    assert_int_equal(step->lowered.n, 2);
    assert_int_equal(step->lowered.at[0], 4);
    assert_int_equal(step->lowered.at[1], 0);
    operands_arrive(step);
    assert_int_equal(claim->segment.n, 2);
    assert_null(claim->segment.at[0].list);
    assert_int_equal(claim->segment.at[0].count, 2);
    const Segment *segment = claim->segment.at + 1;
    assert_int_equal(segment->first, 2);
    assert_int_equal(segment->count, 3);
    assert_int_equal(segment->prologue, 1);
    assert_int_equal(segment->period, 2);
    assert_int_equal(segment->epilogue, 1);
    assert_int_equal(segment->repeats, 6);
    assert_memory_equal(segment->list, ((uint8_t[]){ 3, 1, 255, 1 }), 4);
}

static void memory_arrives(const Claim *claim)
{
    assert_int_equal(claim->size, 96);
    assert_int_equal(claim->align, 32);
    assert_int_equal(claim->lower_bound, 64);
    assert_true(claim->optimal);
    assert_int_equal(claim->bound_schedules, 65);
    assert_int_equal(claim->threads, 2);
    assert_int_equal(claim->counters, 80);
    assert_int_equal(claim->counters_bytes, 4);
    assert_int_equal(claim->run_state, 84);
    assert_int_equal(claim->region.n, 2);
    assert_int_equal(claim->region.at[1], 32);
    assert_int_equal(claim->tensor.n, 2);
    const ClaimTensor *first = claim->tensor.at;
    assert_string_equal(first->storage, "arena");
    assert_int_equal(first->offset, 16);
    assert_int_equal(first->bytes, 17);
    assert_int_equal(first->extent, 18);
    assert_int_equal(first->region, 1);
    assert_int_equal(first->slot, -1);
    assert_true(first->scratch);
    assert_int_equal(first->slots->rows, 2);
    assert_int_equal(first->slots->slot[0], 1);
    assert_int_equal(first->slots->slot[1], 2);
    assert_int_equal(first->slots->unit, 23);
    assert_int_equal(first->slots->pool, 18);
    assert_null(first[1].slots);
    assert_int_equal(first[1].slot, 3);
    assert_int_equal(first[1].region, 0);
    assert_false(first[1].scratch);
    assert_int_equal(claim->in_offset.n, 2);
    assert_int_equal(claim->in_offset.at[0], 24);
    assert_int_equal(claim->in_offset.at[1], BY_ROWS);
    assert_int_equal(claim->in_region.at[0], 1);
    assert_int_equal(claim->out_offset.n, 2);
    assert_int_equal(claim->out_offset.at[1], 48);
    assert_int_equal(claim->out_region.at[1], 0);
    assert_int_equal(claim->out_offset.at[0], WITH_CALLER);
    assert_int_equal(claim->out_region.at[0], 0);
}

static void all_arrives(void **state)
{
    (void)state;
    Reading reading = reading_of("'abc'", "'abc'");
    assert_int_equal(reading.status, 0);
    const Claim *claim = reading.claim;
    assert_string_equal(claim->model_sha256, "abc");
    assert_string_equal(claim->shape[0], "x=1");
    assert_null(claim->shape[1]);
    assert_string_equal(claim->dim[1], "M=3");
    assert_null(claim->dim[2]);
    assert_null(claim->constant[0]);
    assert_string_equal(claim->from[0], "a");
    assert_string_equal(claim->to[0], "b");
    assert_string_equal(claim->without[0], "cse");
    assert_string_equal(claim->io[0], "rows");
    assert_true(claim->preserve_input);
    assert_string_equal(claim->state[0], "s");
    assert_string_equal(claim->preprocess[0], "p");
    assert_string_equal(claim->kept[0], "k");
    assert_string_equal(claim->stream[0], "t");
    assert_true(claim->narrow && claim->winograd);
    assert_int_equal(claim->bank.n, 2);
    assert_int_equal(claim->bank.at[1], 7);
    assert_int_equal(claim->recompute, 512);
    assert_string_equal(claim->family->name, "portable");
    assert_int_equal(claim->lowered_steps, 5);
    assert_int_equal(claim->window, 4096);
    assert_int_equal(claim->resident, 77);
    assert_true(claim->whole && claim->coded);
    assert_int_equal(claim->room.n, 2);
    assert_int_equal(claim->room.at[1], 22);
    assert_int_equal(claim->palette, 16);
    assert_int_equal(claim->left.n, 2);
    assert_int_equal(claim->left.at[1], 5);
    assert_int_equal(claim->length.n, 1);
    assert_string_equal(claim->length.at->symbol, "T");
    assert_int_equal(claim->length.at->least, 4);
    assert_int_equal(claim->length.at->most, 5);
    assert_int_equal(claim->variant_of.n, 2);
    assert_int_equal(claim->variant.n, 1);
    assert_ptr_equal(claim->variant.at[0], claim);
    memory_arrives(claim);
    steps_arrive(claim);
    reading_end(&reading);
}

/* What may be left out has a value of its own. */
static void little_is_enough(void **state)
{
    (void)state;
    static const char *const cut[][2] = {
        { " 'model_sha256': 'abc',", "" },
        { "  'counters': {'offset': 80, 'bytes': 4},", "" },
        { "'optimal': true,  'bound_schedules': 65,  'counters': {'offset': "
          "80, "
          "'bytes': 4},"
          "  'threads': 2, 'run_state': {'offset': 84, 'bytes': 8}}",
          "'optimal': false}" },
        { " 'regions': [{'size': 64}, {'size': 32}],", "" },
        { "   'strip': 4, 'columns': [1, 6],", "" },
        { " 'lengths': {", "'none': {" },
        { "  'state': ['s'], 'preprocess': ['p'], 'kept': ['k'], "
          "'stream': ['t'],",
          "" },
        { "'winograd': true, ", "" },
        { "  'banks': [6, 7], 'recompute': 512,", "" },
        { ", 'coded': true, 'room': [21, 22]", "" },
        { " 'weights': {'stream'", "'none': {'stream'" },
        { ", 'rule': 'same'", "" },
        { ",  'palette': {'values': 16, 'left': [3, 5]}", "" },
    };
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        Reading reading = reading_of(cut[i][0], cut[i][1]);
        assert_int_equal(reading.status, 0);
        const Claim *claim = reading.claim;
        assert_true(i != 0 || !claim->model_sha256);
        assert_true(i != 1 || !claim->counters_bytes);
        assert_true(i != 2 || (claim->run_state == -1 && !claim->optimal));
        assert_true(i != 3 || (!claim->region.n && !claim->tensor.at->region));
        assert_true(i != 4 || !claim->step.at->strip);
        assert_true(i != 5 || (!claim->length.n && !claim->variant.n));
        assert_true(i != 6 || (!claim->state && !claim->preprocess &&
                               !claim->kept && !claim->stream));
        assert_true(i != 7 || !claim->winograd);
        assert_true(i != 8 || (!claim->bank.n && !claim->recompute));
        assert_true(i != 9 || (!claim->coded && !claim->room.n));
        assert_true(i != 10 || (!claim->window && !claim->coded));
        assert_true(i != 11 ||
                    claim->step.at->operand.at[4].rule.kind == ROWS_ALL);
        assert_true((claim->palette == 16) == (i != 12 && claim->coded));
        reading_end(&reading);
    }
}

/* A plan of its own for other lengths, read as the first one is. */
static void variants_arrive(void **state)
{
    (void)state;
    Reading reading =
        reading_of("'variant_of': [0, 0]", "'variant_of': [0, 0]");
    json_t *variants = json_object_get(reading.document, "variants");
    json_t *other = json_deep_copy(reading.document);
    json_array_append(variants, other);
    json_array_append_new(variants, other);
    reading.claim = claim_read(&reading.arena, "m.json", reading.document);
    assert_int_equal(reading.claim->variant.n, 3);
    for (int i = 1; i < 3; i++) {
        assert_ptr_not_equal(reading.claim->variant.at[i], reading.claim);
        steps_arrive(reading.claim->variant.at[i]);
    }
    reading_end(&reading);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_arrives),
        cmocka_unit_test(little_is_enough),
        cmocka_unit_test(variants_arrive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
