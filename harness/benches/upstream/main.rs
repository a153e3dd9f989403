//! Benchmarks that need upstream's programs. `scripts/fetch control-plane` finds or builds them,
//! and `scripts/fetch virtual` the one of [`virtual_upstream`].
//!
//! ```text
//! cargo bench --package lockstep --bench upstream                   # all, which takes long
//! cargo bench --package lockstep --bench upstream -- many_pods
//! ```

mod apiserver;
mod beside_upstream;
mod interceptor_overhead;
mod many_pods;
mod process;
#[path = "../selection/mod.rs"]
mod selection;
mod virtual_upstream;

use selection::{Benchmark, Outcome};

/// The allocator of the harness itself.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BENCHMARKS: [Benchmark; 5] = [
    Benchmark { name: "apiserver", run: apiserver::run },
    Benchmark { name: "beside_upstream", run: beside_upstream::run },
    Benchmark { name: "interceptor_overhead", run: interceptor_overhead::run },
    Benchmark { name: "many_pods", run: many_pods::run },
    Benchmark { name: "virtual_upstream", run: virtual_upstream::run },
];

fn main() -> Outcome {
    lockstep_runner::dispatch_role();
    selection::run(&BENCHMARKS)
}
