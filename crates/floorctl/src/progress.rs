//! What is going on, on stderr: in a terminal a bar or the time that a call takes, otherwise a line about a long call.

use std::{
    fmt,
    io::Write as _,
    time::{Duration, Instant},
};

use indicatif::{HumanCount, ProgressBar, ProgressState, ProgressStyle};
use tokio::time::{MissedTickBehavior, interval};

use crate::output;

/// When floorctl says what it waits for, and how long after it the next line does.
const FIRST: Duration = Duration::from_secs(2);
const NEXT: Duration = Duration::from_secs(10);
/// How often a terminal is redrawn.
const REDRAW: Duration = Duration::from_millis(100);
/// The characters of the bar of a [`timer`].
const WIDTH: usize = 20;

/// A bar for `floors` floors, with the rate and the remaining time. Dropping it clears it.
pub(crate) fn bar(verb: &'static str, floors: u64) -> ProgressBar {
    let rate = |state: &ProgressState, out: &mut dyn fmt::Write| {
        let _ = match state.per_sec() {
            rate if rate < 10.0 => write!(out, "{rate:.1}/s"),
            rate => write!(out, "{}/s", HumanCount(rate as u64)),
        };
    };
    let template = "{msg} {wide_bar:.cyan/dim} {human_pos}/{human_len} floors  {rate:.cyan}  {eta} to go";
    let style = style(template).with_key("rate", rate).progress_chars("━╸─");
    redrawn(ProgressBar::new(floors).with_style(style).with_message(verb))
}

/// A bar that fills up in `time`.
pub(crate) fn timer(verb: &'static str, time: Duration) -> ProgressBar {
    let left = move |state: &ProgressState, out: &mut dyn fmt::Write| {
        let _ = out.write_str(&remaining(state.elapsed(), time));
    };
    redrawn(ProgressBar::no_length().with_style(style("{msg} {left}").with_key("left", left)).with_message(verb))
}

/// The time since a call of unknown length began.
pub(crate) fn clock(verb: &'static str) -> ProgressBar {
    redrawn(ProgressBar::no_length().with_style(style("{msg} ({elapsed})")).with_message(verb))
}

/// Awaits `work`. If that takes long, `bar` says for what it waits, and without a terminal a line every few seconds.
pub(crate) async fn waiting<T>(bar: &ProgressBar, what: impl Fn() -> String, work: impl Future<Output = T>) -> T {
    let begun = Instant::now();
    let mut work = Box::pin(work);
    if let Ok(done) = tokio::time::timeout(FIRST, work.as_mut()).await {
        return done;
    }
    if !bar.is_hidden() {
        bar.set_message(format!("waiting for {}", what()));
        return work.await;
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

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is well formed")
}

/// Redraws the bar while nothing is counted.
fn redrawn(bar: ProgressBar) -> ProgressBar {
    if !bar.is_hidden() {
        bar.enable_steady_tick(REDRAW);
    }
    bar
}

/// `━━━━━━━━━━──────────  3 s to go`.
fn remaining(elapsed: Duration, time: Duration) -> String {
    let done = (elapsed.div_duration_f64(time).min(1.0) * WIDTH as f64) as usize;
    let left = time.saturating_sub(elapsed).as_secs_f64().ceil();
    format!("{}{}  {left} s to go", "━".repeat(done), "─".repeat(WIDTH - done))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_shows_what_is_left() {
        let at = |seconds| remaining(Duration::from_secs_f64(seconds), Duration::from_secs(6));
        assert_eq!(at(0.0), "────────────────────  6 s to go");
        assert_eq!(at(2.1), "━━━━━━━─────────────  4 s to go");
        assert_eq!(at(9.0), "━━━━━━━━━━━━━━━━━━━━  0 s to go");
    }
}
