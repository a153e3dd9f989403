//! Which benchmarks of a program run, and where their figures go.

pub(crate) mod section;

pub(crate) type Outcome = Result<(), Box<dyn std::error::Error>>;

/// A benchmark with its name on the command line. It gets the arguments that follow the name.
pub(crate) struct Benchmark {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&[String]) -> Outcome,
}

/// Runs the benchmark that the first argument names; without a name all, in this order.
pub(crate) fn run(benchmarks: &[Benchmark]) -> Outcome {
    // Cargo adds `--bench`.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let Some((name, rest)) = words.split_first() else {
        return benchmarks.iter().try_for_each(|benchmark| {
            println!("{}:", benchmark.name);
            (benchmark.run)(&[])
        });
    };
    let benchmark = benchmarks.iter().find(|benchmark| benchmark.name == name.as_str()).ok_or_else(|| {
        let names: Vec<_> = benchmarks.iter().map(|benchmark| benchmark.name).collect();
        format!("unknown benchmark '{name}': expected {}", names.join(", "))
    })?;
    (benchmark.run)(rest)
}
