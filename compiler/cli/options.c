/* SPDX-License-Identifier: Apache-2.0
 * The tables, and nothing but the tables. */
#include "cli/options.h"

#include "cli/values.h"
#include "cli/verdict.h"
#include "emit/build_files.h"
#include "emit/updates.h"
#include "emit/weights.h"
#include "pipeline/plan_options.h"

enum CommandPlace {
    COMPILE,
    ANALYZE,
    CHECK,
    DIFF,
    STEPS,
    RUN,
    TEST,
    DUMP,
    PROVE,
    WEIGHTS,
    PLACE,
    OPS,
    PASSES,
    EXPLAIN,
    HELP,
    VERSION
};

static const Command commands[] = {
    [COMPILE] = {
        .name = "compile",
        .operand = "MODEL.onnx...",
        .what = "write C for the model into a folder (-o); several share one "
                "arena and kernels",
        .run = cmd_compile,
    },
    [ANALYZE] = {
        .name = "analyze",
        .operand = "MODEL.onnx",
        .what = "print the same figures, write nothing",
        .run = cmd_analyze,
    },
    [CHECK] = {
        .name = "check",
        .operand = "MODEL.onnx|@LIST.json...",
        .what = "a gate for CI: status 1 over the limits given",
        .run = cmd_check,
    },
    [DIFF] = {
        .name = "diff",
        .operand = "OLD.json NEW.json",
        .what = "what grew between two manifests, by tensor and node",
        .run = cmd_diff,
    },
    [STEPS] = {
        .name = "steps",
        .operand = "NAME.json WORDS",
        .what = "hold the words of a device's self-test to the manifest's",
        .run = cmd_steps,
    },
    [RUN] = {
        .name = "run",
        .operand = "MODEL.onnx",
        .what = "execute it here, on --input FILE ...",
        .run = cmd_run,
    },
    [TEST] = {
        .name = "test",
        .operand = "MODEL.onnx",
        .what = "run it on the test_data_set_0 ... beside it, and compare",
        .run = cmd_test,
    },
    [DUMP] = {
        .name = "dump",
        .operand = "MODEL.onnx",
        .what = "print the graph as text, or --initializers",
        .run = cmd_dump,
    },
    [PROVE] = {
        .name = "prove",
        .operand = "NAME.json MODEL.onnx",
        .what = "verify the plan in a manifest against the model",
        .run = cmd_prove,
    },
    [WEIGHTS] = {
        .name = "weights",
        .operand = "pack|delta|verify|info|diff|extract|sign-request|attach-signature FILE...",
        .what = "blobs of weights for code that is in the field",
        .run = cmd_weights,
    },
    [PLACE] = {
        .name = "place",
        .operand = "FILE.csv",
        .what = "the offset planner alone, on MiniMalloc's CSV",
        .run = cmd_place,
    },
    [OPS] = {
        .name = "ops",
        .operand = "",
        .what = "list the supported operators",
        .run = cmd_ops,
    },
    [PASSES] = {
        .name = "passes",
        .operand = "",
        .what = "list the rewritings of the graph, in their order",
        .run = cmd_passes,
    },
    [EXPLAIN] = {
        .name = "explain",
        .operand = "[STATUS|MESSAGE]",
        .what = "what an exit status, a message or a code of a run means",
        .run = cmd_explain,
    },
    [HELP] = {
        .name = "help",
        .operand = "[COMMAND]",
        .what = "print the commands, or the options of one",
        .run = cmd_help,
    },
    [VERSION] = {
        .name = "version",
        .operand = "",
        .what = "print the version",
        .run = cmd_version,
    },
};

