//! The limit of what libraries log. A lost node of a Redis Cluster makes its client warn several times a second, for as
//! long as the node is gone.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use tokio::runtime::Handle;
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{Layer, layer::Context};

use crate::rate_limit::Window;

/// Events of one library that are logged in each window.
const EVENTS: u32 = 10;
/// The length of a window.
const WINDOW: Duration = Duration::from_secs(10);
/// Libraries with a window of their own. The others share one.
const MAX_LIBRARIES: usize = 64;
/// The name of that window.
const OTHERS: &str = "others";
/// The targets of our own crates. `floors` has the access log and what this layer reports.
const OWN: [&str; 7] = ["bevy_server", "floor_cache", "floor_gen", "floor_pack", "floor_proto", "floor_wire", "floors"];

/// Passes a few events of each library in each window, and then logs how many it suppressed. Events below INFO pass:
/// someone has asked for them by the filter. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct LibraryLimit(Arc<State>);

#[derive(Debug, Default)]
struct State {
    windows: Mutex<HashMap<String, Window>>,
    /// Reports what was suppressed at the end of a window. Without it, the first event of the next window does.
    runtime: OnceLock<Handle>,
}

impl LibraryLimit {
    /// Sets the runtime that reports at the end of a window.
    pub(super) fn set_runtime(&self, runtime: Handle) {
        // A second runtime is that of a second server in this process; the first one reports for both.
        let _ = self.0.runtime.set(runtime);
    }

    fn admits(&self, event: &Event<'_>) -> bool {
        let metadata = event.metadata();
        if *metadata.level() > Level::INFO {
            return true;
        }
        // An event of a library that uses the crate `log` has its target in a field.
        let mut logged = LogTarget::default();
        if metadata.target() == "log" {
            event.record(&mut logged);
        }
        let target = logged.0.as_deref().unwrap_or(metadata.target());
        let library = target.split("::").next().unwrap_or(target);
        if OWN.contains(&library) {
            return true;
        }
        let verdict = self.0.count(library, Instant::now());
        if verdict.is_first_refusal {
            self.report_later(library);
        }
        // After the lock was released, because these are events too.
        report(library, verdict.refused);
        verdict.is_admitted
    }

    /// Reports what is suppressed in this window at its end.
    fn report_later(&self, library: &str) {
        if let Some(runtime) = self.0.runtime.get() {
            let (state, library) = (Arc::clone(&self.0), library.to_owned());
            runtime.spawn(async move {
                tokio::time::sleep(WINDOW).await;
                report(&library, state.take_refused(&library));
            });
        }
    }
}

/// What happens to an event.
#[derive(Debug, PartialEq, Eq)]
struct Verdict {
    is_admitted: bool,
    /// Whether it is the first one that its window refuses.
    is_first_refusal: bool,
    /// Events of earlier windows that were refused and not reported.
    refused: u64,
}

impl State {
    fn count(&self, library: &str, now: Instant) -> Verdict {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let name = name_in(&windows, library);
        let window = windows.entry(name.to_owned()).or_default();
        let is_admitted = window.admits(now, EVENTS, WINDOW);
        let refused = if is_admitted { window.take_refused() } else { 0 };
        Verdict { is_admitted, is_first_refusal: !is_admitted && window.refused() == 1, refused }
    }

    fn take_refused(&self, library: &str) -> u64 {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let name = name_in(&windows, library);
        windows.get_mut(name).map_or(0, Window::take_refused)
    }
}

/// The name of the window of `library`.
fn name_in<'a>(windows: &HashMap<String, Window>, library: &'a str) -> &'a str {
    if windows.contains_key(library) || windows.len() < MAX_LIBRARIES { library } else { OTHERS }
}

fn report(library: &str, suppressed: u64) {
    if suppressed > 0 {
        tracing::warn!(target: "floors::log", library, suppressed, "further messages of a library were not logged");
    }
}

impl<S: Subscriber> Layer<S> for LibraryLimit {
    fn event_enabled(&self, event: &Event<'_>, _: Context<'_, S>) -> bool {
        self.admits(event)
    }
}

/// The field in which `tracing-log` passes the target of a record.
#[derive(Default)]
struct LogTarget(Option<String>);

impl Visit for LogTarget {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "log.target" {
            self.0 = Some(value.to_owned());
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_library_has_its_own_limit() {
        let (state, start) = (State::default(), Instant::now());
        let admitted = |library: &str| (0..1000).filter(|_| state.count(library, start).is_admitted).count();
        assert_eq!([admitted("redis"), admitted("hyper")], [10, 10]);
        let next = state.count("redis", start + WINDOW);
        assert_eq!(next, Verdict { is_admitted: true, is_first_refusal: false, refused: 990 });
        assert_eq!(state.count("redis", start + WINDOW).refused, 0, "reported once");
    }

    #[test]
    fn the_first_refusal_of_a_window_starts_its_report() {
        let (state, start) = (State::default(), Instant::now());
        let first = |now| (0..1000).filter(|_| state.count("redis", now).is_first_refusal).count();
        assert_eq!(first(start), 1);
        assert_eq!(state.take_refused("redis"), 990);
        assert_eq!(first(start + WINDOW), 1);
    }

    #[test]
    fn the_number_of_windows_is_bounded() {
        let (state, start) = (State::default(), Instant::now());
        for library in 0..1000 {
            state.count(&format!("library{library}"), start);
        }
        assert!(state.windows.lock().unwrap().len() <= MAX_LIBRARIES + 1);
        assert!(state.take_refused("library999") > 900, "libraries beyond the bound share a window");
    }

    /// A layer that counts the events that it is given.
    #[derive(Clone, Default)]
    struct Counter(Arc<Mutex<HashMap<String, u32>>>);

    impl<S: Subscriber> Layer<S> for Counter {
        fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
            *self.0.lock().unwrap().entry(event.metadata().target().to_owned()).or_default() += 1;
        }
    }

    #[test]
    fn only_libraries_are_limited() {
        use tracing_subscriber::layer::SubscriberExt;
        let counter = Counter::default();
        let subscriber = tracing_subscriber::registry().with(LibraryLimit::default()).with(counter.clone());
        tracing::subscriber::with_default(subscriber, || {
            for _ in 0..50 {
                tracing::warn!(target: "redis::cluster_async", "a node is gone");
                tracing::debug!(target: "redis::cluster_async", "asked for by the filter");
                tracing::warn!(target: "floor_cache::layers", "our own");
                tracing::info!(target: "floors::access", "our own");
            }
        });
        let counts = counter.0.lock().unwrap();
        assert_eq!(counts["redis::cluster_async"], EVENTS + 50);
        assert_eq!((counts["floor_cache::layers"], counts["floors::access"]), (50, 50));
    }
}
