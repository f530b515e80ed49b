//! Limits of how often something happens: log lines, traced calls.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Admits so many events in each window of time.
#[derive(Debug)]
pub(crate) struct RateLimit {
    events: u32,
    length: Duration,
    window: Mutex<Window>,
}

/// A window of time and its events.
#[derive(Debug, Default)]
pub(crate) struct Window {
    started: Option<Instant>,
    admitted: u32,
    refused: u64,
}

impl RateLimit {
    /// Admits `events` in each window of `length`, which starts with its first event.
    pub(crate) const fn new(events: u32, length: Duration) -> Self {
        let window = Window { started: None, admitted: 0, refused: 0 };
        Self { events, length, window: Mutex::new(window) }
    }

    /// The number of events refused since the last admitted one. `None`: this event is refused.
    pub(crate) fn admit(&self) -> Option<u64> {
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        window.admits(Instant::now(), self.events, self.length).then(|| window.take_refused())
    }
}

impl Window {
    /// Whether an event at `now` is among the first `events` of a window of `length`.
    pub(crate) fn admits(&mut self, now: Instant, events: u32, length: Duration) -> bool {
        if self.started.is_none_or(|started| now.saturating_duration_since(started) >= length) {
            self.started = Some(now);
            self.admitted = 0;
        }
        let admitted = self.admitted < events;
        if admitted {
            self.admitted += 1;
        } else {
            self.refused += 1;
        }
        admitted
    }

    /// The events that were refused since the last call.
    pub(crate) fn take_refused(&mut self) -> u64 {
        std::mem::take(&mut self.refused)
    }

    /// The events that were refused since the last [`take_refused`](Self::take_refused).
    pub(crate) const fn refused(&self) -> u64 {
        self.refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_admits_its_first_events_and_counts_the_others() {
        let length = Duration::from_secs(10);
        let (mut window, start) = (Window::default(), Instant::now());
        let admitted = (0..100).filter(|_| window.admits(start, 3, length)).count();
        assert_eq!((admitted, window.refused()), (3, 97));
        assert!(!window.admits(start + length - Duration::from_millis(1), 3, length));
        assert!(window.admits(start + length, 3, length), "the next window");
        assert_eq!(window.take_refused(), 98);
        assert_eq!(window.refused(), 0);
    }

    #[test]
    fn the_next_admitted_event_learns_how_many_were_refused() {
        let limit = RateLimit::new(2, Duration::from_secs(3600));
        assert_eq!([limit.admit(), limit.admit(), limit.admit()], [Some(0), Some(0), None]);
        let none = RateLimit::new(0, Duration::ZERO);
        assert_eq!(none.admit(), None);
    }
}
