//! The course of a game: from the title through the floors, each fetched while the player is still on the one before.

use bevy::prelude::*;
use floor_client::{
    FloorSpec,
    plugin::{FloorArrived, FloorFailed, RequestFloor},
};

use crate::level::{Level, Outcome};

/// Where the game stands.
#[derive(States, Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum GameState {
    #[default]
    Title,
    /// The next floor has not arrived yet.
    Loading,
    Climbing,
    /// The next floor cannot be had; [`Journey::trouble`] says why.
    Failed,
}

/// What the player does.
#[derive(Message, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Step(IVec2),
    Search,
    /// Starts, or tries again.
    Confirm,
}

/// What came of an action, for whoever shows it.
#[derive(Message, Debug, Clone, PartialEq, Eq)]
pub struct Happened(pub Outcome);

/// The climb so far.
#[derive(Resource, Debug)]
pub struct Journey {
    /// The floor that the player is on or on the way to.
    pub request: RequestFloor,
    /// How the floor was served: by which tier, and in which time.
    pub served: String,
    pub trouble: String,
    pub steps: u32,
    pub gold: u64,
    pub slain: u32,
}

/// Plays by itself: one action in `every` frames, along the way to the exit.
#[derive(Resource, Debug, Default)]
pub struct Autopilot {
    pub every: u32,
    pub frame: u32,
    /// The floor of the way.
    pub floor: u32,
    /// The next cell is the last.
    pub way: Vec<UVec2>,
}

/// The game without its looks.
pub struct PlayPlugin {
    pub first: FloorSpec,
}

impl Plugin for PlayPlugin {
    fn build(&self, app: &mut App) {
        app.init_state::<GameState>()
            .insert_resource(Journey::to(RequestFloor(self.first.clone())))
            .add_message::<Action>()
            .add_message::<Happened>()
            .add_systems(OnEnter(GameState::Loading), request_floor)
            .add_systems(
                Update,
                (
                    confirm.run_if(not(in_state(GameState::Climbing))),
                    enter_floor.run_if(in_state(GameState::Loading)),
                    (steer.run_if(resource_exists::<Autopilot>), act)
                        .chain()
                        .run_if(in_state(GameState::Climbing).and_then(resource_exists::<Level>)),
                ),
            );
    }
}

impl Journey {
    fn to(request: RequestFloor) -> Self {
        Self { request, served: String::new(), trouble: String::new(), steps: 0, gold: 0, slain: 0 }
    }
}

fn confirm(mut actions: MessageReader<Action>, mut next: ResMut<NextState<GameState>>, state: Res<State<GameState>>) {
    if actions.read().any(|action| *action == Action::Confirm) && *state.get() != GameState::Loading {
        next.set(GameState::Loading);
    }
}

/// Requests the floor, unless it was requested ahead. Requests it again if that failed.
fn request_floor(
    journey: Res<Journey>,
    requests: Query<(Entity, &RequestFloor, Has<FloorFailed>)>,
    mut commands: Commands,
) {
    match requests.iter().find(|(_, request, _)| **request == journey.request) {
        None => _ = commands.spawn(journey.request.clone()),
        Some((entity, request, true)) => _ = commands.entity(entity).remove::<FloorFailed>().insert(request.clone()),
        Some((_, _, false)) => {}
    }
}

/// Enters the floor when it is there, and requests the one after it.
fn enter_floor(
    mut journey: ResMut<Journey>,
    requests: Query<(Entity, &RequestFloor, Option<&FloorArrived>, Option<&FloorFailed>)>,
    mut next: ResMut<NextState<GameState>>,
    mut commands: Commands,
) {
    let Some((entity, _, arrived, failed)) = requests.iter().find(|(_, request, ..)| **request == journey.request)
    else {
        return;
    };
    if let Some(failed) = failed {
        journey.trouble = failed.error.to_string();
        next.set(GameState::Failed);
    }
    if let Some(arrived) = arrived {
        journey.served = served(arrived);
        commands.insert_resource(Level::new(arrived.floor.clone()));
        commands.entity(entity).despawn();
        if let Some(above) = journey.request.next() {
            commands.spawn(above);
        }
        next.set(GameState::Climbing);
    }
}

/// Which tier served a floor, and how long that took in the server and as a whole.
fn served(FloorArrived { served, took, .. }: &FloorArrived) -> String {
    let milliseconds = |time: std::time::Duration| format!("{:.1} ms", time.as_secs_f64() * 1e3);
    let in_server = served.server_time.map(|time| format!(" (server {})", milliseconds(time)));
    format!("{} in {}{}", served.by, milliseconds(*took), in_server.unwrap_or_default())
}

fn steer(mut pilot: ResMut<Autopilot>, level: Res<Level>, mut actions: MessageWriter<Action>) {
    pilot.frame += 1;
    if !pilot.frame.is_multiple_of(pilot.every) {
        return;
    }
    if pilot.way.last() == Some(&level.player) {
        pilot.way.pop();
    }
    if pilot.floor != level.floor.spec().number {
        pilot.floor = level.floor.spec().number;
        pilot.way.clear();
    }
    let step = |to: &UVec2| to.as_ivec2() - level.player.as_ivec2();
    if pilot.way.last().is_none_or(|to| step(to).length_squared() != 1) {
        pilot.way = level.plan();
    }
    if let Some(to) = pilot.way.last() {
        actions.write(Action::Step(step(to)));
    }
}

fn act(
    mut actions: MessageReader<Action>,
    mut happened: MessageWriter<Happened>,
    mut level: ResMut<Level>,
    mut journey: ResMut<Journey>,
    mut next: ResMut<NextState<GameState>>,
) {
    for action in actions.read() {
        let before = level.player;
        let outcome = match action {
            Action::Step(step) => level.step(*step),
            Action::Search => level.search(),
            Action::Confirm => continue,
        };
        journey.steps += u32::from(level.player != before);
        match &outcome {
            Outcome::PickedUp { value, .. } => journey.gold += u64::from(*value),
            Outcome::Struck { falls, .. } => journey.slain += u32::from(*falls),
            Outcome::ReachedExit => {
                // The last floor of the tower has nothing above it.
                if let Some(above) = journey.request.next() {
                    journey.request = above;
                }
                next.set(GameState::Loading);
            }
            _ => {}
        }
        let left = outcome == Outcome::ReachedExit;
        happened.write(Happened(outcome));
        if left {
            actions.clear();
            break;
        }
    }
}
