//! The words on the screen: how the player is, what they have, what just happened, and where floors come from.

use bevy::prelude::*;
use climb_rules::{Level, Ware};
use floor_client::plugin::{FloorArrived, FloorServer, FloorServerStatus, RequestFloor};

use crate::{
    art,
    play::{Current, GameState, Journey},
};

/// Locks of a floor whose keys have a place at the top.
const KEYS: u32 = 8;
/// Turns for which the first floor explains the keys.
const LESSON: u32 = 25;
const NIGHT: Color = Color::srgba(0.03, 0.03, 0.05, 0.85);
const INK: Color = Color::srgb(0.88, 0.86, 0.80);
const GOLD: Color = Color::srgb(0.96, 0.80, 0.36);
const BLOOD: Color = Color::srgb(0.72, 0.16, 0.17);
const SCAR: Color = Color::srgb(0.22, 0.08, 0.09);
const HELP: &str = "Climb ten floors, and strike down the lord of the tenth.\n\n\
arrows, WASD or the pad: walk, open, strike     space: wait and search     Q: drink a potion\n\
1 2 3: buy from a merchant     M: the map     escape: quit\n\nreturn or start begins";
const LESSON_WORDS: &str = "arrows walk, open doors and strike     space waits and searches     Q drinks";

/// Writes the words.
pub struct HudPlugin;

impl Plugin for HudPlugin {
    fn build(&self, app: &mut App) {
        app.add_systems(Startup, spawn).add_systems(
            Update,
            (
                write,
                hide.run_if(state_changed::<GameState>),
                (write_keys, measure).run_if(resource_exists_and_changed::<Current>),
            ),
        );
    }
}

/// What a text says.
#[derive(Component, Clone, Copy)]
enum Words {
    Health,
    Belongings,
    Floor,
    News,
    Server,
    Hint,
    Title,
    Subtitle,
}

/// The digit of a key, if the player has it.
#[derive(Component)]
struct Key(u32);

/// The red of the health bar.
#[derive(Component)]
struct Blood;

/// The state in which a part of the screen is hidden.
#[derive(Component)]
struct HiddenIn(GameState);

fn spawn(mut commands: Commands) {
    let text = |words: Words, size: f32, colour: Color| {
        let font = TextFont::from_font_size(FontSize::Px(size));
        (words, Text::default(), font, TextColor(colour), TextLayout::justify(Justify::Center))
    };
    let bar = Node {
        position_type: PositionType::Absolute,
        width: percent(100),
        height: px(32),
        padding: px(10).horizontal(),
        column_gap: px(10),
        align_items: AlignItems::Center,
        justify_content: JustifyContent::SpaceBetween,
        ..default()
    };
    let health = Node { width: px(170), height: px(20), padding: px(8).left(), ..default() };
    let blood = Node { position_type: PositionType::Absolute, left: px(0), height: percent(100), ..default() };
    let keys: Vec<_> = (1..=KEYS).map(|lock| (Key(lock), TextSpan::default(), art::colour(art::lock(lock)))).collect();
    commands.spawn((HiddenIn(GameState::Title), bar.clone(), BackgroundColor(NIGHT))).with_children(|bar| {
        bar.spawn((health, BackgroundColor(SCAR))).with_children(|health| {
            health.spawn((Blood, blood, BackgroundColor(BLOOD)));
            health.spawn(text(Words::Health, 15.0, Color::WHITE));
        });
        bar.spawn(text(Words::Belongings, 15.0, INK)).with_children(|text| {
            for (key, span, colour) in keys {
                text.spawn((key, span, TextFont::from_font_size(FontSize::Px(17.0)), TextColor(colour)));
            }
        });
        bar.spawn(text(Words::Floor, 15.0, GOLD));
    });
    commands.spawn((Node { bottom: px(0), ..bar.clone() }, BackgroundColor(NIGHT))).with_children(|bar| {
        bar.spawn(text(Words::News, 15.0, GOLD));
        bar.spawn(text(Words::Server, 13.0, INK));
    });
    let centre = Node { justify_content: JustifyContent::Center, ..bar };
    let hint = Node { bottom: px(32), ..centre.clone() };
    commands.spawn((HiddenIn(GameState::Title), hint)).with_child(text(Words::Hint, 15.0, INK));
    let title = Node {
        top: percent(25),
        height: percent(50),
        flex_direction: FlexDirection::Column,
        row_gap: px(24),
        ..centre
    };
    commands.spawn((HiddenIn(GameState::Climbing), title, BackgroundColor(NIGHT))).with_children(|panel| {
        panel.spawn(text(Words::Title, 56.0, GOLD));
        panel.spawn(text(Words::Subtitle, 17.0, INK));
    });
}

fn hide(state: Res<State<GameState>>, mut parts: Query<(&HiddenIn, &mut Visibility)>) {
    for (HiddenIn(hidden), mut visibility) in &mut parts {
        *visibility = if hidden == state.get() { Visibility::Hidden } else { Visibility::Inherited };
    }
}

