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
               shape_text(text->arena, &tensor->shape),
               tensor->value ? " const" : "");
}

/* Most numbers of an attribute that are printed. */
enum { MOST_NUMBERS = 32 };

static void put_quoted(Text *text, const char *words)
{
    text_put(text, "\"");
    text_comment(text, words);
    text_put(text, "\"");
}

static void put_numbers(Text *text, const Attr *attr)
{
    if (attr->list && !attr->ints) { /* a long list, not read yet */
        text_print(text, "[%lld ints]", (long long)attr->n);
        return;
    }
    text_put(text, "[");
    for (int64_t i = 0; i < attr->n && i < MOST_NUMBERS; i++)
        text_print(text, "%s%lld", i ? "," : "", (long long)attr->ints[i]);
    text_put(text, attr->n > MOST_NUMBERS ? ",...]" : "]");
}

static void put_attr(Text *text, const Attr *attr)
{
    text_put(text, " ");
    text_comment(text, attr->name);
    text_put(text, "=");
    switch (attr->kind) {
    case ATTR_INT:
        text_print(text, "%lld", (long long)attr->i);
        break;
    case ATTR_FLOAT:
        text_print(text, "%g", (double)attr->f);
        break;
    case ATTR_STRING:
        put_quoted(text, attr->s);
        break;
    case ATTR_INTS:
        put_numbers(text, attr);
        break;
    case ATTR_FLOATS:
        text_print(text, "[%lld floats]", (long long)attr->n);
        break;
    case ATTR_GRAPH:
        text_put(text, "{graph}");
        break;
    default:
        text_put(text, "...");
        break;
    }
}

static void put_node(Text *text, const Node *node)
{
    for (int i = 0; i < node->n_out; i++) {
        text_put(text, i ? ", " : "  ");
        put_value(text, node->out[i]);
    }
    text_put(text, "\n    = ");
    text_comment(text, node->domain);
    text_put(text, *node->domain ? "." : "");
    text_comment(text, node->op_type);
    text_put(text, node->channels_last ? "(channels last)" : "");
    for (int i = 0; i < node->n_attr; i++)
        put_attr(text, node->attr + i);
    for (int i = 0; i < node->n_in; i++) {
        text_put(text, "\n      ");
        put_value(text, node->in[i]);
    }
    text_put(text, "\n");
}

static void put_symbols(Text *text, const Tensor *tensor)
{
    for (int k = 0; k < tensor->shape.rank; k++) {
        const char *symbol = tensor->symbol[k];
        if (!symbol || !*symbol)
            continue;
        text_print(text, " dim %d is ", k);
        text_comment(text, symbol);
    }
}

static void put_list(Text *text, const char *what, Tensor *const *tensor,
                     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        text_print(text, "%s %zu ", what, i);
        put_value(text, tensor[i]);
        put_symbols(text, tensor[i]);
        text_put(text, "\n");
    }
}

void cmd_dump(Compile *compile)
{
    compile_to(compile,
               compile->options->dump_after ? STAGE_PASSES : STAGE_READ);
    if (compile->options->initializers) {
        initializers_print(compile);
        return;
    }
    const Graph *graph = compile->graph;
    Text text = text_new(&compile->arena);
    text_print(&text, "opset %lld\n", (long long)graph_opset(graph, ""));
    put_list(&text, "input", graph->input.at, graph->input.n);
    put_list(&text, "output", graph->output.at, graph->output.n);
    for (size_t i = 0; i < graph->node.n; i++)
        put_node(&text, graph->node.at[i]);
    pieces_put(&compile->results, text.at, text.n);
}
