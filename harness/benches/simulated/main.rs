//! Benchmarks that need only the simulated cluster: of every case ([`collection`]), and of large
//! ones ([`growth`]).
//!
//! ```text
//! cargo bench --package lockstep --bench simulated                  # all
//! cargo bench --package lockstep --bench simulated -- collection
//! ```

mod collection;
mod growth;
#[path = "../selection/mod.rs"]
mod selection;

use selection::{Benchmark, Outcome};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BENCHMARKS: [Benchmark; 2] =
    [Benchmark { name: "collection", run: collection::run }, Benchmark { name: "growth", run: growth::run }];

fn main() -> Outcome {
    growth::measure_if_asked().unwrap_or_else(|| selection::run(&BENCHMARKS))
}
