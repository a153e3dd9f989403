//! Resource usage of this process from Linux' `/proc`; without it these metrics are omitted.

use std::{fmt, fs};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

/// Clock ticks per second in `/proc`: the same on all platforms of this program, whatever the
/// kernel's own timer.
const TICKS_PER_SECOND: f64 = 100.0;

/// Reads `/proc` when metrics are read.
#[derive(Debug)]
pub(super) struct Usage;

impl Collector for Usage {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let (stat, status, limits) = (read("/proc/self/stat"), read("/proc/self/status"), read("/proc/self/limits"));
        if let Some(seconds) = cpu_seconds(&stat) {
            let help = "Seconds of processor time used, for this program and in the kernel.";
            let mut metric = encoder.encode_descriptor("process_cpu_seconds", help, None, MetricType::Counter)?;
            metric.encode_counter::<NoLabelSet, _, u64>(&seconds, None)?;
        }
        let open = fs::read_dir("/proc/self/fd").ok().and_then(|files| u32::try_from(files.count()).ok());
        let gauges = [
            ("process_resident_memory_bytes", "Memory in RAM, in bytes.", bytes(&status, "VmRSS:")),
            ("process_virtual_memory_bytes", "Address space, in bytes.", bytes(&status, "VmSize:")),
            ("process_open_fds", "Open files and sockets.", open.map(f64::from)),
            ("process_max_fds", "Files and sockets that may be open.", max_files(&limits)),
            (
                "process_start_time_seconds",
                "When this process began, Unix time.",
                start_time(&stat, &read("/proc/stat")),
            ),
        ];
        for (name, help, value) in gauges {
            if let Some(value) = value {
                encoder.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(&value)?;
            }
        }
        Ok(())
    }
}

/// A field of `/proc/self/stat`, counted from 1 as in proc_pid_stat(5). The second field is a name
/// that may contain anything.
fn field(stat: &str, number: usize) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(number.checked_sub(3)?)?.parse().ok()
}

fn cpu_seconds(stat: &str) -> Option<f64> {
    Some((field(stat, 14)? + field(stat, 15)?) / TICKS_PER_SECOND)
}

/// The machine's boot time plus the process's start time after it.
fn start_time(stat: &str, machine: &str) -> Option<f64> {
    let boot: f64 = machine.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    Some(boot + field(stat, 22)? / TICKS_PER_SECOND)
}

/// A size in `/proc/self/status`, which is in kibibytes.
fn bytes(status: &str, name: &str) -> Option<f64> {
    let kibibytes = status.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?;
    kibibytes.parse::<f64>().ok().map(|kibibytes| kibibytes * 1024.0)
}

fn max_files(limits: &str) -> Option<f64> {
    limits.lines().find_map(|line| line.strip_prefix("Max open files"))?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "7 (a (strange) name) S 1 7 7 0 -1 4194560 1 0 0 0 150 25 0 0 20 0 9 0 4200 999 88";

    #[test]
    fn parses_files_of_proc() {
        assert_eq!(cpu_seconds(STAT), Some(1.75));
        assert_eq!(start_time(STAT, "cpu  1 2 3\nbtime 1700000000\n"), Some(1_700_000_042.0));
        assert_eq!(bytes("VmSize:\t  20 kB\nVmRSS:\t      3 kB\n", "VmRSS:"), Some(3072.0));
        assert_eq!(max_files("Max open files            1024     524288   files\n"), Some(1024.0));
        assert_eq!(cpu_seconds(""), None);
    }
}
