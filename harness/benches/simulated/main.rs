//! Benchmarks that need only the simulated cluster: of every case ([`collection`]) and of large ones
//! ([`growth`]), and instructions ([`instructions`]).
//!
//! ```text
//! cargo bench --package lockstep --bench simulated                  # all
//! cargo bench --package lockstep --bench simulated -- collection
//! ```

mod collection;
mod growth;
mod instructions;
#[path = "../selection/mod.rs"]
mod selection;

use selection::{Benchmark, Outcome};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BENCHMARKS: [Benchmark; 3] = [
    Benchmark { name: "instructions", run: instructions::run },
    Benchmark { name: "collection", run: collection::run },
    Benchmark { name: "growth", run: growth::run },
];

fn main() -> Outcome {
    growth::measure_if_asked().unwrap_or_else(|| selection::run(&BENCHMARKS))
}
