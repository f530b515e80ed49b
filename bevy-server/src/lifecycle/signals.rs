//! Signals: SIGHUP reloads the configuration. Of the others the first starts the drain, and the second ends the process
//! at once.

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
    let now = Instant::now();
    if first.is_none() {
        events.send(ServerEvent::Terminate(signal));
    }
    if is_second(*first.get_or_insert(now), now) {
        tracing::warn!(signal, "exiting before the end of the drain");
        std::process::exit(130);
    }
}

fn is_second(first: Instant, now: Instant) -> bool {
    now.saturating_duration_since(first) > ONE_SIGNAL
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_comes_twice_at_once_is_one() {
        let first = Instant::now();
        for (millis, expected) in [(0, false), (20, false), (600, true)] {
            assert_eq!(is_second(first, first + Duration::from_millis(millis)), expected, "{millis} ms");
        }
    }
}