#define ON(command) (1u << (command))
#define RUNS (ON(RUN) | ON(TEST))
#define PLANS (ON(COMPILE) | ON(ANALYZE) | ON(CHECK) | RUNS)
#define MODELS (PLANS | ON(DUMP))
/* Data sets are of whole models. */
#define PARTS (MODELS & ~ON(TEST))
#define FILES (MODELS | ON(PROVE) | ON(WEIGHTS))
#define LISTS (ON(OPS) | ON(PASSES) | ON(EXPLAIN) | ON(HELP))
#define ALL (FILES | ON(DIFF) | ON(STEPS) | ON(PLACE) | LISTS | ON(VERSION))

static const char *const plan_values[] = { "simple", "order", "overlap",
                                           "stream", NULL };
static const char *const goal_values[] = { "ram", "balanced", "speed", NULL };
static const char *const type_values[] = { "file", "float32", NULL };
static const char *const palette_values[] = { "4", "16", NULL };
static const char *const load_values[] = { "stream", "eager", NULL };

#define AT(member) offsetof(Options, member)
#define FLAG(text, char, for, member, what) \
    { text, char, OPTION_FLAG, for, AT(member), NULL, NULL, 0, NULL, what \
    }
#define BYTES(text, for, member, what) \
    { text, 0, OPTION_BYTES, for, AT(member), "BYTES", NULL, 0, NULL, what \
    }
#define TEXT(text, char, for, member, value, check, what) \
    { text, char, OPTION_TEXT, for, AT(member), value, NULL, 0, check, what \
    }
#define LIST(text, char, for, member, value, check, what) \
    { text, char, OPTION_LIST, for, AT(member), value, NULL, 0, check, what \
    }
#define CHOICE(text, for, member, value, names, first, what) \
    { text, 0, OPTION_CHOICE, for, AT(member), value, names, first, NULL, what \
    }

