//! The workers: each takes jobs from the queue and generates their floors.

use std::{
    any::Any,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::Ordering::Relaxed,
    time::{Duration, Instant},
};

use floor_cache::{Key, Made, SourceError};
use floor_gen::Generator;

use super::queue::Queue;
use crate::{callers::Charge, key, tower_keys};

/// Serves `queue` on this thread until it is stopped and empty.
pub(super) fn run(queue: &Queue) {
    let mut generator = Generator::new();
    let mut job_number = 0u32;
    while let Some(mut job) = queue.next(job_number) {
        job_number = job_number.wrapping_add(1);
        if job.reply.is_closed() || queue.skips(&job) {
            queue.end();
            let _ = job.reply.send(Err(SourceError::Abandoned));
            continue;
        }
        if let [Some(charge), of_tenant] = mem::take(&mut job.charges) {
            charge.spend();
            of_tenant.into_iter().for_each(Charge::spend);
            queue.callers.count_generated(job.caller, job.cells);
        }
        if let Some(tenant) = &job.tenant {
            tenant.cells.fetch_add(job.cells, Relaxed);
        }
        let result = generate_floor(&mut generator, queue, job.key);
        queue.end();
        match &result {
            Ok(made) => queue.costs.record(&job.key, job.cells, made),
            Err(error) => {
                tracing::error!(%error, "a floor could not be generated");
                // The panic may have left the scratch memory inconsistent.
                generator = Generator::new();
            }
        }
        // Fails if no caller is left, which is no error.
        let _ = job.reply.send(result);
    }
}

/// Generates and encodes the floor of `key`. A panic becomes an error of this floor only.
fn generate_floor(generator: &mut Generator, queue: &Queue, key: Key) -> Result<Made, SourceError> {
    let failed = |reason: String| SourceError::Failed { key, reason };
    let sealed = queue.tower_keys.get().and_then(|keys| keys.spec(&key));
    let spec = sealed.or_else(|| key::spec(&key));
    let spec = spec.ok_or_else(|| failed("no floor of this generator version has this key".to_owned()))?;
    let pack = queue.packs.of(spec.pack()).ok_or_else(|| failed(format!("no pack has the hash {}", spec.pack())))?;
    let (started, cpu) = (Instant::now(), thread_cpu());
    let make = || match sealed {
        Some(_) => tower_keys::framed(&pack, generator, &spec),
        None => pack.framed(generator, &spec),
    };
    // What fails in a sealed tower says nothing of its seed.
    let reason = |reason: String| if sealed.is_some() { "a floor of a sealed tower".to_owned() } else { reason };
    let value = catch_unwind(AssertUnwindSafe(make))
        .map_err(|panic| failed(reason(format!("{spec:?}: {}", panic_message(panic.as_ref())))))?
        .map_err(|error| failed(reason(queue.packs.note(error).to_string())))?;
    let took = started.elapsed();
    let cpu = cpu.zip(thread_cpu()).map_or(took, |(before, after)| after.saturating_sub(before));
    Ok(Made { value, took, cpu })
}

/// CPU time of this thread; `None` if the system does not report it.
#[cfg(unix)]
fn thread_cpu() -> Option<Duration> {
    rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime).try_into().ok()
}

#[cfg(not(unix))]
fn thread_cpu() -> Option<Duration> {
    None
}

/// The message of a panic.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
}
