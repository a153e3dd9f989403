//! Shared parts of the benchmarks of whole programs: which programs, and their resource usage.

use std::path::{Path, PathBuf};

/// The kernel's clock ticks per second for processor time, as on every Linux.
const TICKS_A_SECOND: f64 = 100.0;

/// The resource usage of a process: peak and current memory in MiB, and seconds of processor time.
pub(crate) struct Usage {
    pub(crate) peak: u64,
    pub(crate) now: u64,
    pub(crate) cpu: f64,
}

/// The controller that LOCKSTEP_CONTROLLER names, else the one of this build.
pub(crate) fn controller() -> Result<PathBuf, Box<dyn std::error::Error>> {
    if let Some(path) = std::env::var_os("LOCKSTEP_CONTROLLER") {
        // Benchmarks run in their package's folder, and the path is relative to the user's.
        return Ok(std::fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path))?);
    }
    let path = std::env::current_exe()?.ancestors().nth(2).unwrap_or(Path::new(".")).join("rollout-controller");
    match path.is_file() {
        true => Ok(path),
        false => Err(format!("{} is not there; cargo build --package rollout-controller", path.display()).into()),
    }
}

/// The resource usage of a process.
pub(crate) fn usage(process: i32) -> Result<Usage, Box<dyn std::error::Error>> {
    let of = |file: &str| std::fs::read_to_string(format!("/proc/{process}/{file}"));
    let (status, stat) = (of("status")?, of("stat")?);
    let memory = |key: &str| {
        let line = status.lines().find(|line| line.starts_with(key));
        let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        kib.map(|kib| kib / 1024).ok_or_else(|| format!("the kernel says no {key} of {process}"))
    };
    // After the program's name, which may contain any characters, user and system time are the 12th
    // and 13th fields.
    let fields: Vec<_> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = fields.get(11..13).unwrap_or_default().iter().map(|ticks| ticks.parse::<f64>().unwrap_or_default());
    Ok(Usage { peak: memory("VmHWM:")?, now: memory("VmRSS:")?, cpu: ticks.sum::<f64>() / TICKS_A_SECOND })
}