static const OptionRow options[] = {
    TEXT("output", 'o', ON(COMPILE) | ON(RUN) | ON(WEIGHTS), output, "DIR",
         NULL, "where the output goes (weights: a file)"),
    TEXT("for", 0, ON(WEIGHTS), code, "NAME.json", NULL,
         "the manifest of the code that the blob is for"),
    TEXT("counter", 0, ON(WEIGHTS), counter, "N", value_count,
         "pack: the security counter; devices take no lower one than they had"),
    TEXT("golden", 0, ON(WEIGHTS), golden, "FILE", NULL,
         "pack: bytes that go along, for the device's trial of the weights"),
    TEXT("against", 0, ON(WEIGHTS), against, "OLD.blob", NULL,
         "pack, delta, verify: the blob that devices have; only what changed "
         "since is written"),
    TEXT("key", 0, ON(WEIGHTS), key, "N", value_count,
         "sign-request, attach-signature: the number of the key (default: 0)"),
    TEXT("name", 'n', ON(COMPILE) | ON(ANALYZE), name, "NAME", NULL,
         "prefix of files and symbols (default: from the file's name)"),
    LIST("shape", 0, MODELS, shape, "INPUT=1x3x224x224", value_shape,
         "dimensions of a graph input (scalar: none); of the only one: --shape "
         "1x3x224x224; a capital is a name for --dim: 1xLx80"),
    LIST("dim", 0, MODELS, dim, "SYMBOL=N", value_dim,
         "a symbolic dimension, everywhere; 1..64: each run is given its "
         "length within these bounds; PAST+1: it follows others"),
    TEXT("batch", 0, MODELS, batch, "N", value_batch,
         "the batch, where it is open (default: 1)"),
    LIST("const", 0, FILES, constant, "INPUT=FILE.pb", value_pair,
         "a graph input becomes a constant: a TensorProto file, or numbers "
         "(sr=16000, axes=0,1)"),
    LIST("from", 0, PARTS, from, "TENSOR", NULL,
         "the part of the model behind this tensor, which becomes an input"),
    LIST("to", 0, PARTS, to, "TENSOR", NULL,
         "the part before this tensor, which becomes a result"),
    LIST("input", 'i', ON(RUN), input, "FILE", NULL,
         "a graph input's value, in order: .pb (TensorProto), .npy, .csv, "
         ".wav, .png, .pgm, .ppm; zeros, random:SEED; or all in one .npz"),
    LIST("expect", 0, ON(RUN), expect, "FILE", NULL,
         "what a result is to be, in order, or all in one .npz; status 1 where "
         "it is not"),
    FLAG("per-step", 0, ON(RUN), per_step,
         "compare the values of the .npz by name, each with the step that "
         "makes it: the first that differs"),
    TEXT("top", 0, ON(RUN), top, "K", value_top,
         "of each result the K largest values along its last dimension"),
    TEXT("labels", 0, ON(RUN), labels, "FILE", NULL,
         "their names, a line each (default: --top 5)"),
    TEXT("rtol", 0, RUNS, rtol, "X", value_tolerance,
         "how far a result may be off, as a part of it (default: 1e-3; of "
         "16-bit floats 1e-2)"),
    TEXT("atol", 0, RUNS, atol, "X", value_tolerance,
         "and whatever its size (default: 1e-5; of these 1e-4)"),
    FLAG("npy", 0, ON(RUN), npy, "write results as .npy instead of .pb (-o)"),
    LIST("io", 0, MODELS, io, "FORM", NULL,
         "where inputs and results lie: caller, arena, rows; of one: "
         "in0=arena, NAME=rows"),
    LIST("preprocess", 0, PARTS, preprocess, "INPUT=TYPE,...", value_preprocess,
         "an input comes as the sensor gives it: uint8, int8, uint16, int16; "
         "hwc; the model gets (raw - mean) * scale: "
         "x=uint8,hwc,mean=127.5,scale=1/127.5"),
    LIST("state", 0, PLANS & ~ON(TEST), state, "OUT=IN", value_pair,
         "a result that is an input of the next run: it stays in the arena"),
    LIST("stream", 0, PARTS, stream, "INPUT:AXIS:HOP[:endless]", value_stream,
         "a run takes HOP new steps along AXIS of an input and computes only "
         "what is new; endless: the signal takes the place of padding"),
    FLAG("preserve-input", 0, PLANS, preserve_input,
         "inputs in the arena are as they were after a run"),
    FLAG("slices", 0, PLANS, slices,
         "a run may be made in slices: NAME_begin(), then NAME_step() for so "
         "many units"),
    TEXT("threads", 0, PLANS, threads, "N[:WORK]", value_threads,
         "NAME_run_mt() shares the units of large steps among up to N threads "
         "of the caller; large: so many multiplications"),
    LIST("region", 0, PLANS, region, "NAME:SIZE[:COST]", region_check,
         "a memory instead of one arena: bytes (K, M), and what a byte read or "
         "written costs"),
    LIST("pin", 0, PLANS, pin, "TENSOR=REGION", value_pair,
         "a tensor of the model lies in that region"),
    LIST("concurrent", 0, ON(COMPILE), concurrent, "A,B", NULL,
         "of several models, these, by name, are alive at once; else they run "
         "one after the other. --name, --shape, --io and what else is of one "
         "model stand behind it"),
    TEXT("cache", 0, ON(COMPILE), cache, "DIR", NULL,
         "keeps what was written, and takes it where nothing has changed"),
    TEXT("depfile", 0, ON(COMPILE), depfile, "FILE", NULL,
         "for make and ninja: the files that were read, as a rule of Make"),
    TEXT("depfile-target", 0, ON(COMPILE), depfile_target, "FILE", NULL,
         "what the rule says depends on them (default: DIR/NAME.json)"),
    CHOICE("weights", ON(COMPILE), weights, "FORM", weights_forms, WEIGHTS_AUTO,
           "form of the weights"),
    FLAG("code-weights", 0, PLANS, code_weights,
         "weights are coded without loss where that saves flash, and decoded "
         "into a window of the arena before a step takes them"),
    CHOICE("palette", PLANS, palette, "VALUES", palette_values, PALETTES_OF_4,
           "each output channel of a weight has so many values, those nearest "
           "to its own, where that is smaller; the report says how far they "
           "are off (--code-weights)"),
    BYTES("window", PLANS, window,
          "the weights are read through a window of the arena of so many bytes "
          "(--weights=stream), or decoded into one (--code-weights; default: "
          "8K)"),
    BYTES("resident", PLANS, resident,
          "bytes of weights that stay in the code all the same (--window)"),
    FLAG("slots", 0, ON(COMPILE), slots,
         "write inlay_slots.c, which keeps two blobs of weights in flash and "
         "takes new ones, and devices with it in examples/device, for Linux "
         "or as --emit says (--weights=blob or stream)"),
    CHOICE("update", ON(COMPILE), update, "POLICY", update_policies, 0,
           "tensors may be replaced while runs use them: dirty-tag reports "
           "runs that met two versions, fence keeps tensors in use "
           "(--weights=blob)"),
    { "emit", 0, OPTION_SET, ON(COMPILE), AT(emit), "KIND,...", build_kinds, 0,
      NULL,
      "files of build systems beside the code (default: cmake,meson,example); "
      "selftest: a word for each step, which `inlay steps` reads" },
    CHOICE(
        "weights-type", PLANS, weights_type, "TYPE", type_values, 0,
        "of the weights of products, convolutions and recurrent layers: file, "
        "as narrow as in the model (default); float32: more flash, at times "
        "faster"),
    TEXT("target", 0, PLANS, target, "TARGET", value_target,
         "what the code is for: host, cortex-m4, ...: how weights are packed, "
         "and the machine of --weights=obj"),
    BYTES("arena-limit", PLANS, arena_limit,
          "the cheapest plan within so many bytes (K, M); status 1 if there is "
          "none"),
    FLAG("curve", 0, ON(ANALYZE), curve,
         "all plans from the cheapest to the smallest, recomputation included"),
    CHOICE("plan", PLANS, plan, "LEVEL", plan_values, PLAN_SIMPLE,
           "how far the planner goes"),
    CHOICE("optimize", PLANS, optimize, "GOAL", goal_values, PLAN_RAM,
           "ram: the smallest arena (default); balanced: what costs next to "
           "nothing; speed: layer "
           "by layer"),
    TEXT("effort", 0, PLANS | ON(PLACE), effort, "N", value_effort,
         "how long to look for the plan: N times the usual work, 0 a tenth "
         "(default: 1)"),
    BYTES("max-arena", ON(COMPILE) | ON(CHECK), max_arena,
          "most bytes of arena; status 1 beyond it"),
    BYTES("max-weights", ON(COMPILE) | ON(CHECK), max_weights,
          "most bytes of weights; status 1 beyond it"),
    BYTES("max-ram", ON(COMPILE) | ON(CHECK), max_ram,
          "most bytes of RAM in all: arena, stack, inputs and results; status "
          "1 beyond"),
    BYTES("max-stack", ON(COMPILE) | ON(CHECK), max_stack,
          "most bytes of stack, for a --target where it is known; status 1 "
          "beyond"),
    BYTES("max-macs", ON(CHECK), max_macs,
          "most multiplications and additions; status 1 beyond"),
    BYTES("max-traffic", ON(CHECK), max_traffic,
          "most bytes that a run reads and writes; status 1 beyond"),
    BYTES("max-code", ON(CHECK), max_code,
          "most bytes of code, as --cc makes it; status 1 beyond"),
    TEXT("cc", 0, ON(CHECK), cc, "COMMAND", NULL,
         "compile the generated C with that compiler and its options: "
         "'arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -Os'"),
    TEXT("baseline", 0, ON(CHECK), baseline, "FILE.json", NULL,
         "what check --json printed before: nothing may be more than it was"),
    CHOICE("format", ON(CHECK), format, "FORM", verdict_formats, FORMAT_TEXT,
           "form of the verdicts"),
    BYTES("max-memory", FILES | ON(PLACE), max_memory,
          "budget of the compiler's own memory; status 71 beyond it"),
    CHOICE("load", FILES, load, "WAY", load_values, LOAD_STREAM,
           "how files are read"),
    TEXT("external-data-dir", 0, FILES, external_dir, "DIR", NULL,
         "folder of external data (default: the model's)"),
    FLAG("no-external-data", 0, FILES, no_external, "refuse external data"),
    LIST("without", 0, MODELS, without, "PASS", value_optional_pass,
         "leave out an optional pass"),
    TEXT("after", 0, ON(DUMP), dump_after, "PASS", value_pass,
         "the graph as it is after that pass"),
    FLAG("initializers", 0, ON(DUMP), initializers,
         "the constants and where they lie"),
    FLAG("markdown", 0, ON(OPS) | ON(EXPLAIN), markdown,
         "as a page of the documentation"),
    BYTES("capacity", ON(PLACE), capacity, "most bytes; status 1 beyond it"),
    FLAG("checks", 0, ON(COMPILE), checks,
         "write NAME_plan_check.h, with which -DINLAY_CHECK makes the code "
         "watch its "
         "plan"),
    FLAG("no-hash", 0, ON(COMPILE), no_hash,
         "leave out the SHA-256 of the weights"),
    FLAG("hash-model", 0, ON(COMPILE) | ON(ANALYZE), hash_model,
         "put the SHA-256 of the model into the manifest"),
    FLAG("quiet", 'q', ON(COMPILE), quiet, "print no summary"),
    FLAG("stats", 0, ON(COMPILE) | ON(ANALYZE), stats,
         "print memory, bytes moved and time per stage"),
    FLAG("advice", 0, ON(COMPILE) | ON(ANALYZE), advice,
         "other options are tried, and what each would save is said"),
    FLAG("csv", 0, ON(COMPILE) | ON(ANALYZE), csv,
         "the arena's map in MiniMalloc's form: analyze prints it, compile "
         "writes NAME.csv"),
    FLAG("html", 0, ON(COMPILE) | ON(ANALYZE) | ON(DIFF), html,
         "the report to look at: analyze and diff print it, compile writes "
         "NAME.html"),
    FLAG("json", 'j',
         ON(ANALYZE) | ON(COMPILE) | ON(CHECK) | ON(DIFF) | ON(STEPS) |
             ON(PROVE) | LISTS,
         json, "results as JSON on standard output"),
    { "help", 'h', OPTION_HELP, ALL, 0, NULL, NULL, 0, NULL,
      "print the command's options" },
    { "version", 'V', OPTION_VERSION, ALL, 0, NULL, NULL, 0, NULL,
      "print the version" },
};

