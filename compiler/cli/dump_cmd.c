/* SPDX-License-Identifier: Apache-2.0
 * dump: the graph as text, as it was read or after a pass. */
#include <string.h>

#include "cli/initializers.h"
#include "cli/options.h"
#include "emit/text.h"

static void put_value(Text *text, const Tensor *tensor)
{
    if (!tensor) {
        text_put(text, "-");
        return;
    }
    text_print(text, "%%%d \"", tensor->id);
    text_comment(text, tensor->name);
    text_print(text, "\" %s%s%s", dtype_name(tensor->dtype),
               shape_text(text->arena, &tensor->shape), tensor->value ? " const" : "");
}

static void put_attr(Text *text, const Attr *attr)
{
    text_put(text, " ");
    text_comment(text, attr->name);
    text_put(text, "=");
    if (attr->kind == ATTR_INT)
        text_print(text, "%lld", (long long)attr->i);
    else if (attr->kind == ATTR_FLOAT)
        text_print(text, "%g", (double)attr->f);
    else if (attr->kind == ATTR_STRING) {
        text_put(text, "\"");
        text_comment(text, attr->s);
        text_put(text, "\"");
    } else if (attr->kind == ATTR_INTS) {
        text_put(text, "[");
        for (int64_t i = 0; i < attr->n && i < 32; i++)
            text_print(text, "%s%lld", i ? "," : "", (long long)attr->ints[i]);
        text_put(text, attr->n > 32 ? ",...]" : "]");
    } else if (attr->kind == ATTR_FLOATS)
        text_print(text, "[%lld floats]", (long long)attr->n);
    else
        text_put(text, attr->kind == ATTR_GRAPH ? "{graph}" : "...");
}

static void put_node(Text *text, const Node *node)
{
    for (int i = 0; i < node->n_out; i++) {
        text_put(text, i ? ", " : "  ");
        put_value(text, node->out[i]);
    }
    text_print(text, "\n    = %s%s%s", node->domain, *node->domain ? "." : "", node->op_type);
    text_put(text, node->channels_last ? "(channels last)" : "");
    for (int i = 0; i < node->n_attr; i++)
        put_attr(text, node->attr + i);
    for (int i = 0; i < node->n_in; i++) {
        text_put(text, "\n      ");
        put_value(text, node->in[i]);
    }
    text_put(text, "\n");
}

static void put_list(Text *text, const char *what, Tensor *const *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        text_print(text, "%s %zu ", what, i);
        put_value(text, v[i]);
        for (int k = 0; k < v[i]->shape.rank; k++)
            if (v[i]->symbol[k] && *v[i]->symbol[k]) {
                text_print(text, " dim %d is ", k);
                text_comment(text, v[i]->symbol[k]);
            }
        text_put(text, "\n");
    }
}

void cmd_dump(Compile *compile)
{
    if (compile->options->dump_after)
        compile_passes(compile);
    if (compile->options->initializers) {
        initializers_print(compile);
        return;
    }
    const Graph *g = compile->graph;
    Text text = text_new(&compile->arena);
    text_print(&text, "opset %lld\n", (long long)graph_opset(g, ""));
    put_list(&text, "input", g->input.at, g->input.n);
    put_list(&text, "output", g->output.at, g->output.n);
    for (size_t i = 0; i < g->node.n; i++)
        put_node(&text, g->node.at[i]);
    pieces_put(&compile->results, text.at, text.n);
}
