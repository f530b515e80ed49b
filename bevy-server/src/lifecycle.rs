//! The server's states, its events, the runner that sleeps until the next event, and the count of calls in flight.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use async_channel::{Receiver, Sender};
use bevy::prelude::*;
use tokio::{runtime::Handle, sync::Notify};

use crate::prefetch::StepBatch;

/// The state of the server.
#[derive(States, Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Phase {
    /// Ports are bound and health reports NOT_SERVING, until the app is wired.
    #[default]
    Starting,
    /// Calls are answered.
    Serving,
    /// Calls in flight finish; new calls are refused.
    Draining,
}

/// An event that wakes the app. There is no tick: between events the main thread sleeps.
#[derive(Message, Debug, Clone)]
pub enum ServerEvent {
    /// A signal requested the end of the server.
    Terminate(&'static str),
    /// The drain has ended.
    Drained {
        /// Whether every call in flight was answered and every queued write was stored in time.
        complete: bool,
    },
    /// Climbers took steps. Empty when a climber may have timed out or a prefetch may start.
    Steps(StepBatch),
}

/// Adds [`Phase`], handles [`ServerEvent`]s, and installs the runner.
///
/// Events are read in `PreUpdate`, so a state transition runs in the same update.
#[derive(Debug)]
pub struct LifecyclePlugin {
    /// The runtime that waits for signals.
    pub runtime: Handle,
}

impl Plugin for LifecyclePlugin {
    fn build(&self, app: &mut App) {
        let (sender, receiver) = async_channel::unbounded();
        let sender = EventSender(sender);
        self.runtime.spawn(handle_signals(sender.clone()));
        app.insert_resource(sender)
            .init_state::<Phase>()
            .add_message::<ServerEvent>()
            .add_systems(PostStartup, enter_serving)
            .add_systems(PreUpdate, handle_events)
            .set_runner(move |app| run(app, &receiver));
    }
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

/// Runs one update per event.
#[allow(clippy::needless_pass_by_value, reason = "a Bevy runner is handed the app")]
fn run(mut app: App, events: &Receiver<ServerEvent>) -> AppExit {
    app.finish();
    app.cleanup();
    loop {
        app.update();
        if let Some(exit) = app.should_exit() {
            return exit;
        }
        match events.recv_blocking() {
            Ok(ServerEvent::Steps(batch)) => _ = app.world_mut().write_message(batch),
            Ok(event) => _ = app.world_mut().write_message(event),
            Err(_) => return AppExit::error(),
        }
    }
}

fn enter_serving(mut next: ResMut<'_, NextState<Phase>>) {
    next.set(Phase::Serving);
}

fn handle_events(
    mut events: MessageReader<'_, '_, ServerEvent>,
    phase: Res<'_, State<Phase>>,
    mut next: ResMut<'_, NextState<Phase>>,
    mut exit: MessageWriter<'_, AppExit>,
) {
    for event in events.read() {
        match event {
            ServerEvent::Terminate(signal) if *phase.get() != Phase::Draining => {
                tracing::info!(signal, "draining");
                next.set(Phase::Draining);
            }
            ServerEvent::Terminate(_) | ServerEvent::Steps(_) => {}
            ServerEvent::Drained { complete } => {
                tracing::info!(complete, "stopped");
                exit.write(AppExit::Success);
            }
        }
    }
}

/// SIGTERM or Ctrl-C starts the drain. A second signal ends the process at once.
#[cfg(unix)]
async fn handle_signals(events: EventSender) {
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

/// Ctrl-C starts the drain. A second Ctrl-C ends the process at once.
#[cfg(not(unix))]
async fn handle_signals(events: EventSender) {
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

/// Counts the calls in flight and refuses new ones once closed.
#[derive(Resource, Debug, Clone, Default)]
pub struct InFlight(Arc<InFlightState>);

#[derive(Debug, Default)]
struct InFlightState {
    closed: AtomicBool,
    count: AtomicUsize,
    idle: Notify,
}

impl InFlight {
    /// Counts a call until the guard is dropped. `None` once closed.
    #[must_use]
    pub fn try_begin(&self) -> Option<InFlightGuard> {
        // Increment before reading `closed`, so that `idle` cannot miss a call that was admitted.
        self.0.count.fetch_add(1, Ordering::SeqCst);
        let guard = InFlightGuard(Arc::clone(&self.0));
        (!self.0.closed.load(Ordering::SeqCst)).then_some(guard)
    }

    /// Refuses further calls.
    pub fn close(&self) {
        self.0.closed.store(true, Ordering::SeqCst);
    }

    /// Waits until no call is in flight. Call [`close`](Self::close) first.
    pub async fn idle(&self) {
        loop {
            let idle = self.0.idle.notified();
            if self.0.count.load(Ordering::SeqCst) == 0 {
                return;
            }
            idle.await;
        }
    }
}

/// Keeps a call in flight: from its headers until its answer is sent.
#[derive(Debug)]
pub struct InFlightGuard(Arc<InFlightState>);

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        if self.0.count.fetch_sub(1, Ordering::SeqCst) == 1 && self.0.closed.load(Ordering::SeqCst) {
            self.0.idle.notify_waiters();
        }
    }
}
