//! What callers have had generated and were refused lately, so that operators see who asks for too much.

use std::{
    cmp::Reverse,
    collections::HashMap,
    mem,
    sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use floor_cache::CallerId;

/// The length of a window. What is shown is that of this window and of the one before.
const WINDOW: Duration = Duration::from_secs(60);
/// Callers of one window. Those beyond share one row.
const MAX_CLIENTS: usize = 4096;
/// Callers that are shown.
const MAX_SHOWN: usize = 20;
/// What generating a cell takes, to compare it with other work.
const CELL_NANOSECONDS: u128 = 20;
/// The row of callers beyond [`MAX_CLIENTS`], and of those that are gone.
const OTHERS: CallerId = CallerId(u64::MAX);
/// Its name.
static OTHERS_NAME: LazyLock<Arc<str>> = LazyLock::new(|| "others".into());

/// What each caller has had generated and was refused in the last one to two minutes.
#[derive(Debug)]
pub(super) struct RecentUse(Mutex<Windows>);

/// What one caller has had generated and was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallerActivity {
    /// The name of its token, the subject of its certificate, or its address or network.
    pub(crate) name: Arc<str>,
    /// Generated floors.
    pub(crate) floors: u64,
    /// Their cells.
    pub(crate) cells: u64,
    /// Floors that were not generated, because of its quota or a full queue.
    pub(crate) refusals: u64,
    /// Time of other work for its calls, such as making JSON.
    pub(crate) offloaded: Duration,
}

#[derive(Debug)]
struct Windows {
    began: Instant,
    current: HashMap<CallerId, CallerActivity>,
    previous: HashMap<CallerId, CallerActivity>,
}

impl RecentUse {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Windows { began: Instant::now(), current: HashMap::new(), previous: HashMap::new() }))
    }

    /// Counts a floor of `cells` that is generated for `caller`. `name` finds its name, if the caller is not gone.
    pub(super) fn generated(&self, caller: CallerId, cells: u64, name: impl FnOnce() -> Option<Arc<str>>) {
        let mut windows = self.lock();
        let row = windows.row(Instant::now(), caller, name);
        row.floors += 1;
        row.cells += cells;
    }

    /// Counts a floor that is not generated for `caller`. Returns the name under which it counts.
    pub(super) fn refused(&self, caller: CallerId, name: impl FnOnce() -> Option<Arc<str>>) -> Arc<str> {
        let mut windows = self.lock();
        let row = windows.row(Instant::now(), caller, name);
        row.refusals += 1;
        Arc::clone(&row.name)
    }

    /// Counts work of another kind for `caller`.
    pub(super) fn offloaded(&self, caller: CallerId, time: Duration, name: impl FnOnce() -> Option<Arc<str>>) {
        self.lock().row(Instant::now(), caller, name).offloaded += time;
    }

    /// The callers with the most refusals and those with the most work, the latter first.
    pub(super) fn most_active(&self) -> Vec<CallerActivity> {
        let rows = self.lock().rows(Instant::now());
        most_active(rows)
    }

    fn lock(&self) -> MutexGuard<'_, Windows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Windows {
    /// The row of `caller` in the window of `now`.
    fn row(&mut self, now: Instant, caller: CallerId, name: impl FnOnce() -> Option<Arc<str>>) -> &mut CallerActivity {
        self.rotate(now);
        let named = match self.current.get(&caller) {
            Some(row) => Some((caller, Arc::clone(&row.name))),
            None if self.current.len() < MAX_CLIENTS => name().map(|name| (caller, name)),
            None => None,
        };
        let (caller, name) = named.unwrap_or_else(|| (OTHERS, Arc::clone(&OTHERS_NAME)));
        let none = CallerActivity { name, floors: 0, cells: 0, refusals: 0, offloaded: Duration::ZERO };
        self.current.entry(caller).or_insert(none)
    }

    /// The rows of both windows, those of one caller together.
    fn rows(&mut self, now: Instant) -> Vec<CallerActivity> {
        self.rotate(now);
        let mut rows = self.previous.clone();
        for (caller, row) in &self.current {
            rows.entry(*caller).and_modify(|sum| sum.add(row)).or_insert_with(|| row.clone());
        }
        rows.into_values().collect()
    }

    fn rotate(&mut self, now: Instant) {
        let age = now.saturating_duration_since(self.began);
        if age < WINDOW {
            return;
        }
        self.began = now;
        self.previous = mem::take(&mut self.current);
        if age >= 2 * WINDOW {
            self.previous.clear();
        }
    }
}

