//! What is going on, on stderr: a bar, which is hidden if stderr is not a terminal, or a line about a call that takes long.

use std::{
    io::Write as _,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};
use tokio::time::{MissedTickBehavior, interval};

use crate::output;

/// When a line says what floorctl waits for, and how long after it the next one does.
const FIRST: Duration = Duration::from_secs(2);
const NEXT: Duration = Duration::from_secs(10);

/// A bar for `floors` floors, with the rate and the remaining time.
pub(crate) fn bar(verb: &'static str, floors: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(
        "{msg} {bar:30.cyan/dim} {human_pos}/{human_len} floors  {per_sec:.cyan}  {eta} to go",
    )
    .expect("the template is well formed")
    .progress_chars("━╸─");
    ProgressBar::new(floors).with_style(style).with_message(verb)
}

/// Awaits `work`, and says every few seconds for how long it has waited for `what`.
pub(crate) async fn waiting<T>(what: impl Fn() -> String, work: impl Future<Output = T>) -> T {
    let begun = Instant::now();
    let mut work = Box::pin(work);
    if let Ok(done) = tokio::time::timeout(FIRST, work.as_mut()).await {
        return done;
    }
    let mut lines = interval(NEXT);
    lines.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            done = work.as_mut() => return done,
            _ = lines.tick() => {
                // If stderr is closed, there is nowhere to say it.
                let _ = writeln!(output::stderr(), "waiting for {} ({} s)", what(), begun.elapsed().as_secs());
            }
        }
    }
}
