/* SPDX-License-Identifier: Apache-2.0
 * The table, and nothing but the table. */
#include "cli/explained.h"

#include <stddef.h>

static const Explained rows[] = {
    { "done", STATUS_OK, NULL, "All that was asked for is done.",
      "Nothing. Notes and warnings on stderr say what was assumed." },
    { "limit", STATUS_LIMIT, NULL,
      "A limit or a comparison that was asked for does not hold: "
      "--max-arena, --arena-limit, --expect, a baseline. Nothing "
      "is wrong with the model, and nothing was written.",
      "Allow more, or make the model smaller; `inlay analyze "
      "MODEL.onnx --curve` lists all plans with their sizes." },
    { "usage", STATUS_USAGE, NULL,
      "The command line is not understood, or does not fit the "
      "model.",
      "`inlay help COMMAND` lists what the command takes. Names "
      "that do not exist are answered with the nearest one." },
    { "malformed", STATUS_MALFORMED, NULL,
      "A file that was read is damaged, is of another kind, or "
      "contradicts itself.",
      "Check that the file is whole, and that ONNX itself takes "
      "it: `onnx.checker.check_model(path, full_check=True)` in "
      "Python." },
    { "no-input", STATUS_NO_INPUT, NULL,
      "A file that was named does not exist.",
      "Check the path. Relative ones count from the working "
      "folder, those of external data from the folder of the "
      "model." },
    { "unsupported", STATUS_UNSUPPORTED, NULL,
      "The model is well-formed, and holds something that Inlay "
      "does not do: an operator, a type, a shape that is not "
      "known. All of them are listed, not the first one alone.",
      "The help line of each names the option or the change that "
      "helps. `inlay ops` lists the operators." },
    { "bug", STATUS_INTERNAL, NULL,
      "Inlay made something that its own proof refuses. It is "
      "never your fault, and nothing was written.",
      "Please report it with the model, or with a small part of it "
      "that shows the same (--from, --to), and the command line." },
    { "memory", STATUS_MEMORY, NULL,
      "The compiler ran out of memory, or of the budget that "
      "--max-memory gives it.",
      "Raise --max-memory. Memory grows with the number of nodes, "
      "not with the weights." },
    { "cannot-create", STATUS_CANNOT_CREATE, NULL,
      "A folder or a file cannot be made.",
      "The folder that is to hold it must be writable. "
      "TMPDIR names the folder of temporary files." },
    { "io", STATUS_IO, NULL,
      "A file cannot be read or written any further: the disk is "
      "full or broken, or another program changed the file "
      "meanwhile.",
      "Free some space, and try again. The output folder is as it "
      "was." },
    { "config", STATUS_CONFIG, NULL,
      "Options, or the entries of a file of limits, contradict "
      "each other or the model.",
      "The message names the entry. docs/CI.md lists the keys of a "
      "list of limits." },
    { "open-dimension", STATUS_UNSUPPORTED,
      "dimension ... of input ... is open",
      "The file leaves a dimension of an input open, by name. Code "
      "for a device has fixed sizes, so that its memory is known.",
      "Say it once for all tensors that use the name: `--dim "
      "T=64`. The help line is the command to type next. `run` and "
      "`test` take it from files of values, but not from pictures." },
    { "open-shape", STATUS_UNSUPPORTED, "is open where its shape has N",
      "A dimension of an input is open and has no name.",
      "Give the shape as a whole: `--shape x=1x64`, or `--shape "
      "1x64` where there is one input. A capital gives a dimension a "
      "name, for bounds: `--shape 1xL --dim L=1..64`." },
    { "batch", STATUS_OK, "is open and taken as 1",
      "The first dimension of an input is open, as exporters leave "
      "it. It is the number of samples at a time, which is one on "
      "a device.",
      "Nothing, or `--batch N`." },
    { "shape-at-run-time", STATUS_UNSUPPORTED,
      "the shape of its result depends on values known only at run "
      "time",
      "An operator such as Reshape, Expand or Range gets its shape "
      "from an input of the model.",
      "Where it is always the same, make the input a constant: "
      "`--const shape=1,64`. Else declare the shape of the result "
      "in the model: sizes are then checked when it runs." },
    { "operator", STATUS_UNSUPPORTED, "operator ... is not supported",
      "There is no such operator in Inlay: it is one of the custom "
      "operators of an exporter or a runtime, or a rare one.",
      "Export without custom operators, or leave the part out: "
      "`--to TENSOR` ends before it, `--from TENSOR` begins behind "
      "it." },
    { "new-opset", STATUS_UNSUPPORTED,
      "uses operator set ...; the newest supported is",
      "The model was exported for a newer version of ONNX than "
      "this Inlay knows.",
      "Export it again with an older opset: "
      "`torch.onnx.export(..., opset_version=17)`." },
    { "types-differ", STATUS_MALFORMED, "inputs are of types ... and",
      "An operator that wants operands of one type has two.",
      "Put a Cast between them when exporting; `inlay dump "
      "MODEL.onnx` prints the types." },
    { "shapes-differ", STATUS_MALFORMED, "matrices ... and ... do not fit",
      "The operands of a product do not fit each other, often "
      "because --shape or --dim is not what the model was made "
      "for.",
      "Compare with the shapes of the training code; `inlay dump "
      "MODEL.onnx --after infer` prints those of all tensors." },
    { "declared-shape", STATUS_MALFORMED, "is declared as ..., but is",
      "The file says one shape of a tensor, its operators give "
      "another.",
      "Export again, or remove the declaration: `del "
      "model.graph.value_info[:]` in Python." },
    { "not-a-model", STATUS_MALFORMED,
      "the file is damaged, or is not an ONNX model",
      "What was read is no ONNX model, or only the beginning of "
      "one.",
      "Compare its size with that of the original, and fetch it "
      "again. Models of PyTorch (.pt), TensorFlow (.pb) and TFLite "
      "have to be converted to ONNX first." },
    { "git-lfs", STATUS_MALFORMED, "this is a Git LFS pointer",
      "The repository keeps its large files elsewhere, and was "
      "cloned without them.",
      "`git lfs pull` in that repository." },
    { "external-data", STATUS_NO_INPUT, "its external data, ... do not exist",
      "The weights are in a second file, which is not beside the "
      "model.",
      "Fetch it, too (often MODEL.onnx.data or MODEL.onnx_data); "
      "or name its folder: `--external-data-dir DIR`." },
    { "external-link", STATUS_MALFORMED,
      "its external data, ... are reached through a link or a file",
      "The file of the weights is a symbolic link, as in the cache "
      "of a model hub. A model that is not trusted could lead "
      "anywhere by one.",
      "Copy the files behind the links: `cp -L MODEL.onnx* DIR`." },
    { "file-missing", STATUS_NO_INPUT,
      "cannot open: ", "A file that was named cannot be opened.",
      "Check the path and the rights." },
    { "output-folder", STATUS_USAGE, "compile needs an output folder",
      "Inlay writes several files, and never beside your sources "
      "unasked.",
      "`inlay compile MODEL.onnx -o DIR`." },
    { "output-place", STATUS_CANNOT_CREATE, "cannot create: ",
      "The folder of the output cannot be made: one on the way to it "
      "is no folder, or may not be written.",
      "Name another one with -o." },
    { "name", STATUS_USAGE, "is no usable C identifier",
      "The prefix of all files and symbols is to be one that C, "
      "file systems and linkers take.",
      "`--name my_net`: lower-case letters, digits and _, a letter "
      "first." },
    { "nearest-name", STATUS_USAGE, "did you mean",
      "A name on the command line does not exist; the nearest one "
      "is suggested.",
      "Take it, or see the list: `inlay help`, `inlay passes`, "
      "`inlay dump MODEL.onnx`." },
    { "input-count", STATUS_USAGE, "the model has ..., ... were given",
      "`inlay run` wants a value for each input, in the order of "
      "the model.",
      "`--input FILE` for each of them; `zeros` and `random:1` are "
      "values, too. `inlay analyze MODEL.onnx` lists the inputs." },
    { "input-shape", STATUS_MALFORMED, "has shape ..., ... is [",
      "The file of an input holds values of another shape than the "
      "input.",
      "Save the array with the batch: `numpy.save(\"x.npy\", "
      "x[None])`; or say the shape of the file by --shape." },
    { "differs", STATUS_LIMIT, "DIFFERS in ... of ... values",
      "A result is not what --expect says, or the data set of the "
      "model.",
      "See how far it is off. Quantized models may be off by one "
      "step: `--atol`. `--per-step` with the values of all tensors "
      "names the first step that differs (docs/CI.md)." },
    { "arena-limit", STATUS_LIMIT, "the smallest arena found is ... bytes",
      "No plan is as small as --arena-limit, not even one that "
      "computes columns twice.",
      "The lines below the message list the tensors at the peak. A "
      "smaller input, int8 instead of float32, or inputs and "
      "results that lie with the caller make it smaller." },
    { "over-limit", STATUS_LIMIT, "bytes are needed, ... are allowed",
      "The limit of --max-arena, --max-weights or another --max- "
      "option does not hold.",
      "`inlay analyze MODEL.onnx` says what takes the bytes; "
      "`--arena-limit N` looks for a plan within N bytes of arena." },
    { "regions", STATUS_LIMIT, "the plan does not fit the regions",
      "The memories that --region names cannot hold all tensors "
      "that are alive together.",
      "A larger or another region, fewer pins, or `--arena-limit` "
      "with the sum of the regions." },
    { "memory-budget", STATUS_MEMORY, "the memory budget is",
      "The compiler needs more memory than --max-memory allows.", "Raise it." },
    { "rows", STATUS_UNSUPPORTED, "the model cannot take this input row by row",
      "--io=rows wants a model whose first step reads a few rows "
      "at a time; this one reads the input as a whole.",
      "`--io=arena` takes it whole, where the header says." },
    { "large-weights", STATUS_UNSUPPORTED, "cannot be linked into a program as",
      "Assemblers and linkers take less than 2 GiB of constants.",
      "`--weights=bin`, and map the file: NAME_run_with() takes "
      "its address." },
};

