//! The words on the screen: how the player is, what they have, what just happened, and where floors come from.

use bevy::prelude::*;
use climb_rules::{Hero, Level, Ware};
use floor_client::plugin::{FloorArrived, FloorFailed, FloorServer};

use crate::{
    art::{NIGHT, size},
    play::{Current, GameState, Journey, Rules},
    sealed::SealedClimb,
};

const INK: Color = Color::srgb(0.88, 0.86, 0.80);
const GOLD: Color = Color::srgb(0.96, 0.80, 0.36);
const BLOOD: Color = Color::srgb(0.72, 0.16, 0.17);
const SCAR: Color = Color::srgb(0.22, 0.08, 0.09);
const HELP: &str = "Climb ten floors, and strike down the lord of the tenth.\n\n\
arrows, WASD or the pad: walk, open, strike     space: wait and search\n\
Q: drink a potion     1 2 3: buy from a merchant     M: the map     escape: quit\n\nreturn or start begins";

/// Writes the words.
pub struct HudPlugin;

impl Plugin for HudPlugin {
    fn build(&self, app: &mut App) {
        let is_played = resource_exists_and_changed::<Current>.and_then(not(in_state(GameState::Title)));
        let write = (write_player.run_if(is_played), write_source, open_panel.run_if(state_changed::<GameState>));
        app.add_systems(Startup, spawn).add_systems(Update, write.after(Rules));
    }
}

/// How the player is. Written anew after each turn.
#[derive(Component)]
struct Status;

/// What just happened.
#[derive(Component)]
struct NewsLine;

/// Where floors come from.
#[derive(Component)]
struct Source;

fn spawn(mut commands: Commands) {
    let lines = Node { bottom: px(0), padding: px(8).all(), flex_direction: FlexDirection::Column, ..strip() };
    commands.spawn((
        lines,
        BackgroundColor(NIGHT),
        children![(NewsLine, text("", 15.0, GOLD)), (Source, text("", 13.0, INK))],
    ));
}

/// Across the screen.
fn strip() -> Node {
    Node {
        position_type: PositionType::Absolute,
        width: percent(100),
        padding: px(10).horizontal(),
        row_gap: px(4),
        ..default()
    }
}

fn text(words: impl Into<String>, height: f32, colour: Color) -> impl Bundle {
    (Text::new(words), size(height), TextColor(colour), TextLayout::justify(Justify::Center))
}

fn write_player(
    level: Res<Current>,
    sealed: Option<Res<SealedClimb>>,
    mut news_line: Single<&mut Text, With<NewsLine>>,
    old: Query<Entity, With<Status>>,
    mut commands: Commands,
) {
    old.iter().for_each(|part| commands.entity(part).despawn());
    let bar = Node {
        height: px(32),
        align_items: AlignItems::Center,
        justify_content: JustifyContent::SpaceBetween,
        ..strip()
    };
    commands.spawn((
        Status,
        bar,
        BackgroundColor(NIGHT),
        children![
            health(level.hero()),
            text(belongings(&level), 15.0, INK),
            text(place(&level, sealed.is_some()), 15.0, GOLD)
        ],
    ));
    if level.merchant().is_some() {
        let above_news = Node { bottom: px(56), justify_content: JustifyContent::Center, ..strip() };
        commands.spawn((Status, above_news, BackgroundColor(NIGHT), children![text(offer(level.hero()), 15.0, INK)]));
    }
    let news: Vec<_> = level.news.iter().map(|news| &*news.words).collect();
    if !news.is_empty() {
        news_line.0 = news.join("  ");
    }
}

/// A bar, and a number on it.
fn health(Hero { health, most_health, .. }: &Hero) -> impl Bundle {
    let bar = Node { width: px(170), height: px(20), padding: px(8).left(), ..default() };
    let share = 100.0 * *health as f32 / *most_health as f32;
    let blood = Node {
        position_type: PositionType::Absolute,
        left: px(0),
        width: percent(share),
        height: percent(100),
        ..default()
    };
    let number = text(format!("health {health}/{most_health}"), 15.0, Color::WHITE);
    (bar, BackgroundColor(SCAR), children![(blood, BackgroundColor(BLOOD)), number])
}

