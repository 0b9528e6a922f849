/* SPDX-License-Identifier: Apache-2.0 */
#include "emit/weights.h"

#include <inttypes.h>
#include <string.h>

#include "base/size.h"
#include "emit/text.h"

enum { ALIGN = 16, LARGEST_TEXT = 256 * 1024 };

static const char *const names[] = { "auto", "c", "incbin", "bin", "obj" };

WeightsForm weights_form_of(const char *name)
{
    if (!name) return WEIGHTS_AUTO;
    for (int i = 0; i < 5; i++)
        if (!strcmp(names[i], name)) return (WeightsForm)i;
    fail_at(STATUS_USAGE, LOC_NONE, "--weights takes auto, c, incbin, bin or obj", "unknown form of weights: \"%s\"", name);
}

const char *weights_form_name(WeightsForm f) { return names[f]; }

void weights_layout(Program *p)
{
    uint64_t at = 0;
    for (size_t i = 0; i < p->weight.n; i++) {
        WeightSlot *w = p->weight.at + i;
        w->bytes = (uint64_t)tensor_bytes(w->tensor);
        w->offset = at;
        w->tensor->offset = (int64_t)at;
        at = size_align(at + w->bytes, ALIGN);
    }
    p->weight_bytes = at;
}

WeightsForm weights_emit(Program *p, Output *o, const char *name, WeightsForm form, const char *target, bool hash, char sha256[65])
{
    Arena *a = p->graph->arena;
    (void)target, (void)hash;
    sha256[0] = 0;
    if (form == WEIGHTS_AUTO) form = p->weight_bytes <= LARGEST_TEXT ? WEIGHTS_C : WEIGHTS_INCBIN;
    Text t = text_new(a);
    text_print(&t, "/* SPDX-License-Identifier: 0BSD */\n#include <stdint.h>\n\n");
    if (form == WEIGHTS_C) {
        text_print(&t, "extern const uint32_t %s_weights_data[];\nconst uint32_t %s_weights_data[] __attribute__((aligned(16))) = {\n", name, name);
        for (size_t i = 0; i < p->weight.n; i++) {
            const WeightSlot *w = p->weight.at + i;
            const unsigned char *v = recipe_values(p->graph->store, a, w->tensor->value);
            for (uint64_t k = 0; k < size_align(w->bytes, ALIGN); k += 4) {
                uint32_t word = 0;
                memcpy(&word, v + k, k >= w->bytes ? 0 : w->bytes - k < 4 ? w->bytes - k : 4);
                text_print(&t, "0x%08" PRIx32 ",%s", word, k % 32 == 28 ? "\n" : "");
            }
        }
        text_print(&t, "0 };\n");
    } else {
        File *f = output_create(o, arena_printf(a, "src/%s_weights.bin", name));
        for (size_t i = 0; i < p->weight.n; i++) recipe_write(p->graph->store, p->weight.at[i].tensor->value, f, p->weight.at[i].offset);
        text_print(&t, "__asm__(\".section .rodata\\n.balign 64\\n.global %s_weights_data\\n%s_weights_data:\\n.incbin \\\"%s_weights.bin\\\"\\n.zero 64\\n.text\\n\");\n", name, name, name);
    }
    output_text(o, arena_printf(a, "src/%s_weights.c", name), t.at, t.n);
    return form;
}
