//! The course of a game: from the title through the floors, each fetched while the player is still on the one before,
//! to death or victory.

use std::{sync::Arc, time::Duration};

use bevy::{prelude::*, time::common_conditions::on_timer};
use climb_rules::{Act, Hero, Level, bot};
use floor_client::{
    Floor, FloorKind, FloorSpec,
    plugin::{FloorArrived, FloorFailed, RequestFloor},
};

/// Time from one turn of the title's climber to the next.
const TITLE_PACE: Duration = Duration::from_millis(200);
/// Time from one try to have a floor to the next.
const RETRY: Duration = Duration::from_secs(2);

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
    /// The server does not go on with a climb that it verifies.
    Refused,
}

/// What the player orders, with keys or a gamepad.
#[derive(Message, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Turn(Act),
    /// Starts, or goes on.
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
}

/// There if the tower is sealed: then floors are not requested here, but revealed by the server.
#[derive(Resource)]
pub struct IsSealed;

/// The systems of the game without its looks, in `Update`. What shows their changes runs after them.
#[derive(SystemSet, Debug, Clone, PartialEq, Eq, Hash)]
pub struct Rules;

/// The game without its looks.
pub struct PlayPlugin {
    pub first: FloorSpec,
}

impl Plugin for PlayPlugin {
    fn build(&self, app: &mut App) {
        let systems = (
            confirm.run_if(not(in_state(GameState::Climbing))),
            enter_floor.run_if(in_state(GameState::Loading)),
            retry.run_if(on_timer(RETRY)),
            take_turn.run_if(in_state(GameState::Climbing)),
            play_title.run_if(in_state(GameState::Title).and_then(on_timer(TITLE_PACE))),
        );
        app.init_state::<GameState>()
            .insert_resource(Journey::from(RequestFloor(self.first.clone())))
            .add_message::<Order>()
            .add_systems(OnEnter(GameState::Title), request_floor.run_if(not(resource_exists::<IsSealed>)))
            .add_systems(OnEnter(GameState::Loading), request_floor.run_if(not(resource_exists::<IsSealed>)))
            // What was pressed before the floor was there is no order on it.
            .add_systems(OnEnter(GameState::Climbing), |mut orders: ResMut<Messages<Order>>| orders.clear())
            .add_systems(Update, systems.in_set(Rules));
    }
}

impl Journey {
    fn from(first: RequestFloor) -> Self {
        let request = first.clone();
        Self { first, request, hero: Hero::default(), served: String::new() }
    }
}

/// Starts a climb, a new one after its end, or goes on.
fn confirm(
    mut orders: MessageReader<Order>,
    mut journey: ResMut<Journey>,
    mut next: ResMut<NextState<GameState>>,
    state: Res<State<GameState>>,
) {
    if orders.read().any(|order| *order == Order::Confirm) && *state != GameState::Loading {
        if matches!(**state, GameState::Dead | GameState::Refused) {
            *journey = Journey::from(journey.first.clone());
        }
        next.set(GameState::Loading);
    }
}

/// Requests the floor, unless it was requested ahead.
fn request_floor(journey: Res<Journey>, requests: Query<(Entity, &RequestFloor)>, mut commands: Commands) {
    if !requests.iter().any(|(_, request)| *request == journey.request) {
        // Cancels the requests of another climb.
        requests.iter().for_each(|(entity, _)| commands.entity(entity).despawn());
        commands.spawn(journey.request.clone());
    }
}

/// Requests a floor again that could not be had.
fn retry(failed: Query<(Entity, &RequestFloor), With<FloorFailed>>, mut commands: Commands) {
    for (entity, request) in &failed {
        commands.entity(entity).insert(request.clone());
    }
}

/// Enters the floor when it is there, and requests the one after it.
fn enter_floor(
    mut journey: ResMut<Journey>,
    arrivals: Query<(Entity, &RequestFloor, &FloorArrived)>,
    mut next: ResMut<NextState<GameState>>,
    mut commands: Commands,
) {
    if let Some((entity, _, arrived)) = arrivals.iter().find(|(_, request, _)| **request == journey.request) {
        journey.served = served(arrived);
        enter(arrived.floor.clone(), journey.hero.clone(), None, &mut commands);
        commands.entity(entity).despawn();
        commands.spawn_batch(journey.request.next());
        next.set(GameState::Climbing);
    }
}

/// Puts the hero on a floor, with the seed of its rolls if a server gave one.
pub(crate) fn enter(floor: Arc<Floor>, hero: Hero, rolls: Option<u128>, commands: &mut Commands) {
    commands.insert_resource(Current(Level::new(floor, hero, rolls)));
    commands.trigger(Entered);
}

/// Which tier served a floor, and how long that took as a whole and in the server.
fn served(FloorArrived { served, took, .. }: &FloorArrived) -> String {
    let in_server = served.server_time.map(|time| format!(" (server {time:.1?})"));
    format!("{} in {took:.1?}{}", served.by, in_server.unwrap_or_default())
}

/// The rules run here and now; only floors come from the server.
fn take_turn(
    mut orders: MessageReader<Order>,
    mut level: ResMut<Current>,
    mut journey: ResMut<Journey>,
    mut next: ResMut<NextState<GameState>>,
) {
    let Some(Order::Turn(act)) = orders.read().next() else { return };
    level.act(*act);
    if level.is_lost() {
        next.set(GameState::Dead);
    } else if let Some(hero) = level.next_hero() {
        journey.hero = hero;
        // The last floor of the tower has nothing above it.
        journey.request = journey.request.next().unwrap_or_else(|| journey.request.clone());
        next.set(if level.floor.kind() == FloorKind::Boss { GameState::Won } else { GameState::Loading });
    }
}

/// A climber plays by itself on the first floor, again and again.
fn play_title(level: Option<ResMut<Current>>, arrived: Query<&FloorArrived>, mut commands: Commands) {
    if let Some(mut level) = level.filter(|level| !level.is_left() && !level.is_lost()) {
        let act = bot::choose(&level);
        level.act(act);
    } else if let Some(arrived) = arrived.iter().next() {
        enter(arrived.floor.clone(), Hero::default(), None, &mut commands);
    }
}
