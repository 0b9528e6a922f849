/* SPDX-License-Identifier: Apache-2.0
 * What `inlay check` found of each model, and its forms for people and for CI. */
#ifndef INLAY_CLI_VERDICT_H
#define INLAY_CLI_VERDICT_H

#include "base/pieces.h"

enum {
    FIGURE_MACS = 4, /* the first ones are those of pipeline/limits.h */
    FIGURE_TRAFFIC,
    FIGURE_CODE,
    FIGURES
};
extern const char *const figure_names[FIGURES];
/* What their number is called in JSON. */
extern const char *const figure_keys[FIGURES];

typedef struct Figure {
    uint64_t value;
    uint64_t most;
    bool limited; /* is there a `most`? */
    bool unknown; /* there is no value: no limit holds */
} Figure;

typedef struct Verdict {
    const char *model;
    int status; /* of the model itself; not 0: there are no figures */
    Figure figure[FIGURES];
} Verdict;

typedef struct Verdicts {
    const Verdict *at;
    size_t n;
} Verdicts;

bool figure_holds(const Figure *figure);
bool verdict_holds(const Verdict *verdict);
bool verdicts_hold(const Verdicts *verdicts);
/* What is wrong with one figure. */
const char *verdict_complaint(Arena *arena, const Verdict *verdict, int i);

/* Values of --format, ended by NULL, in the order of verdicts_print()'s forms. */
extern const char *const verdict_formats[];
enum { FORMAT_TEXT, FORMAT_JSON };
void verdicts_print(Pieces *to, const Verdicts *verdicts, int format);

#endif
