//! Looks at many places on every core, and hands over what was found in the order of the places.

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

/// Places that a thread looks at before it reports: some 10 ms of generating floors, so that what is found shows soon
/// and threads seldom meet.
const BLOCK: u64 = 64;

/// Looks at the places `0 .. places` on as many threads as there are cores. `look` gets what `prepare` made for its
/// thread. `report` gets each block of places, in order, with what was found there, and may end the hunt.
pub(crate) fn in_order<Tool, Found: Send, End: Send>(
    places: u64,
    prepare: impl Fn() -> Tool + Sync,
    look: impl Fn(&Tool, u64) -> Option<Found> + Sync,
    mut report: impl FnMut(Range<u64>, Vec<Found>) -> ControlFlow<End>,
) -> ControlFlow<End> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get) as u64;
    let blocks = places.div_ceil(BLOCK);
    let next = AtomicU64::new(0);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..cores.min(blocks) {
            let (sender, prepare, look, next) = (sender.clone(), &prepare, &look, &next);
            scope.spawn(move || {
                let tool = prepare();
                loop {
                    let block = next.fetch_add(1, Ordering::Relaxed);
                    if block >= blocks {
                        return;
                    }
                    let range = range(block, places);
                    let found = range.filter_map(|place| look(&tool, place)).collect::<Vec<_>>();
                    // Nobody listens any more: the hunt has ended.
                    if sender.send((block, found)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        // Moved in, so that it is dropped, and the threads told, before the scope waits for them.
        let receiver = receiver;
        let mut early = BTreeMap::new();
        let mut expected = 0;
        for (block, found) in &receiver {
            early.insert(block, found);
            while let Some(found) = early.remove(&expected) {
                report(range(expected, places), found)?;
                expected += 1;
            }
        }
        ControlFlow::Continue(())
    })
}

fn range(block: u64, places: u64) -> Range<u64> {
    let first = block * BLOCK;
    first..first.saturating_add(BLOCK).min(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_comes_in_order_whatever_the_threads_do() {
        let mut seen = Vec::new();
        let mut looked = 0;
        let end = in_order(
            1_000,
            || (),
            |(), place| {
                // Early blocks take longest.
                thread::sleep(std::time::Duration::from_micros(if place < 200 { 50 } else { 0 }));
                place.is_multiple_of(7).then_some(place)
            },
            |range, found| {
                looked += range.end - range.start;
                seen.extend(found);
                ControlFlow::<()>::Continue(())
            },
        );
        assert_eq!(end, ControlFlow::Continue(()));
        assert_eq!(looked, 1_000);
        assert_eq!(seen, (0..1_000).step_by(7).collect::<Vec<_>>());
    }

    #[test]
    fn the_hunt_ends_when_told_however_much_is_left() {
        let end = in_order(u64::MAX, || (), |(), place| Some(place), |_, found| ControlFlow::Break(found[0]));
        assert_eq!(end, ControlFlow::Break(0));
    }

    #[test]
    fn no_places_are_no_work() {
        let end = in_order(0, || (), |(), _| Some(()), |_, _| ControlFlow::Break(()));
        assert_eq!(end, ControlFlow::Continue(()));
    }
}
