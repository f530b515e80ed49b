//! What the kernel says that another process used.

use std::{fs, io, time::Duration};

/// Linux's "no such process".
const ESRCH: i32 = 3;

/// CPU time of process `pid` since its start, user and system, of the threads that live.
///
/// From each thread's `schedstat`, which counts nanoseconds; `stat` counts hundredths of a second.
///
/// # Errors
/// When there is no such process, or the kernel keeps no such figures.
pub fn cpu_time(pid: u32) -> io::Result<Duration> {
    let mut nanos = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let schedstat = match fs::read_to_string(thread?.path().join("schedstat")) {
            Ok(text) => text,
            // It ended between the two looks: before its file was opened, or before it was read.
            Err(error) if error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(ESRCH) => continue,
            Err(error) => return Err(error),
        };
        let on_cpu = schedstat.split(' ').next().and_then(|field| field.parse::<u64>().ok());
        nanos += on_cpu.ok_or_else(|| io::Error::other(format!("schedstat says {schedstat:?}")))?;
    }
    Ok(Duration::from_nanos(nanos))
}

/// Resident memory of process `pid`, in bytes.
///
/// # Errors
/// When there is no such process.
pub fn resident_bytes(pid: u32) -> io::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse().ok());
    kib.map(|kib: u64| kib << 10).ok_or_else(|| io::Error::other("no VmRSS in its status"))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_busy_thread_uses_cpu_time_and_memory() {
        let me = std::process::id();
        let before = cpu_time(me).unwrap();
        let started = Instant::now();
        while cpu_time(me).unwrap() < before + Duration::from_millis(5) {
            assert!(started.elapsed() < Duration::from_secs(10), "a spinning thread uses CPU time");
        }
        assert!(resident_bytes(me).unwrap() > 100 << 10);
    }
}