impl CallerActivity {
    /// All work for it, in cells.
    const fn work(&self) -> u64 {
        self.cells + (self.offloaded.as_nanos() / CELL_NANOSECONDS) as u64
    }

    fn add(&mut self, other: &Self) {
        self.floors += other.floors;
        self.cells += other.cells;
        self.refusals += other.refusals;
        self.offloaded += other.offloaded;
    }
}

/// Of `rows`, half of what is shown with the most refusals, and the rest with the most work.
fn most_active(mut rows: Vec<CallerActivity>) -> Vec<CallerActivity> {
    rows.sort_unstable_by_key(|row| Reverse(row.refusals));
    let refused = rows.iter().take(MAX_SHOWN / 2).take_while(|row| row.refusals > 0).count();
    rows[refused..].sort_unstable_by_key(|row| Reverse(row.work()));
    rows.truncate(MAX_SHOWN);
    rows.sort_unstable_by_key(|row| Reverse((row.work(), row.refusals)));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> impl FnOnce() -> Option<Arc<str>> {
        let name = Arc::from(text);
        move || Some(name)
    }

    fn windows() -> Windows {
        let RecentUse(windows) = RecentUse::new();
        windows.into_inner().unwrap()
    }

    #[test]
    fn a_client_is_shown_for_one_to_two_windows() {
        let (mut windows, caller) = (windows(), CallerId(1));
        let start = windows.began;
        windows.row(start, caller, name("a")).cells += 5;
        windows.row(start + WINDOW, caller, name("a")).cells += 7;
        let cells = |windows: &mut Windows, at| windows.rows(at).iter().map(|row| row.cells).sum::<u64>();
        assert_eq!(cells(&mut windows, start + WINDOW), 12);
        assert_eq!(cells(&mut windows, start + 2 * WINDOW), 7);
        assert_eq!(cells(&mut windows, start + 3 * WINDOW), 0);
        windows.row(start + 3 * WINDOW, caller, name("a")).cells += 5;
        assert_eq!(cells(&mut windows, start + 9 * WINDOW), 0, "a pause of several windows");
    }

    #[test]
    fn the_memory_for_clients_is_bounded() {
        let mut windows = windows();
        let now = windows.began;
        for caller in 0..2 * MAX_CLIENTS as u64 {
            windows.row(now, CallerId(caller), name("a")).refusals += 1;
        }
        assert_eq!(windows.current.len(), MAX_CLIENTS + 1);
        assert_eq!(windows.row(now, OTHERS, name("b")).refusals, MAX_CLIENTS as u64);
        assert_eq!(&*windows.row(now, CallerId(u64::MAX - 1), || None).name, "others", "a client that is gone");
    }

    #[test]
    fn clients_with_many_refusals_and_clients_with_many_cells_are_shown() {
        let offloaded = Duration::ZERO;
        let row =
            |name: String, cells, refusals| CallerActivity { name: name.into(), floors: 1, cells, refusals, offloaded };
        let large = (0..50).map(|cells| row(format!("large {cells}"), 100 + cells, 0));
        let refused = (0..50).map(|refusals| row(format!("refused {refusals}"), 0, refusals));
        let shown = most_active(large.chain(refused).collect());
        let names: Vec<_> = shown.iter().map(|row| &*row.name).collect();
        let large = (40..50).rev().map(|cells| format!("large {cells}"));
        let refused = (40..50).rev().map(|refusals| format!("refused {refusals}"));
        assert_eq!(names, large.chain(refused).collect::<Vec<_>>());
        let few = vec![row("a".to_owned(), 1, 0), row("b".to_owned(), 2, 0)];
        assert_eq!(most_active(few).iter().map(|row| row.cells).collect::<Vec<_>>(), [2, 1]);
    }
}
