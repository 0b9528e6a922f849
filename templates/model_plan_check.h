/* SPDX-License-Identifier: 0BSD */
//@ about
#ifndef MODEL_PLAN_CHECK_H
#define MODEL_PLAN_CHECK_H

/* The plan as -DINLAY_CHECK watches it while it runs (inlay_check.h): for tests on a host. */

/* Of each step: which rows of its operands it reads and writes; what is not named is 0. */
//@ rules {
static const struct inlay_rule rules0[] = {
    { .tensor = 2, .does = INLAY_WRITE, .rows = 1, .row = 12, .pitch = 12 }, /* "y" */
    { .tensor = 1, .does = INLAY_READ, .rows = 1, .row = 12, .pitch = 12 },  /* "x" */
};
//@ }
static const struct inlay_rule *const check_rule[] = {
//@ steps {
    rules0,
//@ }
};
static const int32_t check_rules[] = {
//@ counts {
    2,
//@ }
};

/* What is there before the first step (step -1), and what is not needed after a step. */
static const struct inlay_life check_life[] = {
//@ lives {
    { .step = 0, .base = INLAY_ARENA, .tensor = 2, .extent = 12, .bytes = 12 }, /* "y" */
//@ }
    { .step = -2 }
};

/* Where each memory begins when they are counted one behind the other, and the end of the last. */
static const size_t check_area[] = {
//@ areas {
    0u, 256u
//@ }
};
/* One for each byte. */
//@ tags {
static uint32_t check_tags[256];
//@ }

#endif
