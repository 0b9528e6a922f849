/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/rules.h"

#include <string.h>

ColumnRule rules_columns(const Step *step)
{
    const KernelRules *rules = step->kernel->rules;
    const bool images = step->n_operand > 1 && step->operand[0].tensor &&
                        step->operand[1].tensor;
    if (!rules || !rules->columns || !images)
        return (ColumnRule){ .kind = COLUMNS_NONE };
    return rules->columns(step);
}

ChannelRule rules_channels(const Step *step, void *params)
{
    const KernelRules *rules = step->kernel->rules;
    if (!rules || !rules->channels)
        return (ChannelRule){ .channels = 0 };
    return rules->channels(step, params);
}

int64_t rules_transformed(const Step *step)
{
    const KernelRules *rules = step->kernel->rules;
    return rules && rules->transforms ? rules->transforms(step) : 0;
}

Join rules_join(const Step *step)
{
    const KernelRules *rules = step->kernel->rules;
    return rules && rules->join ? rules->join(step) : (Join){ 0 };
}

bool rules_box(const Step *step, Box *box)
{
    const KernelRules *rules = step->kernel->rules;
    return rules && rules->box && rules->box(step, box);
}

bool rules_tiles(const Step *step)
{
    return step->kernel->rules && step->kernel->rules->tiles;
}

bool rules_moves(const Step *step)
{
    return step->kernel->rules && step->kernel->rules->moves;
}

const char *pair_suffix(const PairRule *pair, const Step *second)
{
    const char *name = second->kernel->name;
    const size_t length = strlen(pair->second);
    const bool begins = !strncmp(name, pair->second, length);
    return begins && name[length] == '_' && !strchr(name + length + 1, '_')
               ? name + length
               : NULL;
}

const PairRule *rules_pair(const Step *first, const Step *second)
{
    const KernelRules *rules = first->kernel->rules;
    const PairRule *pair = rules ? rules->pairs : NULL;
    if (first->fetch || second->fetch)
        return NULL;
    for (; pair && pair->second; pair++)
        if (pair_suffix(pair, second))
            return pair->fits(first, second) ? pair : NULL;
    return NULL;
}

bool rules_chunk(const Step *step, void *params, Chunk *chunk)
{
    const KernelRules *rules = step->kernel->rules;
    if (!rules || !rules->chunk)
        return false;
    *chunk = rules->chunk(params);
    return true;
}

int32_t operand_width(const Operand *operand)
{
    const int64_t bits = dtype_bits(operand->tensor->dtype);
    const int64_t pixel = operand->pixel * bits / 8;
    return pixel ? (int32_t)(operand->row_bytes / pixel) : 0;
}