fn belongings(level: &Level) -> String {
    let hero = level.hero();
    let ill = match (level.poison(), level.held()) {
        (1.., _) => "  poisoned",
        (_, 1..) => "  in a net",
        _ => "",
    };
    let keys: String = level.keys().map(|key| format!("  key {key}")).collect();
    let worn = format!("attack {}  armour {}", hero.attack, hero.armour);
    format!("{worn}  potions {}  gold {}{keys}{ill}", hero.potions, hero.gold)
}

/// Where the player is. The seed of a sealed tower is a secret, and its name is on the receipt.
fn place(level: &Level, is_sealed: bool) -> String {
    let (spec, theme) = (level.floor.spec(), level.floor.theme());
    let kind = level.floor.kind().as_str_name().trim_start_matches("FLOOR_KIND_").to_lowercase();
    let name = level.floor.name();
    let called = if name.is_empty() { String::new() } else { format!("{name}, ") };
    let of_tower = if is_sealed { String::new() } else { format!(" of tower {}", spec.seed) };
    format!("{called}floor {}{of_tower}: {theme} {kind}", spec.number)
}

/// What the player can buy from a merchant.
fn offer(hero: &Hero) -> String {
    let [potion, blade, mail] = [Ware::Potion, Ware::Blade, Ware::Mail].map(|ware| hero.price(ware));
    format!("merchant:   1 potion, {potion} gold   2 better blade, {blade}   3 stronger mail, {mail}")
}

fn write_source(
    journey: Res<Journey>,
    server: Res<FloorServer>,
    sealed: Option<Res<SealedClimb>>,
    failed: Query<&FloorFailed>,
    ahead: Query<(), With<FloorArrived>>,
    mut source: Single<&mut Text, With<Source>>,
) {
    let next = if ahead.is_empty() { "is on its way" } else { "is here" };
    let FloorServer { url, status } = &*server;
    let words = match (failed.iter().next(), &*journey.served, sealed) {
        (_, _, Some(climb)) => climb.words.clone(),
        (Some(FloorFailed { error }), ..) => format!("{error}. The game tries again."),
        (None, "", _) => format!("server: {status:?} {url}"),
        (None, served, _) => format!("floor {served}, the next {next}; server: {status:?} {url}"),
    };
    source.set_if_neq(Text(words));
}

/// Before and after a climb, a panel covers the upper part of the screen. The player is in the middle.
fn open_panel(
    state: Res<State<GameState>>,
    journey: Res<Journey>,
    level: Option<Res<Current>>,
    sealed: Option<Res<SealedClimb>>,
    ahead: Query<(), With<FloorArrived>>,
    mut commands: Commands,
) {
    let number = journey.request.0.number;
    let (head, words) = match (state.get(), &level) {
        (GameState::Title, _) => ("CLIMB", HELP.to_owned()),
        (GameState::Loading, _) if ahead.is_empty() => ("CLIMB", format!("Floor {number} is on its way.")),
        (GameState::Refused, _) => {
            let why = sealed.map_or_else(String::new, |climb| climb.words.clone());
            ("REFUSED", format!("{why}\n\nreturn begins a new climb"))
        }
        (GameState::Dead, Some(level)) => {
            ("YOU DIED", format!("Killed by: {}\n{}\n\nreturn climbs again", level.foe_name(), deeds(level)))
        }
        (GameState::Won, Some(level)) => {
            ("VICTORY", format!("The lord has fallen.\n{}\n\nreturn climbs on", deeds(level)))
        }
        _ => return,
    };
    let panel = Node {
        padding: px(60).top().with_bottom(px(28)),
        row_gap: px(20),
        flex_direction: FlexDirection::Column,
        align_items: AlignItems::Center,
        ..strip()
    };
    let lines = children![text(head, 56.0, GOLD), text(words, 17.0, INK)];
    commands.spawn((DespawnOnExit(*state.get()), panel, ZIndex(-1), BackgroundColor(NIGHT), lines));
}

fn deeds(level: &Level) -> String {
    let Hero { turns, slain, gold, .. } = level.hero();
    format!("floor {}, {turns} turns, {slain} slain, {gold} gold", level.floor.spec().number)
}
