//! The runner of the app: one update per event. There is no tick: between events the main thread sleeps.

use async_channel::{Receiver, Sender};
use bevy::{ecs::schedule::SingleThreadedExecutor, prelude::*};

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

/// Runs one update per event, of an app whose plugins are finished.
#[allow(clippy::needless_pass_by_value, reason = "a Bevy runner is handed the app")]
pub(super) fn run(mut app: App, events: &Receiver<ServerEvent>) -> AppExit {
    // Each system takes a few microseconds. Running it on another thread would cost more.
    for (_, schedule) in app.world_mut().resource_mut::<Schedules>().iter_mut() {
        schedule.set_executor(SingleThreadedExecutor::new());
    }
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