fn write(
    state: Res<State<GameState>>,
    journey: Res<Journey>,
    server: Res<FloorServer>,
    level: Option<Res<Current>>,
    ahead: Query<Has<FloorArrived>, With<RequestFloor>>,
    mut texts: Query<(&Words, &mut Text)>,
) {
    let in_play = level.filter(|_| *state != GameState::Title);
    for (words, mut text) in &mut texts {
        let new = match (words, &in_play) {
            (Words::Title, _) => title(*state.get(), &journey),
            (Words::Subtitle, level) => subtitle(*state.get(), &journey, level.as_deref().map(|level| &level.0)),
            (Words::Server, None) => status(&server),
            (Words::Server, Some(_)) => {
                let next = if ahead.iter().any(|arrived| arrived) { "is here" } else { "is on its way" };
                let (served, status) = (&journey.served, status(&server));
                format!("moves are yours at once; floors arrive: {served}, {status}; the next {next}")
            }
            (_, None) => String::new(),
            (Words::Health, Some(level)) => format!("health {}/{}", level.hero.health, level.hero.most_health),
            (Words::Belongings, Some(level)) => belongings(level),
            (Words::Floor, Some(level)) => place(level),
            (Words::News, Some(level)) => match news(level) {
                nothing if nothing.is_empty() => continue,
                news => news,
            },
            (Words::Hint, Some(level)) => hint(level),
        };
        text.set_if_neq(Text(new));
    }
}

fn title(state: GameState, journey: &Journey) -> String {
    let number = journey.request.0.number;
    match state {
        GameState::Title => "CLIMB".to_owned(),
        GameState::Loading => format!("floor {number}"),
        GameState::Climbing => String::new(),
        GameState::Dead => "YOU DIED".to_owned(),
        GameState::Won => "VICTORY".to_owned(),
        GameState::Failed => format!("no floor {number}"),
    }
}

fn subtitle(state: GameState, journey: &Journey, level: Option<&Level>) -> String {
    let end = level.map(|Level { hero, floor, foe, .. }| {
        let deeds = format!("{} turns, {} monsters slain, {} gold", hero.turns, hero.slain, hero.gold);
        (floor.spec().number, foe, deeds)
    });
    match (state, end) {
        (GameState::Title, _) => HELP.to_owned(),
        (GameState::Loading, _) => "is on its way".to_owned(),
        (GameState::Failed, _) => format!("{}\n\nreturn tries again", journey.trouble),
        (GameState::Dead, Some((number, foe, deeds))) => {
            format!("Killed by {foe} on floor {number}.\n{deeds}\n\nreturn climbs again from the first floor")
        }
        (GameState::Won, Some((number, _, deeds))) => {
            format!("The lord of floor {number} has fallen.\n{deeds}\n\nreturn climbs on")
        }
        _ => String::new(),
    }
}

fn belongings(Level { hero, poison, held, .. }: &Level) -> String {
    let ill = match (poison, held) {
        (1.., _) => "   poisoned",
        (_, 1..) => "   in a net",
        _ => "",
    };
    format!("attack {}  armour {}  potions {}  gold {}{ill}   keys ", hero.attack, hero.armour, hero.potions, hero.gold)
}

fn place(level: &Level) -> String {
    let (spec, theme) = (level.floor.spec(), level.floor.theme());
    let kind = level.floor.kind().as_str_name().trim_start_matches("FLOOR_KIND_").to_lowercase();
    format!("floor {} of tower {}: {theme} {kind}", spec.number, spec.seed)
}

fn news(level: &Level) -> String {
    level.news.iter().map(|news| &*news.words).collect::<Vec<_>>().join("  ")
}

/// What the player can do here.
fn hint(level: &Level) -> String {
    if level.merchant().is_some() {
        let [potion, blade, mail] = [Ware::Potion, Ware::Blade, Ware::Mail].map(|ware| level.hero.price(ware));
        return format!("merchant:   1 potion, {potion} gold   2 better blade, {blade}   3 stronger mail, {mail}");
    }
    let is_lesson = level.hero.turns < LESSON;
    if is_lesson { LESSON_WORDS.to_owned() } else { String::new() }
}

/// The connection in words.
fn status(FloorServer { url, status }: &FloorServer) -> String {
    match status {
        FloorServerStatus::Untried => format!("{url} not asked yet"),
        FloorServerStatus::Answering => format!("{url} answers"),
        FloorServerStatus::Unreachable => format!("{url} unreachable"),
        FloorServerStatus::Offline => "no server".to_owned(),
    }
}

fn write_keys(level: Res<Current>, mut keys: Query<(&Key, &mut TextSpan)>) {
    for (Key(lock), mut span) in &mut keys {
        span.0 = if level.keys.contains(lock) { format!(" {lock}") } else { String::new() };
    }
}

fn measure(level: Res<Current>, mut blood: Single<&mut Node, With<Blood>>) {
    blood.width = percent(100.0 * level.hero.health as f32 / level.hero.most_health as f32);
}
