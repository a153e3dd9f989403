//! Benchmarks that need only the simulated cluster: what a user waits for ([`waits`]), the time of
//! every case ([`collection`]) and of large ones ([`growth`]), and instructions ([`instructions`]).
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
mod waits;

use selection::{Benchmark, Outcome};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BENCHMARKS: [Benchmark; 4] = [
    Benchmark { name: "instructions", run: instructions::run },
    Benchmark { name: "waits", run: waits::run },
    Benchmark { name: "collection", run: collection::run },
    Benchmark { name: "growth", run: growth::run },
];

fn main() -> Outcome {
    growth::measure_if_asked().unwrap_or_else(|| selection::run(&BENCHMARKS))
}
