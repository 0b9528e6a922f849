/* SPDX-License-Identifier: 0BSD */
//@ about
#include "model.h"

//@ includes

//@ weights

//@ params

//@ refs

//@ steps

//@ segments

//@ asserts

//@ check

//@ model

//@ entry
{
    void *base[MODEL_BASES];
//@ bases
//@ call
}
//@ run
