//! What each fuzz target does with its bytes. A panic is a finding, and so is an input that takes
//! long or much memory.
//!
//! Inputs are text, so that seeds can be written by hand, and so that a mutation of one stays
//! nearly valid. The test `harness/tests/fuzz_corpus.rs` includes `inputs` and plays all kept
//! inputs again.

mod inputs;

pub use inputs::{annotations, audit, case, recording, requests, results};
