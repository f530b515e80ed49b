//! Priorities of threads: those that serve calls run before those that generate floors.
//!
//! A thread that generates computes for a tenth of a millisecond to several milliseconds, and a hit needs a few
//! microseconds. With equal priorities a call waits until the generating thread has used its time slice of milliseconds.
//! So generating threads get a lower share of contended cores, and all threads get short slices, which Linux knows since
//! version 6.12: a thread that wakes soon runs. Besides, a thread that generates gives way between the stages of a floor.
//! docs/decisions/0108-thread-priorities.md has the measurements.
//!
//! Only Linux has priorities of single threads. Elsewhere they are not changed.

use std::{
    cell::Cell,
    io,
    sync::Once,
    thread,
    time::{Duration, Instant},
};

use floor_gen::explain::Observer;

/// What generation adds to the niceness of the process. With 5 more, a thread gets a quarter of a core for which it
/// competes with one that serves calls. So generation goes on when calls occupy all cores.
const ADDED_NICENESS: i32 = 5;

/// How long a thread generates before it gives way.
const GIVE_WAY_AFTER: Duration = Duration::from_micros(20);

/// Observes the generation of a floor, and gives way to other threads between its stages.
///
/// Linux seldom decides anew which thread runs: when one wakes, sleeps or gives way, and at the timer's interrupt, which
/// comes every few milliseconds. Of the threads that are ready it takes only one that has had less than its share of the
/// core, however low its priority. So a thread that has just served calls and is ready again does not run while another
/// generates, until one of these events.
pub(crate) struct GiveWay<F> {
    since: Cell<Instant>,
    give_way: F,
}

impl GiveWay<fn()> {
    /// For a floor that is generated now.
    pub(crate) fn new() -> Self {
        Self { since: Cell::new(Instant::now()), give_way: thread::yield_now }
    }
}

impl<F: Fn()> Observer for GiveWay<F> {
    fn stage(&self, _name: &'static str) {
        if self.since.get().elapsed() >= GIVE_WAY_AFTER {
            (self.give_way)();
            self.since.set(Instant::now());
        }
    }
}

/// The calling thread serves calls.
pub(crate) fn serve_calls() {
    report(imp::set(imp::NORMAL, 0));
}

/// The calling thread generates floors.
pub(crate) fn generate() {
    report(imp::set(imp::BATCH, ADDED_NICENESS));
}

/// A sandbox may forbid it. The server then works with equal priorities, and says so once.
fn report(result: io::Result<()>) {
    static FIRST: Once = Once::new();
    if let Err(error) = result {
        FIRST.call_once(|| tracing::warn!(%error, "priorities of threads cannot be set; generation may delay hits"));
    }
}

#[cfg(target_os = "linux")]
mod imp {
    use std::{io, mem};

    pub(super) const NORMAL: u32 = libc::SCHED_OTHER.cast_unsigned();
    /// A thread of this policy does not run before others when it wakes.
    pub(super) const BATCH: u32 = libc::SCHED_BATCH.cast_unsigned();

    /// The time slice of a thread, in nanoseconds: the shortest that Linux knows.
    const SLICE: u64 = 100_000;
    /// The greatest niceness.
    const MAX_NICENESS: i32 = 19;

    /// Sets the policy and the time slice of the calling thread, and adds to its niceness.
    #[expect(unsafe_code, reason = "libraries for thread priorities do not set the slice")]
    pub(super) fn set(policy: u32, added_niceness: i32) -> io::Result<()> {
        let niceness = rustix::process::getpriority_process(None)?;
        let attributes = libc::sched_attr {
            size: mem::size_of::<libc::sched_attr>() as u32,
            sched_policy: policy,
            sched_flags: 0,
            sched_nice: (niceness + added_niceness).min(MAX_NICENESS),
            sched_priority: 0,
            sched_runtime: SLICE,
            sched_deadline: 0,
            sched_period: 0,
        };
        const THIS_THREAD: libc::pid_t = 0;
        const NO_FLAGS: libc::c_uint = 0;
        // SAFETY: the kernel reads `size` bytes of the attributes, which live until the call returns, and writes none.
        let result = unsafe { libc::syscall(libc::SYS_sched_setattr, THIS_THREAD, &raw const attributes, NO_FLAGS) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use std::io;

    pub(super) const NORMAL: u32 = 0;
    pub(super) const BATCH: u32 = 0;

    pub(super) fn set(_policy: u32, _added_niceness: i32) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use floor_gen::{FloorSpec, Generator};

    use super::*;

    #[test]
    fn generating_gives_way_between_stages_after_a_while() {
        let last = Cell::new(Instant::now());
        let runs = std::cell::RefCell::new(Vec::new());
        let give_way = || runs.borrow_mut().push(last.replace(Instant::now()).elapsed());
        let observer = GiveWay { since: Cell::new(Instant::now()), give_way };
        let spec = FloorSpec::resolve(42, 7, 512, 512, None).unwrap();
        let floor = Generator::new().generate_observed(&spec, &observer);
        assert_eq!(floor, floor_gen::generate(&spec));
        let runs = runs.into_inner();
        assert!(runs.len() >= 5, "{runs:?}");
        assert!(runs.iter().all(|run| *run >= GIVE_WAY_AFTER), "{runs:?}");
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests_of_linux {
    use super::*;

    /// The niceness and the policy of this thread (proc(5), fields 19 and 41).
    fn priority() -> (i32, u32) {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        // The name of the thread, in parentheses, may contain spaces. The fields after it start with the third.
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split_whitespace().collect();
        (fields[19 - 3].parse().unwrap(), fields[41 - 3].parse().unwrap())
    }

    #[test]
    fn generating_threads_have_a_lower_priority_than_those_that_serve_calls() {
        let before = priority();
        let of = |set: fn()| std::thread::spawn(move || (set(), priority()).1).join().unwrap();
        let (calls, generation) = (of(serve_calls), of(generate));
        assert_eq!(calls, (before.0, imp::NORMAL));
        assert_eq!(generation, ((before.0 + ADDED_NICENESS).min(19), imp::BATCH));
        assert_eq!(priority(), before, "only those threads");
    }
}