/* The rest of what a row cannot say. */
static const OptionRule rules[] = {
    { "analyze", "csv", "json", RULE_EXCLUDES, NULL },
    { "analyze", "html", "json", RULE_EXCLUDES, NULL },
    { "diff", "html", "json", RULE_EXCLUDES, NULL },
    { "analyze", "csv", "html", RULE_EXCLUDES, NULL },
    { "analyze", "csv", "stats", RULE_EXCLUDES, NULL },
    { "analyze", "csv", "curve", RULE_EXCLUDES, NULL },
    { "analyze", "html", "stats", RULE_EXCLUDES, NULL },
    { "analyze", "hash-model", "json", RULE_NEEDS, NULL },
    { "run", "npy", "output", RULE_NEEDS, NULL },
    { "run", "rtol", "expect", RULE_NEEDS, NULL },
    { "run", "atol", "expect", RULE_NEEDS, NULL },
    { "run", "top", "output", RULE_EXCLUDES, NULL },
    { "run", "top", "expect", RULE_EXCLUDES, NULL },
    { "run", "labels", "output", RULE_EXCLUDES, NULL },
    { "run", "labels", "expect", RULE_EXCLUDES, NULL },
    { "run", "per-step", "expect", RULE_NEEDS, NULL },
    { "run", "per-step", "output", RULE_EXCLUDES, NULL },
    { "run", "per-step", "stream", RULE_EXCLUDES, NULL },
    { "run", "per-step", "plan", RULE_EXCLUDES, NULL },
    { "run", "per-step", "optimize", RULE_EXCLUDES, NULL },
    { "run", "per-step", "effort", RULE_EXCLUDES, NULL },
    { "run", "per-step", "arena-limit", RULE_EXCLUDES, NULL },
    { "run", "per-step", "region", RULE_EXCLUDES, NULL },
    { "run", "per-step", "io", RULE_EXCLUDES, NULL },
    { "compile", "depfile-target", "depfile", RULE_NEEDS, NULL },
    { "compile", "slots", "weights", RULE_NEEDS, "blob|stream" },
    { "compile", "update", "weights", RULE_NEEDS, "blob" },
    { "compile", "update", "threads", RULE_EXCLUDES, NULL },
    { "compile", "update", "slices", RULE_EXCLUDES, NULL },
    { "compile", "window", "weights|code-weights", RULE_NEEDS, "stream" },
    { "compile", "code-weights", "weights", RULE_EXCLUDES, "blob|stream" },
    { NULL, "palette", "code-weights", RULE_NEEDS, NULL },
    { NULL, "code-weights", "resident", RULE_EXCLUDES, NULL },
    { NULL, "code-weights", "threads", RULE_EXCLUDES, NULL },
    { NULL, "resident", "window", RULE_NEEDS, NULL },
    { NULL, "window", "threads", RULE_EXCLUDES, NULL },
    { "check", "format", "json", RULE_EXCLUDES, NULL },
    { "compile", "quiet", "json", RULE_EXCLUDES, NULL },
    { "compile", "cache", "stats", RULE_EXCLUDES, NULL },
    { NULL, "markdown", "json", RULE_EXCLUDES, NULL },
    { "dump", "without", "after", RULE_NEEDS, NULL },
    { "dump", "io", "after", RULE_NEEDS, NULL },
    { "dump", "preprocess", "after", RULE_NEEDS, NULL },
    { "dump", "stream", "after", RULE_NEEDS, NULL },
    { "dump", "batch", "after", RULE_NEEDS, NULL },
    { NULL, "pin", "region", RULE_NEEDS, NULL },
    { NULL, "external-data-dir", "no-external-data", RULE_EXCLUDES, NULL },
};

bool option_shapes(const OptionRow *row)
{
    const uint32_t both = ON(COMPILE) | ON(CHECK);
    return (row->commands & both) == both && !(row->commands & ON(PROVE)) &&
           row->kind < OPTION_HELP;
}

bool option_of_entry(const OptionRow *row)
{
    return option_shapes(row) ||
           (row->at == AT(constant) && row->kind == OPTION_LIST);
}

bool option_of_model(const OptionRow *row)
{
    static const size_t of_model[] = { AT(name),  AT(shape),      AT(dim),
                                       AT(from),  AT(to),         AT(constant),
                                       AT(io),    AT(preprocess), AT(state),
                                       AT(stream) };
    for (size_t i = 0; i < sizeof of_model / sizeof *of_model; i++)
        if (row->at == of_model[i] && row->kind < OPTION_HELP)
            return true;
    return false;
}

const OptionRule *option_rules(int *count)
{
    *count = (int)(sizeof rules / sizeof *rules);
    return rules;
}

const Command *command_rows(int *count)
{
    *count = (int)(sizeof commands / sizeof *commands);
    return commands;
}

const OptionRow *option_rows(int *count)
{
    *count = (int)(sizeof options / sizeof *options);
    return options;
}
