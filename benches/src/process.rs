//! Child processes; CPU time and memory of a process, from /proc; and the processors on which it may run.

use std::{
    fs, io,
    net::{SocketAddr, TcpListener},
    process::Child,
    thread,
    time::{Duration, Instant},
};

use anyhow::ensure;
use rustix::{
    process::{Pid, Resource, Rlimit, getrlimit, setrlimit},
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
};

/// Linux's "no such process".
const ESRCH: i32 = 3;

/// How often [`wait_until`] asks: the resolution of the start time of a server.
const POLL: Duration = Duration::from_millis(1);

/// Waits until `is_true`. `what` names it in the error.
pub fn wait_until(
    what: &str,
    timeout: Duration,
    mut is_true: impl FnMut() -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let until = Instant::now() + timeout;
    while !is_true()? {
        ensure!(Instant::now() < until, "not within {timeout:?}: {what}");
        thread::sleep(POLL);
    }
    Ok(())
}

/// A free address of this machine. Another process may take it before the caller does.
pub fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind(("127.0.0.1", 0))?.local_addr()
}

/// A child process that is killed when dropped.
#[derive(Debug)]
pub struct KillOnDrop(pub Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// CPU time, user and system, of the living threads of process `pid`.
///
/// It comes from each thread's `schedstat`, which counts nanoseconds; `stat` counts hundredths of a second.
pub fn cpu_time(pid: u32) -> io::Result<Duration> {
    let mut nanos = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let schedstat = match fs::read_to_string(thread?.path().join("schedstat")) {
            Ok(text) => text,
            // The thread ended before its file was opened or read.
            Err(error) if error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(ESRCH) => continue,
            Err(error) => return Err(error),
        };
        let on_cpu = schedstat.split(' ').next().and_then(|field| field.parse::<u64>().ok());
        nanos += on_cpu.ok_or_else(|| io::Error::other(format!("schedstat says {schedstat:?}")))?;
    }
    Ok(Duration::from_nanos(nanos))
}

/// Resident memory of process `pid`, in bytes.
pub fn resident_bytes(pid: u32) -> io::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse().ok());
    kib.map(|kib: u64| kib << 10).ok_or_else(|| io::Error::other("no VmRSS in its status"))
}

/// Raises the limit on open files of this process, and of the processes that it starts, to the maximum.
pub fn raise_open_files() -> io::Result<()> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?)
}

/// Binds this thread, and the threads and processes that it starts, to the last processor that it may use, and another
/// process to the remaining processors. Dropping it restores both.
///
/// Without it the kernel sometimes puts a server thread on the processor where the client spins. One of the two then
/// waits for the other's time slice, which is milliseconds.
#[derive(Debug)]
pub struct CpuPartition {
    pid: u32,
    all: CpuSet,
}

impl CpuPartition {
    /// Binds this thread and process `pid` to separate processors. Does nothing on a machine with one processor.
    pub fn isolate(pid: u32) -> io::Result<Self> {
        let all = sched_getaffinity(None)?;
        let partition = Self { pid, all };
        if let Some(last) = (0..CpuSet::MAX_CPU).rev().find(|cpu| all.is_set(*cpu)).filter(|_| all.count() > 1) {
            let mut others = all;
            others.unset(last);
            bind_to_processors(&[last])?;
            move_threads(pid, &others)?;
        }
        Ok(partition)
    }
}

impl Drop for CpuPartition {
    fn drop(&mut self) {
        // The process may have ended.
        let _ = move_threads(self.pid, &self.all);
        let _ = sched_setaffinity(None, &self.all);
    }
}

/// The processors on which this thread may run.
pub fn processors() -> io::Result<Vec<usize>> {
    let all = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| all.is_set(*cpu)).collect())
}

/// Binds this thread, and the threads and processes that it starts, to `processors`.
pub fn bind_to_processors(processors: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    processors.iter().for_each(|cpu| set.set(*cpu));
    Ok(sched_setaffinity(None, &set)?)
}

/// The result of `start`, whose processes are bound to `processors`.
pub fn on_processors<T>(processors: &[usize], start: impl FnOnce() -> T) -> io::Result<T> {
    let all = sched_getaffinity(None)?;
    bind_to_processors(processors)?;
    let started = start();
    sched_setaffinity(None, &all)?;
    Ok(started)
}

fn move_threads(pid: u32, to: &CpuSet) -> io::Result<()> {
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let number = thread?.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
        sched_setaffinity(number, to)?;
    }
    Ok(())
}
