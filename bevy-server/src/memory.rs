//! The memory of the process and the most that it may have, from the files of Linux; unknown on other systems.
//! Memory that is free again is returned to the system.

use std::{fs, path::Path, time::Duration};

use prometheus::Registry;
use tokio::runtime::Handle;

use crate::metrics::register_gauge;

/// How often it is checked whether memory was freed.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// How many bytes must have been freed, or must the process have grown by, before the allocator is asked for them.
const WORTHWHILE_BYTES: usize = 4 << 20;
/// How often the allocator is then asked: what has ended is freed over some time, and by several threads.
const RETURNS: u32 = 3;
/// The process has grown when it has this part more memory than after the last return.
const GROWTH: usize = 8;

/// How much freed memory the allocator keeps for each thread, and from which size on a block is memory of its own.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT_BYTES: libc::c_int = 4 << 20;

/// Makes the allocator keep what a thread has freed until [`return_freed`] asks for it. Call it before the first thread
/// starts.
///
/// By itself glibc returns what is above 128 KiB to 1 MiB at once. The buffers of a core's connections come and go together,
/// so each stream of 64 floors, over eight connections, cost 45 page faults and twice the CPU.
pub fn keep_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[expect(unsafe_code, reason = "a function of C")]
    for threshold in [libc::M_TRIM_THRESHOLD, libc::M_MMAP_THRESHOLD] {
        // SAFETY: it takes no pointer, and no other thread runs yet (mallopt(3)). If it fails, memory is returned earlier.
        let _ = unsafe { libc::mallopt(threshold, KEPT_BYTES) };
    }
}

/// Bytes that calls and connections hold.
#[derive(Debug, Clone, Copy, Default)]
pub struct Held {
    /// Now.
    pub now: usize,
    /// The most since it was last asked.
    pub peak: usize,
}

/// Asks the allocator to return its free memory to the system: that of the threads of this runtime, and of `runtimes`, which
/// have one thread each. Does not return.
///
/// By itself it keeps what is free between blocks in use, such as floors in the cache. So it is asked after calls or
/// connections have ended that `held` much (66 of 84 MiB stayed, after calls of a client that did not read), and when the
/// process has grown: among floors of mixed sizes that come and go, half as much as they take can be free.
pub async fn return_freed(runtimes: Vec<Handle>, held: impl Fn() -> Held + Send) {
    let (mut most, mut returns, mut growth) = (0, 0, Growth::default());
    let mut checks = tokio::time::interval(CHECK_INTERVAL);
    loop {
        checks.tick().await;
        let held = held();
        most = most.max(held.peak);
        if most.saturating_sub(held.now) >= WORTHWHILE_BYTES {
            tracing::debug!(freed = most - held.now, "free memory is returned to the system");
            (most, returns) = (held.now, RETURNS);
        }
        if returns > 0 || growth.is_large(anonymous_bytes()) {
            returns = returns.saturating_sub(1);
            return_free_memory(&runtimes).await;
            growth.restart(anonymous_bytes());
        }
    }
}

/// By how much the process has grown.
#[derive(Debug, Default)]
struct Growth {
    /// The least memory since free memory was last returned.
    least: usize,
}

impl Growth {
    fn is_large(&mut self, bytes: Option<u64>) -> bool {
        let bytes = bytes.unwrap_or_default() as usize;
        self.least = self.least.min(bytes);
        bytes - self.least >= (self.least / GROWTH).max(WORTHWHILE_BYTES)
    }

    fn restart(&mut self, bytes: Option<u64>) {
        self.least = bytes.unwrap_or_default() as usize;
    }
}

/// Returns free memory of the allocator to the system, which takes milliseconds.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "a function of C")]
async fn return_free_memory(_: &[Handle]) {
    // SAFETY: it takes no pointer, and any thread may call it (malloc_trim(3)).
    let _ = tokio::task::spawn_blocking(|| unsafe { libc::malloc_trim(0) }).await;
}

/// Returns free memory of the allocator to the system. mimalloc has some for each thread, also what other threads have
/// freed, so each thread returns its own. Of those of the common runtime another one runs the next task as long as one works
/// on that.
#[cfg(target_env = "musl")]
#[expect(unsafe_code, reason = "a function of C")]
async fn return_free_memory(runtimes: &[Handle]) {
    // SAFETY: it takes no pointer, and any thread may call it.
    let collect = async || unsafe { libmimalloc_sys::mi_collect(true) };
    let common = Handle::current();
    let tasks: Vec<_> = (0..common.metrics().num_workers()).map(|_| common.spawn(collect())).collect();
    for task in tasks {
        let _ = task.await;
    }
    // The connections of a core wait meanwhile, so one after the other.
    for runtime in runtimes {
        let _ = runtime.spawn(collect()).await;
    }
}

