/* SPDX-License-Identifier: Apache-2.0
 * Calls of model-local functions become their bodies.
 * Requires: names resolved. Ensures: no node calls a function; sorted. */
#include <string.h>

#include "base/limits.h"
#include "base/size.h"
#include "ir/clone.h"
#include "passes/passes.h"

enum { MOST_LEVELS = 64 };

static const Function *find_function(const Graph *root, const Node *n)
{
    for (size_t i = 0; i < root->function.n; i++) {
        const Function *f = root->function.at[i];
        if (!strcmp(f->name, n->op_type) && !strcmp(f->domain, n->domain) &&
            !strcmp(f->overload, n->overload ? n->overload : ""))
            return f;
    }
    return NULL;
}

static Tensor *left_out(Tensor *t)
{
    return t ? t : CLONE_LEFT_OUT;
}

static void expand(Node *n, const Function *f)
{
    Graph *g = n->graph;
    if (n->level > MOST_LEVELS)
        fail_at(STATUS_MALFORMED, node_loc(n), NULL,
                "function %s calls itself, or functions nest too deep", f->name);
    if ((size_t)n->n_in > f->body->input.n || (size_t)n->n_out > f->body->output.n)
        fail_at(STATUS_MALFORMED, node_loc(n), NULL, "has more operands than function %s", f->name);
    Arena *scratch = &g->store->scratch;
    const ArenaMark mark = arena_mark(scratch);
    Tensor **image = NEW_ARRAY(scratch, Tensor *, f->body->next_id + 1);
    for (size_t i = 0; i < f->body->input.n; i++)
        image[f->body->input.at[i]->id] = left_out(node_in(n, (int)i));
    const CloneScope scope = { .image = image,
                               .caller = n,
                               .defaults = f->attr_defaults,
                               .n_defaults = f->n_attr_defaults,
                               .versions = f->body };
    Tensor **out = arena_copy(g->arena, n->out, (size_t)n->n_out * sizeof *out);
    graph_clone_into(g, f->body, &scope);
    graph_kill(n);
    for (int i = 0; i < n->n_out; i++) {
        Tensor *made = image[f->body->output.at[i]->id];
        if (out[i] && made && made != CLONE_LEFT_OUT)
            graph_take_name(g, out[i], made);
    }
    arena_release(scratch, mark);
}

/* Of a graph and those in it. */
static int64_t count_nodes(const Graph *g)
{
    int64_t n = 0;
    for (size_t i = 0; i < g->all.n; i++)
        n += (int64_t)g->all.at[i]->node.n;
    return n;
}

static int64_t most_nodes(const Graph *root)
{
    int64_t n = count_nodes(root);
    for (size_t i = 0; i < root->function.n; i++)
        n += count_nodes(root->function.at[i]->body);
    return i64_add(LIMIT_EXPANDED, i64_mul(LIMIT_EXPANDED_OF_NODE, n));
}

/* made: nodes so far. */
static void expand_graph(const Graph *root, Graph *g, int64_t *made, int64_t most)
{
    for (size_t i = 0; i < g->node.n; i++) {
        Node *n = g->node.at[i];
        const Function *f = n->dead ? NULL : find_function(root, n);
        if (!f)
            continue;
        *made += count_nodes(f->body) + 1;
        if (*made > most)
            fail_at(STATUS_UNSUPPORTED, node_loc(n), "the limit grows with the nodes of the file",
                    "functions expand to more than %lld nodes", (long long)most);
        expand(n, f);
    }
}

void pass_inline(Graph *root)
{
    if (!root->function.n)
        return;
    const int64_t most = most_nodes(root);
    int64_t made = 0;
    for (size_t k = 0; k < root->all.n; k++)
        expand_graph(root, root->all.at[k], &made, most);
    graph_count_uses(root);
    for (size_t k = root->all.n; k-- > 0;)
        graph_sort(root->all.at[k]);
}
