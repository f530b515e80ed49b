//! The course of a game: from the title through the floors, each fetched while the player is still on the one before,
//! to death or victory.

use bevy::prelude::*;
use climb_rules::{Action, Hero, Level, bot};
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

/// The player, or the climber of the title, stands on a new floor.
#[derive(Event, Debug)]
pub struct Entered;

/// The floor in play.
#[derive(Resource, Debug, Deref, DerefMut)]
pub struct Current(pub Level);

/// The climb so far.
#[derive(Resource, Debug)]
pub struct Journey {
    /// Where it began.
    pub first: RequestFloor,
    /// The floor that the player is on or on the way to.
    pub request: RequestFloor,
    /// The player as they left the last floor.
    pub hero: Hero,
    /// How the floor was served: by which tier, and in which time.
    pub served: String,
    pub trouble: String,
}

/// The game without its looks. Its systems run in `Update`, those that show the changes of a frame in `PostUpdate`.
pub struct PlayPlugin {
    pub first: FloorSpec,
}

impl Plugin for PlayPlugin {
    fn build(&self, app: &mut App) {
        let systems = (
            confirm.run_if(not(in_state(GameState::Climbing))),
            enter_floor.run_if(in_state(GameState::Loading)),
            take_turn.run_if(in_state(GameState::Climbing)),
            play_title.run_if(in_state(GameState::Title)),
        );
        app.init_state::<GameState>()
            .insert_resource(Journey::from(RequestFloor(self.first.clone())))
            .add_message::<Order>()
            .add_systems(OnEnter(GameState::Title), request_floor)
            .add_systems(OnEnter(GameState::Loading), request_floor)
            // What was pressed before the floor was there is no order on it.
            .add_systems(OnEnter(GameState::Climbing), |mut orders: ResMut<Messages<Order>>| orders.clear())
            .add_systems(Update, systems);
    }
}

impl Journey {
    fn from(first: RequestFloor) -> Self {
        let request = first.clone();
        Self { first, request, hero: Hero::default(), served: String::new(), trouble: String::new() }
    }
}

/// Starts a climb, a new one after a death, or goes on.
fn confirm(
    mut orders: MessageReader<Order>,
    mut journey: ResMut<Journey>,
    mut next: ResMut<NextState<GameState>>,
    state: Res<State<GameState>>,
) {
    if orders.read().any(|order| *order == Order::Confirm) && *state != GameState::Loading {
        if *state == GameState::Dead {
            *journey = Journey::from(journey.first.clone());
        }
        next.set(GameState::Loading);
    }
}

/// Requests the floor, unless it was requested ahead. Requests it again if that failed.
fn request_floor(
    journey: Res<Journey>,
    requests: Query<(Entity, &RequestFloor), Without<FloorFailed>>,
    failed: Query<Entity, With<FloorFailed>>,
    mut commands: Commands,
) {
    failed.iter().for_each(|entity| commands.entity(entity).despawn());
    if !requests.iter().any(|(_, request)| *request == journey.request) {
        // Cancels the requests of another climb.
        requests.iter().for_each(|(entity, _)| commands.entity(entity).despawn());
        commands.spawn(journey.request.clone());
    }
}

/// Enters the floor when it is there, and requests the one after it.
fn enter_floor(
    mut journey: ResMut<Journey>,
    requests: Query<(Entity, &RequestFloor, AnyOf<(&FloorArrived, &FloorFailed)>)>,
    mut next: ResMut<NextState<GameState>>,
    mut commands: Commands,
) {
    let Some((entity, _, result)) = requests.iter().find(|(_, request, _)| **request == journey.request) else {
        return;
    };
    match result {
        (Some(arrived), _) => {
            journey.served = served(arrived);
            enter(arrived, journey.hero.clone(), &mut commands);
            commands.entity(entity).despawn();
            commands.spawn_batch(journey.request.next());
            next.set(GameState::Climbing);
        }
        (None, failed) => {
            journey.trouble = failed.map(|failed| failed.error.to_string()).unwrap_or_default();
            next.set(GameState::Failed);
        }
    }
}

fn enter(arrived: &FloorArrived, hero: Hero, commands: &mut Commands) {
    commands.insert_resource(Current(Level::new(arrived.floor.clone(), hero)));
    commands.trigger(Entered);
}

/// Which tier served a floor, and how long that took in the server and as a whole.
fn served(FloorArrived { served, took, .. }: &FloorArrived) -> String {
    let milliseconds = |time: std::time::Duration| format!("{:.1} ms", time.as_secs_f64() * 1e3);
    let in_server = served.server_time.map(|time| format!(" (server {})", milliseconds(time)));
    format!("{} in {}{}", served.by, milliseconds(*took), in_server.unwrap_or_default())
}

/// The rules run here and now; only floors come from the server.
fn take_turn(
    mut orders: MessageReader<Order>,
    mut level: ResMut<Current>,
    mut journey: ResMut<Journey>,
    mut next: ResMut<NextState<GameState>>,
) {
    let Some(Order::Turn(action)) = orders.read().next() else { return };
    level.act(*action);
    if level.is_lost() {
        next.set(GameState::Dead);
    } else if level.is_left() {
        journey.hero = level.hero.clone();
        journey.hero.rest();
        // The last floor of the tower has nothing above it.
        journey.request = journey.request.next().unwrap_or_else(|| journey.request.clone());
        next.set(if level.floor.kind() == FloorKind::Boss { GameState::Won } else { GameState::Loading });
    }
}

/// A climber plays by itself on the first floor, again and again.
fn play_title(
    level: Option<ResMut<Current>>,
    arrived: Query<&FloorArrived>,
    mut frame: Local<u32>,
    mut commands: Commands,
) {
    *frame += 1;
    if let Some(mut level) = level.filter(|level| !level.is_left() && !level.is_lost()) {
        if frame.is_multiple_of(TITLE_PACE) {
            let action = bot::choose(&level);
            level.act(action);
        }
    } else if let Some(arrived) = arrived.iter().next() {
        enter(arrived, Hero::default(), &mut commands);
    }
}
