//! Tests a range of indexes on all cores and reports the matches in order. `floorctl search` uses it.

use std::{
    collections::BTreeMap,
    num::NonZero,
    ops::{ControlFlow, Range},
    sync::{
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
};

/// Indexes that a thread tests before it reports: about 10 ms of generating floors. That is short enough to show
/// matches soon, and long enough to keep contention low.
const BLOCK: u64 = 64;

/// Tests the indexes `0 .. len` on as many threads as there are cores. `prepare` makes the state of a thread. `report`
/// gets each block of indexes, in order, with the matches in it, and may end the scan.
pub(crate) fn in_order<State, Found: Send, Stop: Send>(
    len: u64,
    prepare: impl Fn() -> State + Sync,
    test: impl Fn(&State, u64) -> Option<Found> + Sync,
    mut report: impl FnMut(Range<u64>, Vec<Found>) -> ControlFlow<Stop>,
) -> ControlFlow<Stop> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get) as u64;
    let blocks = len.div_ceil(BLOCK);
    let next = AtomicU64::new(0);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..cores.min(blocks) {
            let (sender, prepare, test, next) = (sender.clone(), &prepare, &test, &next);
            scope.spawn(move || {
                let state = prepare();
                loop {
                    let block = next.fetch_add(1, Ordering::Relaxed);
                    if block >= blocks {
                        return;
                    }
                    let range = range(block, len);
                    let found = range.filter_map(|index| test(&state, index)).collect::<Vec<_>>();
                    // The receiver is dropped: the scan has ended.
                    if sender.send((block, found)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        // Moved in, so that it is dropped before the scope waits for the threads. That ends them.
        let receiver = receiver;
        let mut pending = BTreeMap::new();
        let mut expected = 0;
        for (block, found) in &receiver {
            pending.insert(block, found);
            while let Some(found) = pending.remove(&expected) {
                report(range(expected, len), found)?;
                expected += 1;
            }
        }
        ControlFlow::Continue(())
    })
}

fn range(block: u64, len: u64) -> Range<u64> {
    let first = block * BLOCK;
    first..first.saturating_add(BLOCK).min(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_are_reported_in_order() {
        let mut seen = Vec::new();
        let mut scanned = 0;
        let end = in_order(
            1_000,
            || (),
            |(), index| {
                // The first blocks take longest.
                thread::sleep(std::time::Duration::from_micros(if index < 200 { 50 } else { 0 }));
                index.is_multiple_of(7).then_some(index)
            },
            |range, found| {
                scanned += range.end - range.start;
                seen.extend(found);
                ControlFlow::<()>::Continue(())
            },
        );
        assert_eq!(end, ControlFlow::Continue(()));
        assert_eq!(scanned, 1_000);
        assert_eq!(seen, (0..1_000).step_by(7).collect::<Vec<_>>());
    }

    #[test]
    fn the_scan_ends_when_report_breaks() {
        let end = in_order(u64::MAX, || (), |(), index| Some(index), |_, found| ControlFlow::Break(found[0]));
        assert_eq!(end, ControlFlow::Break(0));
    }

    #[test]
    fn an_empty_range_is_not_scanned() {
        let end = in_order(0, || (), |(), _| Some(()), |_, _| ControlFlow::Break(()));
        assert_eq!(end, ControlFlow::Continue(()));
    }
}
