/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/write.h"

#include <inttypes.h>

#include "emit/arena_csv.h"
#include "emit/build_files.h"
#include "emit/former.h"
#include "emit/html.h"
#include "emit/report.h"
#include "emit/source.h"
#include "emit/updates.h"
#include "emit/weights.h"
#include "ir/lengths.h"
#include "ops/lower_graph.h"
#include "pipeline/lengths.h"
#include "pipeline/model_name.h"
#include "pipeline/rewrite.h"
#include "pipeline/stats.h"

/* ---- the C and the weights ---- */

static WeightsForm weights_form(Compile *compile)
{
    const WeightsForm asked = (WeightsForm)compile->options->weights;
    return weights_form_taken(compile->program, asked);
}

/* Where the weights are too large for the usual forms the user is told. */
static void warn_of_form(Compile *compile)
{
    const Program *program = compile->program;
    const char *name = model_name(compile);
    if (compile->options->weights == WEIGHTS_AUTO && !weights_linkable(program))
        warn_at(LOC_NONE,
                "%" PRIu64
                " bytes of weights cannot be linked into a program: they are "
                "in src/%s_weights.bin, for %s_run_with()",
                program->weight_bytes, name, name);
}

static SourceFacts source_facts(Compile *compile)
{
    const Options *options = compile->options;
    return (SourceFacts){
        .name = model_name(compile),
        .form = weights_form(compile),
        .model_sha256 = compile->model_sha256,
        .checks = options->checks,
        .selftest = build_files_selftest((unsigned)options->emit),
        .slots = options->slots,
        .updates = options->update,
        .group = compile->group,
    };
}

static Program *written_program(Compile *compile)
{
    return compile->lengths ? compile->lengths->all : compile->program;
}

void write_code(Compile *compile)
{
    const SourceFacts facts = source_facts(compile);
    emit_source(written_program(compile), compile->out, &facts);
}

void write_source(Compile *compile)
{
    const Options *options = compile->options;
    const SourceFacts facts = source_facts(compile);
    if (!compile->out)
        compile->out = output_begin(&compile->arena, options->output);
    warn_of_form(compile);
    write_code(compile);
    weights_emit(written_program(compile), compile->out, facts.name, facts.form,
                 !options->no_hash, compile->weights_sha256);
    build_files_emit(compile->program, compile->out, &facts,
                     (unsigned)options->emit);
}

/* ---- the reports ---- */

static void write_report(Compile *compile, const char *kind, Text text)
{
    const char *file =
        arena_printf(&compile->arena, "%s.%s", model_name(compile), kind);
    output_text(compile->out, file, text.at, text.n);
}

ManifestFacts manifest_facts(Compile *compile)
{
    const Options *options = compile->options;
    const char *hash = compile->model_sha256;
    return (ManifestFacts){
        .name = model_name(compile),
        .model_sha256 = *hash ? hash : NULL,
        .weights_form = "none",
        .target = options->target,
        .shape = compile->shape ? compile->shape : options->shape,
        .dim = options->dim,
        .kept = compile->kept,
        .variant_dim = compile->lengths ? lengths_dims(compile) : NULL,
        .from = options->from,
        .to = options->to,
        .constant = options->constant,
        .without = rewrite_without(compile),
        .io = options->io,
        .preprocess = options->preprocess,
        .state = options->state,
        .stream = options->stream,
        .updates = options->update,
        .shaping = options->shaping,
    };
}

static void write_manifest(Compile *compile)
{
    const char *hash = compile->weights_sha256;
    ManifestFacts facts = manifest_facts(compile);
    facts.weights_sha256 = *hash ? hash : NULL;
    facts.weights_form = weights_forms[weights_form(compile)];
    facts.files = files_list(compile->out, compile->group ? facts.name : NULL);
    Pieces pieces = { .arena = &compile->arena };
    pieces.file = output_create(
        compile->out, arena_printf(&compile->arena, "%s.json", facts.name));
    manifest_write(compile->program, &facts, NULL, pieces_sink(&pieces));
    pieces_flush(&pieces);
    file_close(pieces.file);
}

void write_reports(Compile *compile)
{
    const Options *options = compile->options;
    const Program *program = compile->program;
    const char *name = model_name(compile);
    Text report = report_text(program, name);
    if (options->update && program->blob)
        update_report(&report, program);
    write_report(compile, "txt", report);
    if (options->csv)
        write_report(compile, "csv", arena_csv(program));
    if (options->html)
        write_report(compile, "html", html_report(program, name));
    write_manifest(compile);
    if (!compile->group)
        files_forget(compile->out, &compile->arena, name, build_files_name);
}
