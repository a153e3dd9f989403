//! The function of the fuzz target. A panic is a finding, and so is an input that takes much time
//! or memory.
//!
//! Inputs are text, so that seeds can be written by hand and most mutations stay nearly valid. The
//! test `controller/crates/config-restart/tests/fuzz_corpus.rs` includes `inputs` and runs all
//! stored inputs.

mod inputs;

pub use inputs::annotations;
