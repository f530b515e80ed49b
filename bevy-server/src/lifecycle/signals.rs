//! Signals: SIGHUP reloads the configuration. Of the others the first starts the drain, and the second ends the process
//! at once.

use super::{EventSender, ServerEvent};

/// Waits for SIGTERM, Ctrl-C and SIGHUP.
#[cfg(unix)]
pub(super) async fn handle_signals(events: EventSender) {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()];
    let [Ok(mut terminate), Ok(mut interrupt), Ok(mut hangup)] = kinds.map(signal) else {
        tracing::error!("cannot listen for signals; only SIGKILL can end this server");
        return;
    };
    let mut count = 0;
    loop {
        let signal = tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
            _ = hangup.recv() => {
                events.send(ServerEvent::Reload);
                continue;
            }
        };
        drain_or_exit(&events, signal, count);
        count += 1;
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
    for count in 0.. {
        let signal = tokio::select! {
            _ = c.recv() => "Ctrl-C",
            _ = stop.recv() => "Ctrl-Break",
            _ = close.recv() => "close",
            _ = shutdown.recv() => "shutdown",
        };
        drain_or_exit(&events, signal, count);
    }
}

fn drain_or_exit(events: &EventSender, signal: &'static str, count: u32) {
    if count > 0 {
        tracing::warn!(signal, "exiting before the end of the drain");
        std::process::exit(130);
    }
    events.send(ServerEvent::Terminate(signal));
}
