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

/// Waits for Ctrl-C.
#[cfg(not(unix))]
pub(super) async fn handle_signals(events: EventSender) {
    for count in 0.. {
        if tokio::signal::ctrl_c().await.is_err() {
            tracing::error!("cannot listen for Ctrl-C");
            return;
        }
        drain_or_exit(&events, "Ctrl-C", count);
    }
}

fn drain_or_exit(events: &EventSender, signal: &'static str, count: u32) {
    if count > 0 {
        tracing::warn!(signal, "exiting before the end of the drain");
        std::process::exit(130);
    }
    events.send(ServerEvent::Terminate(signal));
}
