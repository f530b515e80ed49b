//! The words on the screen: how the player is, what they have, what just happened, and where floors come from.

use bevy::prelude::*;
use climb_rules::{Level, Ware};
use floor_client::plugin::{FloorArrived, FloorServer, FloorServerStatus, RequestFloor};

use crate::play::{Current, GameState, Journey};

const NIGHT: Color = Color::srgba(0.03, 0.03, 0.05, 0.85);
const INK: Color = Color::srgb(0.88, 0.86, 0.80);
const GOLD: Color = Color::srgb(0.96, 0.80, 0.36);
const BLOOD: Color = Color::srgb(0.72, 0.16, 0.17);
const SCAR: Color = Color::srgb(0.22, 0.08, 0.09);
const HELP: &str = "Climb ten floors, and strike down the lord of the tenth.\n\n\
arrows, WASD or the pad: walk, open, strike     space: wait and search     Q: drink a potion\n\
1 2 3: buy from a merchant     M: the map     escape: quit\n\nreturn or start begins";
/// Writes the words.
pub struct HudPlugin;

impl Plugin for HudPlugin {
    fn build(&self, app: &mut App) {
        app.add_systems(Startup, spawn).add_systems(
            Update,
            (write, hide.run_if(state_changed::<GameState>), measure.run_if(resource_exists_and_changed::<Current>)),
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

/// The red of the health bar.
#[derive(Component)]
struct Blood;

/// The state in which a part of the screen is hidden.
#[derive(Component)]
struct HiddenIn(GameState);

fn spawn(mut commands: Commands) {
    let text = |words: Words, size: f32, colour: Color| {
        let font = TextFont::from_font_size(FontSize::Px(size));
        let wraps = matches!(words, Words::Subtitle);
        let linebreak = if wraps { LineBreak::WordBoundary } else { LineBreak::NoWrap };
        (words, Text::default(), font, TextColor(colour), TextLayout::new(Justify::Center, linebreak))
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
    commands.spawn((HiddenIn(GameState::Title), bar.clone(), BackgroundColor(NIGHT))).with_children(|bar| {
        bar.spawn((health, BackgroundColor(SCAR))).with_children(|health| {
            health.spawn((Blood, blood, BackgroundColor(BLOOD)));
            health.spawn(text(Words::Health, 15.0, Color::WHITE));
        });
        bar.spawn(text(Words::Belongings, 15.0, INK));
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
    let (head, below) = panel(*state.get(), &journey, in_play.as_deref().map(|level| &level.0));
    for (words, mut text) in &mut texts {
        let new = match (words, &in_play) {
            (Words::Title, _) => head.clone(),
            (Words::Subtitle, _) => below.clone(),
            (Words::Server, None) => status(&server),
            (Words::Server, Some(_)) => {
                let next = if ahead.iter().any(|arrived| arrived) { "is here" } else { "is on its way" };
                let (served, status) = (&journey.served, status(&server));
                format!("floor {served}, {status}; the next {next}")
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

/// The words of the panel: its head, and what is below.
fn panel(state: GameState, journey: &Journey, level: Option<&Level>) -> (String, String) {
    let number = journey.request.0.number;
    let end = level.map(|Level { hero, floor, foe, .. }| {
        let deeds = format!("{} turns, {} monsters slain, {} gold", hero.turns, hero.slain, hero.gold);
        (floor.spec().number, foe, deeds)
    });
    match (state, end) {
        (GameState::Title, _) => ("CLIMB".to_owned(), HELP.to_owned()),
        (GameState::Failed, _) => (format!("no floor {number}"), format!("{}\n\nreturn tries again", journey.trouble)),
        (GameState::Dead, Some((number, foe, deeds))) => {
            let words = format!("Killed by {foe} on floor {number}.\n{deeds}\n\nreturn climbs again");
            ("YOU DIED".to_owned(), words)
        }
        (GameState::Won, Some((number, _, deeds))) => {
            let words = format!("The lord of floor {number} has fallen.\n{deeds}\n\nreturn climbs on");
            ("VICTORY".to_owned(), words)
        }
        _ => (format!("floor {number}"), "is on its way".to_owned()),
    }
}

fn belongings(Level { hero, poison, held, keys, .. }: &Level) -> String {
    let ill = match (poison, held) {
        (1.., _) => "   poisoned",
        (_, 1..) => "   in a net",
        _ => "",
    };
    let keys: String = keys.iter().map(|key| format!(" {key}")).collect();
    let worn = format!("attack {}  armour {}", hero.attack, hero.armour);
    format!("{worn}  potions {}  gold {}{ill}   keys{keys}", hero.potions, hero.gold)
}

fn place(level: &Level) -> String {
    let (spec, theme) = (level.floor.spec(), level.floor.theme());
    let kind = level.floor.kind().as_str_name().trim_start_matches("FLOOR_KIND_").to_lowercase();
    format!("floor {} of tower {}: {theme} {kind}", spec.number, spec.seed)
}

fn news(level: &Level) -> String {
    level.news.iter().map(|news| &*news.words).collect::<Vec<_>>().join("  ")
}

/// What the player can buy here.
fn hint(level: &Level) -> String {
    let [potion, blade, mail] = [Ware::Potion, Ware::Blade, Ware::Mail].map(|ware| level.hero.price(ware));
    let offer = format!("merchant:   1 potion, {potion} gold   2 better blade, {blade}   3 stronger mail, {mail}");
    level.merchant().map_or_else(String::new, |_| offer)
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

fn measure(level: Res<Current>, mut blood: Single<&mut Node, With<Blood>>) {
    blood.width = percent(100.0 * level.hero.health as f32 / level.hero.most_health as f32);
}
