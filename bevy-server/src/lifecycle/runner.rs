//! The runner of the app: one update per event. There is no tick: between events the main thread sleeps.

use async_channel::{Receiver, Sender};
use bevy::prelude::*;

/// An event that wakes the app.
#[derive(Message, Debug, Clone)]
pub enum ServerEvent {
    /// A signal requested the end of the server.
    Terminate(&'static str),
    /// The drain has ended.
    Drained {
        /// Whether every call in flight was answered and every queued write was stored in time.
        complete: bool,
    },
    /// A signal requested that the configuration is read again.
    Reload,
    /// A system has work to do. Systems read what it is from their own channels or clocks.
    Wake,
}

/// Sends [`ServerEvent`]s to the app from any thread.
#[derive(Resource, Debug, Clone)]
pub struct EventSender(Sender<ServerEvent>);

impl EventSender {
    /// Wakes the app with `event`.
    pub fn send(&self, event: ServerEvent) {
        // The channel is unbounded and closes only with the app.
        let _ = self.0.try_send(event);
    }
}

pub(super) fn channel() -> (EventSender, Receiver<ServerEvent>) {
    let (sender, receiver) = async_channel::unbounded();
    (EventSender(sender), receiver)
}

/// Runs one update per event.
#[allow(clippy::needless_pass_by_value, reason = "a Bevy runner is handed the app")]
pub(super) fn run(mut app: App, events: &Receiver<ServerEvent>) -> AppExit {
    app.finish();
    app.cleanup();
    loop {
        app.update();
        if let Some(exit) = app.should_exit() {
            return exit;
        }
        match events.recv_blocking() {
            Ok(event) => _ = app.world_mut().write_message(event),
            Err(_) => return AppExit::error(),
        }
    }
}
