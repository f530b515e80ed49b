//! The server's states, the runner that sleeps until the next event, signals, and what systemd is told of the states.

mod runner;
mod signals;
#[cfg(target_os = "linux")]
mod systemd;

use bevy::{prelude::*, state::app::StatesPlugin};

pub use runner::{EventSender, ServerEvent};

use crate::runtime::TokioHandle;

/// The state of the server.
#[derive(States, Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Phase {
    /// Ports are bound and health reports NOT_SERVING, until the app is wired.
    #[default]
    Starting,
    /// Calls are answered.
    Serving,
    /// Clients are asked to disconnect. Their calls are answered until they have, or until the drain's deadline.
    Draining,
}

/// Adds [`Phase`] and [`EventSender`], handles [`ServerEvent`]s and signals, and installs the runner.
///
/// Events are read in `PreUpdate`, so a state transition runs in the same update.
#[derive(Debug)]
pub struct LifecyclePlugin;

impl Plugin for LifecyclePlugin {
    fn build(&self, app: &mut App) {
        let (sender, receiver) = runner::channel();
        app.add_plugins(StatesPlugin)
            .insert_resource(sender)
            .init_state::<Phase>()
            .add_message::<ServerEvent>()
            .add_systems(PostStartup, enter_serving)
            .add_systems(PreUpdate, handle_events)
            .set_runner(move |app| runner::run(app, &receiver));
        #[cfg(target_os = "linux")]
        app.add_systems(OnEnter(Phase::Serving), systemd::report_serving)
            .add_systems(OnEnter(Phase::Draining), systemd::report_draining);
    }

    fn finish(&self, app: &mut App) {
        let events = app.world().resource::<EventSender>().clone();
        app.world().resource::<TokioHandle>().spawn(signals::handle_signals(events));
    }
}

/// Whether a reload was requested, as a condition of systems.
pub(crate) fn reload_requested(mut events: MessageReader<'_, '_, ServerEvent>) -> bool {
    events.read().filter(|event| matches!(event, ServerEvent::Reload)).count() > 0
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
            ServerEvent::Terminate(_) | ServerEvent::Reload | ServerEvent::Wake => {}
            ServerEvent::Drained { complete } => {
                tracing::info!(complete, "stopped");
                exit.write(AppExit::Success);
            }
        }
    }
}
