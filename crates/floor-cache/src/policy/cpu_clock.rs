//! CPU times from the operating system. The load monitor reads them.

use std::time::Duration;
#[cfg(target_os = "linux")]
use std::{fs::File, os::unix::fs::FileExt};

/// Running totals; a measurement is the difference of two.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Totals {
    /// Busy seconds of the machine's cores, all processes and cores together, and the seconds available.
    pub(crate) busy: f64,
    pub(crate) capacity: f64,
    /// CPU seconds of this process.
    pub(crate) own: f64,
    /// CPU seconds of this process in generation.
    pub(crate) generation: f64,
    /// Keys looked up in memory, in lower tiers, and generated.
    pub(crate) operations: u64,
}

/// Reads CPU times from the operating system. Where it does not report other processes, only this process counts as
/// load.
#[derive(Debug)]
pub(super) struct CpuClock {
    #[cfg(target_os = "linux")]
    stat: Option<File>,
}

impl CpuClock {
    pub(super) fn new() -> Self {
        Self {
            #[cfg(target_os = "linux")]
            stat: File::open("/proc/stat").ok(),
        }
    }

    /// The CPU times so far; without the counts of operations.
    pub(super) fn totals(&self) -> Totals {
        let (busy, capacity) = self.machine().unwrap_or_default();
        Totals { busy, capacity, own: own_cpu_seconds(), ..Totals::default() }
    }

    /// Busy and total time of the machine's cores in ticks; only the ratio matters.
    #[cfg(target_os = "linux")]
    fn machine(&self) -> Option<(f64, f64)> {
        // Long enough for the first line, the sum of all cores.
        let mut text = [0; 256];
        let length = self.stat.as_ref()?.read_at(&mut text, 0).ok()?;
        machine_ticks(str::from_utf8(&text[..length]).ok()?)
    }

    #[cfg(not(target_os = "linux"))]
    fn machine(&self) -> Option<(f64, f64)> {
        None
    }
}

/// Busy ticks and all ticks in the first line of `/proc/stat`: `cpu user nice system idle iowait irq softirq steal ...`
/// (proc_stat(5)). Guest time is part of user time already.
#[cfg(any(target_os = "linux", test))]
fn machine_ticks(stat: &str) -> Option<(f64, f64)> {
    let mut fields = stat.lines().next()?.split_ascii_whitespace();
    if fields.next()? != "cpu" {
        return None;
    }
    let mut ticks = [0.0; 8];
    for tick in &mut ticks {
        *tick = fields.next()?.parse().ok()?;
    }
    let all: f64 = ticks.iter().sum();
    let [_, _, _, idle, iowait, ..] = ticks;
    Some((all - idle - iowait, all))
}

#[cfg(unix)]
fn own_cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

#[cfg(not(unix))]
fn own_cpu_seconds() -> f64 {
    0.0
}

/// The CPU time of this thread so far.
#[cfg(unix)]
pub(crate) fn thread_cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Where the CPU time of a thread cannot be measured: a time whose differences are at least as large.
#[cfg(not(unix))]
pub(crate) fn thread_cpu_time() -> Duration {
    static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_ticks_are_read_from_the_first_line() {
        let stat = "cpu  100 5 50 800 20 1 4 20 7 0\ncpu0 60 5 25 400 10 1 2 10 7 0\n";
        assert_eq!(machine_ticks(stat), Some((180.0, 1000.0)));
        for broken in ["", "cpu0 1 2 3 4 5 6 7 8\n", "cpu 1 2 three\n", "cpu 1 2 3 4\n"] {
            assert_eq!(machine_ticks(broken), None, "{broken:?}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_clock_runs() {
        let clock = CpuClock::new();
        let before = clock.totals();
        let started = std::time::Instant::now();
        let mut sum = 0_u64;
        while started.elapsed() < std::time::Duration::from_millis(50) {
            sum = sum.wrapping_add(std::hint::black_box(1));
        }
        let after = clock.totals();
        assert!(after.own > before.own && after.capacity > before.capacity && sum > 0, "{before:?} {after:?}");
    }
}
