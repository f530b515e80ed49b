//! Signals: SIGHUP reloads the configuration. Of the others the first starts the drain, and a later one ends the process at
//! once.

use std::time::{Duration, Instant};

use super::{EventSender, ServerEvent};

/// Signals within this time are one: a wrapper passes on the Ctrl-C that the terminal has sent to both, and wine reports
/// some twice.
const ONE_SIGNAL: Duration = Duration::from_millis(500);

/// Waits for SIGTERM, Ctrl-C and SIGHUP.
#[cfg(unix)]
pub(super) async fn handle_signals(events: EventSender) {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()];
    let [Ok(mut terminate), Ok(mut interrupt), Ok(mut hangup)] = kinds.map(signal) else {
        tracing::error!("cannot listen for signals; only SIGKILL can end this server");
        return;
    };
    let mut first = None;
    loop {
        let signal = tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
            _ = hangup.recv() => {
                events.send(ServerEvent::Reload);
                continue;
            }
        };
        drain_or_exit(&events, signal, &mut first);
    }
}

/// Waits for Ctrl-C, Ctrl-Break, the end of the console and the shutdown of the system. Windows has no signal to reload.
#[cfg(windows)]
pub(super) async fn handle_signals(events: EventSender) {
    use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_shutdown};
    let (Ok(mut c), Ok(mut stop), Ok(mut close), Ok(mut shutdown)) =
        (ctrl_c(), ctrl_break(), ctrl_close(), ctrl_shutdown())
    else {
        tracing::error!("cannot listen for Ctrl-C; only the task manager can end this server");
        return;
    };
    let mut first = None;
    loop {
        let signal = tokio::select! {
            _ = c.recv() => "Ctrl-C",
            _ = stop.recv() => "Ctrl-Break",
            _ = close.recv() => "close",
            _ = shutdown.recv() => "shutdown",
        };
        drain_or_exit(&events, signal, &mut first);
    }
}

fn drain_or_exit(events: &EventSender, signal: &'static str, first: &mut Option<Instant>) {
    match meaning(first, Instant::now()) {
        Meaning::Drain => events.send(ServerEvent::Terminate(signal)),
        Meaning::Repeated => {}
        Meaning::Exit => {
            tracing::warn!(signal, "exiting before the end of the drain");
            std::process::exit(130);
        }
    }
}

/// What a signal to end means.
#[derive(Debug, PartialEq, Eq)]
enum Meaning {
    Drain,
    /// The one before, again.
    Repeated,
    Exit,
}

/// The meaning of a signal at `now`. Sets `first`, the time of the first one.
fn meaning(first: &mut Option<Instant>, now: Instant) -> Meaning {
    match *first {
        None => {
            *first = Some(now);
            Meaning::Drain
        }
        Some(first) if now.saturating_duration_since(first) < ONE_SIGNAL => Meaning::Repeated,
        Some(_) => Meaning::Exit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_comes_twice_at_once_is_one() {
        let (start, mut first) = (Instant::now(), None);
        let signals = [(0, Meaning::Drain), (0, Meaning::Repeated), (300, Meaning::Repeated), (600, Meaning::Exit)];
        for (millis, expected) in signals {
            assert_eq!(meaning(&mut first, start + Duration::from_millis(millis)), expected, "{millis} ms");
        }
    }
}
