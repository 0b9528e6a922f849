/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"

#include <popt.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bytes.h"

static const Command commands[] = {
    { "compile", "MODEL.onnx", "write C for the model into a folder (-o)", cmd_compile, true },
    { "analyze", "MODEL.onnx", "print the same figures, write nothing", cmd_analyze, true },
    { "check", "MODEL.onnx", "a gate: status 1 over --max-arena or --max-weights", cmd_check,
      true },
    { "run", "MODEL.onnx", "execute it here, on --input FILE.pb ...", cmd_run, true },
    { "dump", "MODEL.onnx", "print the graph as text, or --initializers", cmd_dump, true },
    { "ops", "", "list the supported operators", cmd_ops, false },
    { "prove", "NAME.json MODEL.onnx", "verify the plan in a manifest against the model", cmd_prove,
      false },
    { "place", "FILE.csv", "the offset planner alone, on MiniMalloc's CSV", cmd_place, false },
};

static Options parsed;
static struct {
    char *arena_limit, *max_arena, *max_weights, *max_memory, *capacity;
} size;

static const struct SizeRow {
    const char *name;
    char **text;
    const long long **bytes;
} sizes[] = {
    { "--arena-limit", &size.arena_limit, &parsed.arena_limit },
    { "--max-arena", &size.max_arena, &parsed.max_arena },
    { "--max-weights", &size.max_weights, &parsed.max_weights },
    { "--max-memory", &size.max_memory, &parsed.max_memory },
    { "--capacity", &size.capacity, &parsed.capacity },
};
enum { SIZES = sizeof sizes / sizeof *sizes };

static const struct poptOption table[] = {
    { "output", 'o', POPT_ARG_STRING, &parsed.output, 0, "where the output goes", "DIR" },
    { "name", 'n', POPT_ARG_STRING, &parsed.name, 0,
      "prefix of files and symbols (default: from the file's name)", "NAME" },
    { "shape", 0, POPT_ARG_ARGV, &parsed.shape, 0, "dimensions of a graph input",
      "INPUT=1x3x224x224" },
    { "dim", 0, POPT_ARG_ARGV, &parsed.dim, 0, "a symbolic dimension, everywhere", "SYMBOL=N" },
    { "const", 0, POPT_ARG_ARGV, &parsed.constant, 0,
      "a graph input becomes a constant (a TensorProto file)", "INPUT=FILE.pb" },
    { "input", 'i', POPT_ARG_ARGV, &parsed.input, 0,
      "run: a graph input's value, in order (a TensorProto file)", "FILE.pb" },
    { "io", 0, POPT_ARG_ARGV, &parsed.io, 0,
      "where inputs and results lie: caller, arena, rows; of one: in0=arena, NAME=rows", "FORM" },
    { "preserve-input", 0, POPT_ARG_NONE, &parsed.preserve_input, 0,
      "inputs in the arena are as they were after a run", NULL },
    { "region", 0, POPT_ARG_ARGV, &parsed.region, 0,
      "a memory instead of one arena: bytes (K, M), and what a byte read or written costs",
      "NAME:SIZE[:COST]" },
    { "pin", 0, POPT_ARG_ARGV, &parsed.pin, 0, "a tensor of the model lies in that region",
      "TENSOR=REGION" },
    { "weights", 0, POPT_ARG_STRING, &parsed.weights, 0,
      "form of the weights: auto, c, incbin, bin or obj", "FORM" },
    { "target", 0, POPT_ARG_STRING, &parsed.target, 0,
      "what the code is for: generic, cortex-m4, ...", "TARGET" },
    { "arena-limit", 0, POPT_ARG_STRING, &size.arena_limit, 0,
      "the cheapest plan within so many bytes (K, M); status 1 if there is none", "BYTES" },
    { "curve", 0, POPT_ARG_NONE, &parsed.curve, 0,
      "analyze: all plans from the cheapest to the smallest, recomputation included", NULL },
    { "plan", 0, POPT_ARG_STRING, &parsed.plan, 0,
      "how far the planner goes: simple, order, overlap or stream", "LEVEL" },
    { "optimize", 0, POPT_ARG_STRING, &parsed.optimize, 0,
      "ram: the smallest arena (default); balanced: what costs next to nothing; speed: layer by "
      "layer",
      "GOAL" },
    { "max-arena", 0, POPT_ARG_STRING, &size.max_arena, 0, "check: most bytes of arena", "BYTES" },
    { "max-weights", 0, POPT_ARG_STRING, &size.max_weights, 0, "check: most bytes of weights",
      "BYTES" },
    { "max-memory", 0, POPT_ARG_STRING, &size.max_memory, 0,
      "budget of the compiler's own memory; status 71 beyond it", "BYTES" },
    { "load", 0, POPT_ARG_STRING, &parsed.load, 0, "how files are read: stream or eager", "WAY" },
    { "external-data-dir", 0, POPT_ARG_STRING, &parsed.external_dir, 0,
      "folder of external data (default: the model's)", "DIR" },
    { "no-external-data", 0, POPT_ARG_NONE, &parsed.no_external, 0, "refuse external data", NULL },
    { "without", 0, POPT_ARG_ARGV, &parsed.without, 0, "leave out an optional pass", "PASS" },
    { "after", 0, POPT_ARG_STRING, &parsed.dump_after, 0,
      "dump: the graph as it is after that pass", "PASS" },
    { "initializers", 0, POPT_ARG_NONE, &parsed.initializers, 0,
      "dump: the constants and where they lie", NULL },
    { "markdown", 0, POPT_ARG_NONE, &parsed.markdown, 0, "ops: as a page of the documentation",
      NULL },
    { "capacity", 0, POPT_ARG_STRING, &size.capacity, 0, "place: most bytes; status 1 beyond it",
      "BYTES" },
    { "no-hash", 0, POPT_ARG_NONE, &parsed.no_hash, 0, "leave out the SHA-256 of the weights",
      NULL },
    { "hash-model", 0, POPT_ARG_NONE, &parsed.hash_model, 0,
      "put the SHA-256 of the model into the manifest", NULL },
    { "stats", 0, POPT_ARG_NONE, &parsed.stats, 0, "print memory, bytes moved and time per stage",
      NULL },
    { "csv", 0, POPT_ARG_NONE, &parsed.csv, 0,
      "the arena's map in MiniMalloc's form: analyze prints it, compile writes NAME.csv", NULL },
    { "html", 0, POPT_ARG_NONE, &parsed.html, 0,
      "the report to look at: analyze prints it, compile writes NAME.html", NULL },
    { "json", 'j', POPT_ARG_NONE, &parsed.json, 0, "results as JSON on standard output", NULL },
    { "help", 'h', POPT_ARG_NONE, NULL, 'h', "print this", NULL },
    { "version", 'V', POPT_ARG_NONE, NULL, 'V', "print the version", NULL },
    POPT_TABLEEND
};

