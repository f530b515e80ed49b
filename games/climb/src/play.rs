//! The course of a game: from the title through the floors, each fetched while the player is still on the one before,
//! to death or victory.

use bevy::prelude::*;
use climb_rules::{Action, Hero, Level, Outcome, bot};
use floor_client::{
    FloorKind, FloorSpec,
    plugin::{FloorArrived, FloorFailed, RequestFloor},
};

/// Frames from one turn of the title's climber to the next.
const TITLE_PACE: u32 = 12;

/// Where the game stands.
#[derive(States, Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum GameState {
    /// A climber plays by itself behind the title.
    #[default]
    Title,
    /// The next floor has not arrived yet.
    Loading,
    Climbing,
    Dead,
    /// A boss has fallen, and the player has left its floor.
    Won,
    /// The next floor cannot be had; [`Journey::trouble`] says why.
    Failed,
}

/// What the player orders, with keys or a gamepad.
#[derive(Message, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Turn(Action),
    /// Starts, goes on, or tries again.
    Confirm,
}

/// What came of a turn, for whoever shows it.
#[derive(Message, Debug, Clone, PartialEq, Eq)]
pub struct Happened(pub Outcome);

/// The player, or the climber of the title, stands on a new floor.
#[derive(Message, Debug)]
pub struct Entered;

/// The floor in play.
#[derive(Resource, Debug, Deref, DerefMut)]
pub struct Current(pub Level);

/// The climb so far.
#[derive(Resource, Debug)]
pub struct Journey {
    pub first: RequestFloor,
    /// The floor that the player is on or on the way to.
    pub request: RequestFloor,
    /// How the floor was served: by which tier, and in which time.
    pub served: String,
    pub trouble: String,
    /// What killed the player.
    pub killer: String,
    /// The player as they left the last floor.
    pub hero: Hero,
}

/// Makes the changes of a frame. Whoever shows them runs after it.
#[derive(SystemSet, Debug, Clone, PartialEq, Eq, Hash)]
pub struct Playing;

/// The game without its looks.
pub struct PlayPlugin {
    pub first: FloorSpec,
}

impl Plugin for PlayPlugin {
    fn build(&self, app: &mut App) {
        let in_play = in_state(GameState::Climbing).and_then(resource_exists::<Current>);
        app.init_state::<GameState>()
            .insert_resource(Journey::to(RequestFloor(self.first.clone())))
            .add_message::<Order>()
            .add_message::<Happened>()
            .add_message::<Entered>()
            .add_systems(OnEnter(GameState::Title), request_floor)
            .add_systems(OnEnter(GameState::Loading), request_floor)
            // What was pressed before the floor was there is no order on it.
            .add_systems(OnEnter(GameState::Climbing), |mut orders: ResMut<Messages<Order>>| orders.clear())
            .add_systems(
                Update,
                (
                    confirm.run_if(not(in_state(GameState::Climbing))),
                    show_title.run_if(in_state(GameState::Title)),
                    enter_floor.run_if(in_state(GameState::Loading)),
                    take_turns.run_if(in_play),
                )
                    .in_set(Playing),
            );
    }
}

impl Journey {
    fn to(request: RequestFloor) -> Self {
        Self {
            first: request.clone(),
            request,
            served: String::new(),
            trouble: String::new(),
            killer: String::new(),
            hero: Hero::default(),
        }
    }
}

/// Starts a climb, a new one after a death, or goes on.
fn confirm(
    mut orders: MessageReader<Order>,
    mut journey: ResMut<Journey>,
    mut next: ResMut<NextState<GameState>>,
    state: Res<State<GameState>>,
) {
    if *state.get() == GameState::Loading || !orders.read().any(|order| *order == Order::Confirm) {
        return;
    }
    if *state.get() == GameState::Dead {
        *journey = Journey::to(journey.first.clone());
    }
    next.set(GameState::Loading);
}

