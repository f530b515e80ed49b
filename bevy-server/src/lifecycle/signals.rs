//! Signals: the first starts the drain, the second ends the process at once.

use super::{EventSender, ServerEvent};

/// Waits for SIGTERM and Ctrl-C.
#[cfg(unix)]
pub(super) async fn handle_signals(events: EventSender) {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        tracing::error!("cannot listen for signals; only SIGKILL can end this server");
        return;
    };
    for count in 0.. {
        let signal = tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        };
        drain_or_exit(&events, signal, count);
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
