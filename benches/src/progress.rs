//! The progress of a measurement with the time left, on standard error: a bar in a terminal, otherwise a line now and
//! then. Standard output is the record.

use std::{
    cell::Cell,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};

/// The time between two lines.
const LINES: Duration = Duration::from_secs(10);

/// How often a terminal is redrawn.
const REDRAW: Duration = Duration::from_millis(500);

/// A bar that fills with the planned time. It is cleared when dropped.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    /// The expected end in milliseconds after the start.
    end: Arc<AtomicU64>,
    /// When a line was printed last.
    printed: Cell<Instant>,
}

impl Progress {
    /// Starts the progress of what takes about `planned`. The time left is corrected by what took longer.
    pub fn start(planned: Duration) -> Self {
        let end = Arc::new(AtomicU64::new(millis(planned)));
        let expected = Arc::clone(&end);
        let left = move |state: &ProgressState, out: &mut dyn fmt::Write| {
            let _ = write!(out, "{}", left(&expected, state.elapsed()));
        };
        let style = ProgressStyle::with_template("{bar:30} {left} left: {msg}").expect("the template is well formed");
        let bar = ProgressBar::new(millis(planned)).with_style(style.with_key("left", left));
        if !bar.is_hidden() {
            bar.enable_steady_tick(REDRAW);
        }
        Self { bar, end, printed: Cell::new(Instant::now()) }
    }

    /// Shows `what` is measured now.
    pub fn show(&self, what: impl fmt::Display) {
        self.bar.set_message(what.to_string());
        if self.bar.is_hidden() && self.printed.get().elapsed() >= LINES {
            self.printed.set(Instant::now());
            eprintln!("{} left: {what}", left(&self.end, self.bar.elapsed()));
        }
    }

    /// Counts `part` of the planned time as done.
    pub fn advance(&self, part: Duration) {
        self.bar.inc(millis(part));
        let share = self.bar.position() as f64 / self.bar.length().unwrap_or_default() as f64;
        self.end.store(millis(self.bar.elapsed().div_f64(share)), Relaxed);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn left(end: &AtomicU64, elapsed: Duration) -> HumanDuration {
    HumanDuration(Duration::from_millis(end.load(Relaxed)).saturating_sub(elapsed))
}

fn millis(time: Duration) -> u64 {
    time.as_millis() as u64
}