static const ExplainedRun runs[] = {
    { "E_ARG", 1, "The arena, the weights, an input or a result is NULL.",
      "Pass all that the prototype in the header names; only inputs and "
      "results that lie in the arena are left out." },
    { "E_ALIGN", 2, "The arena or the weights are not aligned.",
      "Declare the arena with NAME_ARENA_ALIGN, and place weights at "
      "NAME_WEIGHTS_ALIGN." },
    { "E_SHAPE", 3,
      "A value that was read at run time asks for a shape that the plan has "
      "no room for, or a length lies outside of its bounds.",
      "Check that input, or compile with larger bounds (--dim N=1..64)." },
    { "E_INDEX", 4,
      "An index that was read at run time lies outside of its "
      "tensor.",
      "Check the input that holds indices: tokens beyond the vocabulary, "
      "positions beyond the table." },
    { "MORE", 5,
      "No error: the run awaits the next row of its input, or its "
      "next slice.",
      "Call NAME_push() or NAME_step() again." },
    { "E_CHECK", 6,
      "A row that a step needs is not in the arena: the code was "
      "built with -DINLAY_CHECK, which looks.",
      "Something wrote into the arena during the run (an interrupt, another "
      "task, a stack that grew into it). If nothing did, please report it." },
    { "E_WEIGHTS", 7,
      "The weights are those of another model or layout, are "
      "cut off, or damaged.",
      "`inlay weights info FILE` says what they are, `inlay weights pack` "
      "makes them for code that is in the field." },
    { "E_SIZE", 8, "The arena is smaller than NAME_ARENA_SIZE.",
      "Make it as large as the header says." },
    { "E_READ", 9,
      "The weights could not be read: the function of the source "
      "that you gave failed.",
      "See what it returned; the run can be made again." },
    { "E_UPDATED", 10, "The run met weights that were being replaced.",
      "Make it again; its result is of no use." },
    { "E_BUSY", 11, "A tensor of the weights is used by the run that goes on.",
      "Put it later, between runs or behind the step that last reads it "
      "(the report lists them)." },
};

const ExplainedRun *explained_runs(int *count)
{
    *count = (int)(sizeof runs / sizeof *runs);
    return runs;
}

const Explained *explained_rows(int *count)
{
    *count = (int)(sizeof rows / sizeof *rows);
    return rows;
}
