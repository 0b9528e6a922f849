// SPDX-License-Identifier: 0BSD
//! Compiles the C of the model.
fn main() {
    println!("cargo:rerun-if-changed=src");
    let mut build = cc::Build::new();
    build.include("src").file("src/model.c");
#if MODEL_WEIGHTS_SOURCE
    build.file("src/model_weights.c");
#endif
#if MODEL_HAS_SLOTS
    build.file("src/inlay_slots.c");
    build.file("src/inlay_signed.c");
    build.file("src/inlay_delta.c");
#endif
#if MODEL_WEIGHTS_OBJECT
    build.object("src/model_weights.o");
#endif
    build.flag_if_supported("-std=c99").compile("model_target");
    if std::env::var("CARGO_CFG_TARGET_ENV").as_deref() != Ok("msvc") {
        println!("cargo:rustc-link-lib=m");
    }
}
