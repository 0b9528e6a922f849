/* SPDX-License-Identifier: Apache-2.0
 * dump: the graph as text, as it was read or after a pass. */
#include <string.h>

#include "cli/initializers.h"
#include "cli/options.h"
#include "emit/text.h"

static void put_value(Text *t, const Tensor *v)
{
    if (!v) {
        text_put(t, "-");
        return;
    }
    text_print(t, "%%%d \"", v->id);
    text_comment(t, v->name);
    text_print(t, "\" %s%s%s", dtype_name(v->dtype), shape_text(t->arena, &v->shape),
               v->value ? " const" : "");
}

static void put_attr(Text *t, const Attr *a)
{
    text_put(t, " ");
    text_comment(t, a->name);
    text_put(t, "=");
    if (a->kind == ATTR_INT)
        text_print(t, "%lld", (long long)a->i);
    else if (a->kind == ATTR_FLOAT)
        text_print(t, "%g", (double)a->f);
    else if (a->kind == ATTR_STRING) {
        text_put(t, "\"");
        text_comment(t, a->s);
        text_put(t, "\"");
    } else if (a->kind == ATTR_INTS) {
        text_put(t, "[");
        for (int64_t i = 0; i < a->n && i < 32; i++)
            text_print(t, "%s%lld", i ? "," : "", (long long)a->ints[i]);
        text_put(t, a->n > 32 ? ",...]" : "]");
    } else if (a->kind == ATTR_FLOATS)
        text_print(t, "[%lld floats]", (long long)a->n);
    else
        text_put(t, a->kind == ATTR_GRAPH ? "{graph}" : "...");
}

static void put_node(Text *t, const Node *n)
{
    for (int i = 0; i < n->n_out; i++) {
        text_put(t, i ? ", " : "  ");
        put_value(t, n->out[i]);
    }
    text_print(t, "\n    = %s%s%s", n->domain, *n->domain ? "." : "", n->op_type);
    text_put(t, n->channels_last ? "(channels last)" : "");
    for (int i = 0; i < n->n_attr; i++)
        put_attr(t, n->attr + i);
    for (int i = 0; i < n->n_in; i++) {
        text_put(t, "\n      ");
        put_value(t, n->in[i]);
    }
    text_put(t, "\n");
}

static void put_list(Text *t, const char *what, Tensor *const *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        text_print(t, "%s %zu ", what, i);
        put_value(t, v[i]);
        for (int k = 0; k < v[i]->shape.rank; k++)
            if (v[i]->symbol[k] && *v[i]->symbol[k]) {
                text_print(t, " dim %d is ", k);
                text_comment(t, v[i]->symbol[k]);
            }
        text_put(t, "\n");
    }
}

void cmd_dump(Compile *c)
{
    if (c->options->dump_after)
        compile_passes(c);
    if (c->options->initializers) {
        initializers_print(c);
        return;
    }
    const Graph *g = c->graph;
    Text t = text_new(&c->arena);
    text_print(&t, "opset %lld\n", (long long)graph_opset(g, ""));
    put_list(&t, "input", g->input.at, g->input.n);
    put_list(&t, "output", g->output.at, g->output.n);
    for (size_t i = 0; i < g->node.n; i++)
        put_node(&t, g->node.at[i]);
    pieces_put(&c->results, t.at, t.n);
}
