// SPDX-License-Identifier: 0BSD
//! The C interface of the model model_name, as src/model.h has it: sizes, structures, functions.
//! Made by Inlay model_version; do not edit.
#![no_std]
use core::ffi::{c_int, c_void};

#@ sizes

#if MODEL_HAS_REGIONS
/// Where everything lies that changes at run time; each aligned to `ARENA_ALIGN`.
#[repr(C)]
pub struct Arenas {
#@ arenas
}

/// What the functions take as the arena.
pub type Memory = *const Arenas;
#else
/// Everything that changes at run time, aligned; functions take it as `arena.0.as_mut_ptr().cast()`.
#@ align
pub struct Arena(pub [u8; ARENA_SIZE]);

/// What the functions take as the arena.
pub type Memory = *mut c_void;
#endif

#[repr(C)]
pub struct Inputs {
#@ inputs
}

#[repr(C)]
pub struct Outputs {
#@ outputs
}

extern "C" {
#if MODEL_HAS_STATES
    /// All states become zeros: before the first run, and to begin anew.
    pub fn model_reset(arena: Memory) -> c_int;
#endif
#if MODEL_BY_ROWS
    /// NULL: no row is awaited.
    pub fn model_input_row(arena: Memory) -> *mut c_void;
#if MODEL_WEIGHTS_APART
#else
    pub fn model_start(arena: Memory, inputs: *const Inputs, outputs: *const Outputs) -> c_int;
    pub fn model_push(arena: Memory, inputs: *const Inputs, outputs: *const Outputs) -> c_int;
#endif
#if MODEL_HAS_WEIGHTS
    pub fn model_start_with(
        weights: *const c_void,
        arena: Memory,
        inputs: *const Inputs,
        outputs: *const Outputs,
    ) -> c_int;
    pub fn model_push_with(
        weights: *const c_void,
        arena: Memory,
        inputs: *const Inputs,
        outputs: *const Outputs,
    ) -> c_int;
#endif
#else
#if MODEL_WEIGHTS_APART
#else
    /// 0, or a code of `model.h`.
    pub fn model_run(arena: Memory, inputs: *const Inputs, outputs: *const Outputs) -> c_int;
#endif
#if MODEL_HAS_WEIGHTS
    /// The same with the weights at another place.
    pub fn model_run_with(
        weights: *const c_void,
        arena: Memory,
        inputs: *const Inputs,
        outputs: *const Outputs,
    ) -> c_int;
#endif
#endif
#if MODEL_HAS_WEIGHTS
#if MODEL_WEIGHTS_BLOB
#if MODEL_WEIGHTS_STREAM
    /// 0: it is a blob for this code, whole and undamaged. `blob` and `weights` are an `inlay_source` of `model.h`.
    pub fn model_weights_open(blob: *const c_void) -> c_int;
#else
    /// 0: it is a blob for this code, whole and undamaged; `weights` gets what the runs take.
    pub fn model_weights_open(blob: *const c_void, length: usize, weights: *mut *const c_void) -> c_int;
#endif
#else
    /// 0: these are the weights of this code, whole and undamaged. NULL: those linked in.
    pub fn model_weights_check(weights: *const c_void, length: usize) -> c_int;
#endif
#endif
}