/// Does nothing: the other systems have no such function.
#[cfg(not(any(all(target_os = "linux", target_env = "gnu"), target_env = "musl")))]
async fn return_free_memory(_: &[Handle]) {}

/// Registers `floors_memory_anonymous_bytes` and `floors_memory_limit_bytes`, each if the system tells it.
///
/// # Errors
/// If `registry` already has metrics with these names.
pub(crate) fn register(registry: &Registry) -> prometheus::Result<()> {
    if anonymous_bytes().is_some() {
        let help = "Resident memory without mapped files, which the system cannot take back.";
        let value = || anonymous_bytes().map_or(f64::NAN, |bytes| bytes as f64);
        register_gauge(registry, "floors_memory_anonymous_bytes", help, value)?;
    }
    if limit_bytes().is_some() {
        let help = "The most memory that the process may have: of its control groups, or of the machine.";
        let value = || limit_bytes().map_or(f64::NAN, |bytes| bytes as f64);
        register_gauge(registry, "floors_memory_limit_bytes", help, value)?;
    }
    Ok(())
}

/// Resident memory that no file backs. The pages of LMDB's file are resident too, but the system takes them back when
/// it needs memory.
#[must_use]
pub fn anonymous_bytes() -> Option<u64> {
    bytes_of("RssAnon:", &fs::read_to_string("/proc/self/status").ok()?)
}

/// The smallest limit of the control groups of this process, and of the machine's memory.
pub(crate) fn limit_bytes() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|info| bytes_of("MemTotal:", &info));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    group_limit(Path::new("/sys/fs/cgroup"), &groups).into_iter().chain(machine).min()
}

/// The smallest limit of the control groups that `groups`, the content of `/proc/self/cgroup`, names, and of those that
/// contain them. `root` is where control groups are mounted: those of version 2, and `memory` below it of version 1.
fn group_limit(root: &Path, groups: &str) -> Option<u64> {
    let limits = groups.lines().flat_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, group) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        let (root, file) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            _ => (root.join("memory"), "memory.limit_in_bytes"),
        };
        let has_memory = controllers.is_empty() || controllers.split(',').any(|name| name == "memory");
        let group = Path::new(if has_memory { group } else { "" });
        // In a container the path may be the host's, which is not mounted there. Its own group is then the root.
        group.ancestors().filter_map(move |ancestor| {
            let directory = root.join(ancestor.strip_prefix("/").ok()?);
            // Without a limit the file says `max`.
            fs::read_to_string(directory.join(file)).ok()?.trim().parse::<u64>().ok()
        })
    });
    limits.min()
}

/// The number of bytes in the line of `text` that begins with `name` and ends in ` kB`.
fn bytes_of(name: &str, text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kibibytes| kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_by_an_eighth_is_large_from_the_least_since_the_last_return() {
        const MIB: u64 = 1 << 20;
        let mut growth = Growth::default();
        assert!(growth.is_large(Some(80 * MIB)), "the first time");
        growth.restart(Some(80 * MIB));
        assert!(!growth.is_large(Some(89 * MIB)) && growth.is_large(Some(90 * MIB)));
        assert!(!growth.is_large(Some(8 * MIB)), "smaller");
        assert!(!growth.is_large(Some(11 * MIB)) && growth.is_large(Some(12 * MIB)), "at least 4 MiB");
        assert!(!growth.is_large(None), "unknown");
    }

    #[test]
    fn this_process_has_memory_within_its_limit() {
        let (anonymous, limit) = (anonymous_bytes().unwrap(), limit_bytes().unwrap());
        assert!(0 < anonymous && anonymous <= limit, "{anonymous} of {limit} bytes");
    }

    #[test]
    fn the_smallest_limit_of_nested_groups_counts() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, limit: &str| {
            let file = root.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, limit).unwrap();
        };
        write("services/floors/memory.max", "max\n");
        write("services/memory.max", "4096\n");
        write("memory.max", "8192\n");
        write("memory/docker/memory.limit_in_bytes", "2048\n");
        write("memory/memory.limit_in_bytes", "9223372036854771712\n");
        for (groups, limit) in [
            ("0::/services/floors\n", Some(4096)),
            ("0::/services/floors\n3:cpu,memory:/docker\n", Some(2048)),
            ("3:memory:/not/mounted/here\n", Some(9_223_372_036_854_771_712)),
            ("0::/\n", Some(8192)),
            ("2:cpu:/docker\n", None),
            ("", None),
        ] {
            assert_eq!(group_limit(root.path(), groups), limit, "{groups}");
        }
    }
}