const Command *command_rows(int *count)
{
    *count = (int)(sizeof commands / sizeof *commands);
    return commands;
}

const Command *command_find(const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(commands[i].name, name))
            return commands + i;
    return NULL;
}

static void print_commands(FILE *f)
{
    fputs("Inlay turns an ONNX model into C for firmware.\n\n"
          "  inlay compile model.onnx -o out        C, weights, manifest and report in out/\n"
          "  inlay analyze model.onnx               how much arena, weights and work it "
          "takes\n\nCommands:\n",
          f);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        fprintf(f, "  inlay %-8s %-12s %s\n", commands[i].name, commands[i].operand,
                commands[i].what);
    fputc('\n', f);
}

static _Noreturn void misuse(poptContext popt, const char *what, const char *which)
{
    fprintf(stderr, "inlay: error: %s%s%s\n  help: `inlay --help` lists commands and options\n",
            what, which ? ": " : "", which ? which : "");
    poptFreeContext(popt);
    exit(STATUS_USAGE);
}

static void read_sizes(poptContext popt)
{
    static long long bytes[SIZES];
    for (int i = 0; i < SIZES; i++) {
        if (!*sizes[i].text)
            continue;
        const char *end = bytes_read(*sizes[i].text, bytes + i);
        if (!end || *end)
            misuse(popt, "no number of bytes (like 65536, 64K, 1M)", sizes[i].name);
        *sizes[i].bytes = bytes + i;
    }
}

const Command *options_parse(Options *o, int argc, const char **argv)
{
    parsed = (Options){ 0 };
    poptContext popt = poptGetContext("inlay", argc, argv, table, 0);
    poptSetOtherOptionHelp(popt, "COMMAND [OPTION...]");
    for (int r; (r = poptGetNextOpt(popt)) != -1;) {
        if (r < -1)
            misuse(popt, poptStrerror(r), poptBadOption(popt, POPT_BADOPTION_NOALIAS));
        if (r == 'h') {
            print_commands(stdout);
            poptPrintHelp(popt, stdout, 0);
        } else {
            printf("inlay %s (manifest schema 1)\n", INLAY_VERSION);
        }
        poptFreeContext(popt);
        exit(STATUS_OK);
    }
    read_sizes(popt);
    const char *name = poptGetArg(popt), *operand = name ? poptGetArg(popt) : NULL,
               *second = operand ? poptGetArg(popt) : NULL,
               *extra = second ? poptGetArg(popt) : NULL;
    if (!name) {
        print_commands(stderr);
        misuse(popt, "no command", NULL);
    }
    const Command *c = command_find(name);
    if (!c)
        misuse(popt, "unknown command", name);
    if (*c->operand && !operand)
        misuse(popt, "missing operand", c->operand);
    const bool two = strchr(c->operand, ' ') != NULL;
    if (two && !second)
        misuse(popt, "missing operand", c->operand);
    if (second && !two)
        extra = second;
    if (extra || (!*c->operand && operand))
        misuse(popt, "too many operands", extra ? extra : operand);
    if (two)
        parsed.manifest = strdup(operand);
    parsed.model = operand ? strdup(two ? second : operand) : NULL;
    *o = parsed;
    poptFreeContext(popt);
    return c;
}