/// Requests the floor, unless it was requested ahead. Requests it again if that failed. Cancels the other requests.
fn request_floor(
    journey: Res<Journey>,
    requests: Query<(Entity, &RequestFloor, Has<FloorFailed>)>,
    mut commands: Commands,
) {
    let (wanted, others): (Vec<_>, Vec<_>) = requests.iter().partition(|(_, request, _)| **request == journey.request);
    others.into_iter().for_each(|(entity, ..)| commands.entity(entity).despawn());
    match wanted.first() {
        None => _ = commands.spawn(journey.request.clone()),
        Some((entity, _, true)) => {
            commands.entity(*entity).remove::<FloorFailed>().insert(journey.request.clone());
        }
        Some((_, _, false)) => {}
    }
}

/// Lets a climber play by itself on the first floor when that is there, again and again.
fn show_title(
    mut level: Option<ResMut<Current>>,
    requests: Query<(&RequestFloor, &FloorArrived)>,
    journey: Res<Journey>,
    mut frame: Local<u32>,
    mut entered: MessageWriter<Entered>,
    mut commands: Commands,
) {
    *frame += 1;
    let ends = |outcome: &Outcome| matches!(outcome, Outcome::Died { .. } | Outcome::ReachedExit);
    if let Some(level) = level.as_mut() {
        if !frame.is_multiple_of(TITLE_PACE) {
            return;
        }
        let action = bot::choose(level);
        if !level.act(action).iter().any(ends) {
            return;
        }
    }
    if let Some((_, arrived)) = requests.iter().find(|(request, _)| **request == journey.request) {
        commands.insert_resource(Current(Level::new(arrived.floor.clone(), Hero::default())));
        entered.write(Entered);
    }
}

/// Enters the floor when it is there, and requests the one after it.
fn enter_floor(
    mut journey: ResMut<Journey>,
    requests: Query<(Entity, &RequestFloor, Option<&FloorArrived>, Option<&FloorFailed>)>,
    mut next: ResMut<NextState<GameState>>,
    mut entered: MessageWriter<Entered>,
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
        commands.insert_resource(Current(Level::new(arrived.floor.clone(), journey.hero.clone())));
        commands.entity(entity).despawn();
        if let Some(above) = journey.request.next() {
            commands.spawn(above);
        }
        entered.write(Entered);
        next.set(GameState::Climbing);
    }
}

/// Which tier served a floor, and how long that took in the server and as a whole.
fn served(FloorArrived { served, took, .. }: &FloorArrived) -> String {
    let milliseconds = |time: std::time::Duration| format!("{:.1} ms", time.as_secs_f64() * 1e3);
    let in_server = served.server_time.map(|time| format!(" (server {})", milliseconds(time)));
    format!("{} in {}{}", served.by, milliseconds(*took), in_server.unwrap_or_default())
}

/// The rules run here and now; only floors come from the server.
fn take_turns(
    mut orders: MessageReader<Order>,
    mut happened: MessageWriter<Happened>,
    mut level: ResMut<Current>,
    mut journey: ResMut<Journey>,
    mut next: ResMut<NextState<GameState>>,
) {
    for order in orders.read() {
        let Order::Turn(action) = order else { continue };
        for outcome in level.act(*action) {
            let end = match &outcome {
                Outcome::Died { by } => {
                    journey.killer.clone_from(by);
                    Some(GameState::Dead)
                }
                Outcome::ReachedExit => Some(climb_on(&level, &mut journey)),
                _ => None,
            };
            happened.write(Happened(outcome));
            if let Some(state) = end {
                next.set(state);
                orders.clear();
                return;
            }
        }
    }
}

/// Leaves a floor, and rests on the stairs. The last floor of the tower has nothing above it.
fn climb_on(level: &Level, journey: &mut Journey) -> GameState {
    journey.hero = level.hero.clone();
    journey.hero.heal(level.hero.most_health / 4);
    if let Some(above) = journey.request.next() {
        journey.request = above;
    }
    if level.floor.kind() == FloorKind::Boss { GameState::Won } else { GameState::Loading }
}
