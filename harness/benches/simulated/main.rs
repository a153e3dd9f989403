//! Benchmarks that need only the simulated cluster: what a user waits for ([`waits`]), large cases
//! ([`growth`]), and instructions ([`instructions`]).
//!
//! They run the program that LOCKSTEP_PROGRAM names, so they need not be optimised themselves;
//! `scripts/performance` builds it.

mod growth;
mod instructions;
mod program;
#[path = "../selection/mod.rs"]
mod selection;
mod waits;

use selection::{Benchmark, Outcome};

const BENCHMARKS: [Benchmark; 3] = [
    Benchmark { name: "instructions", run: instructions::run },
    Benchmark { name: "waits", run: waits::run },
    Benchmark { name: "growth", run: growth::run },
];

fn main() -> Outcome {
    selection::run(&BENCHMARKS)
}
