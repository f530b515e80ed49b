//! The words on the screen: how the player is, what they have, what just happened, and where floors come from.

use bevy::{prelude::*, sprite::Anchor, text::TextBounds, window::PrimaryWindow};
use climb_rules::{Level, Ware};
use floor_client::plugin::{FloorArrived, FloorServer, FloorServerStatus, RequestFloor};

use crate::{
    art,
    play::{Current, GameState, Happened, Journey, Playing},
};

/// Height of the bars behind the words at the top and the bottom, in pixels.
pub const BAR: f32 = 32.0;
/// The bar of the player's health, in pixels.
const HEALTH: Vec2 = Vec2::new(170.0, 20.0);
/// Locks of a floor whose keys have a place at the top.
const KEYS: u32 = 8;
/// Turns for which the first floor explains the keys.
const LESSON: u32 = 25;
const INK: Color = Color::srgb(0.88, 0.86, 0.80);
const GOLD: Color = Color::srgb(0.96, 0.80, 0.36);
const GREEN: Color = Color::srgb(0.55, 0.85, 0.55);
const RED: Color = Color::srgb(0.95, 0.45, 0.40);
const HELP: &str = "Climb ten floors, and strike down the lord of the tenth.\n\n\
arrows, WASD or the pad: walk, open, strike     space: wait and search     Q: drink a potion\n\
1 2 3: buy from a merchant     M: the map     escape: quit\n\nreturn or start begins";
const LESSON_WORDS: &str = "arrows walk, open doors and strike     space waits and searches     Q drinks";

/// Writes the words. Needs the camera of [`crate::view::ViewPlugin`].
pub struct HudPlugin;

impl Plugin for HudPlugin {
    fn build(&self, app: &mut App) {
        app.add_systems(PostStartup, spawn_words)
            .add_systems(Update, (write, write_keys, place).chain().after(Playing));
    }
}

/// A place on the screen: from -0.5 (left, bottom) to 0.5, and an offset from there in pixels.
#[derive(Component)]
pub struct Place(pub Vec2, pub Vec2);

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

/// A dark rectangle behind words, as wide as the window, and of this height.
#[derive(Component)]
struct Backdrop(f32);

/// The red of the health bar.
#[derive(Component)]
struct Blood;

fn spawn_words(camera: Single<Entity, With<Camera2d>>, mut commands: Commands) {
    let text = |size: f32, colour: Color, at: Anchor, x: f32, y: f32| {
        let font = TextFont::from_font_size(FontSize::Px(size));
        let layout = TextLayout::justify(Justify::Center);
        (Text2d::default(), font, layout, TextColor(colour), at, Place(at.0, Vec2::new(x, y)))
    };
    let backdrop = |at: Anchor, height| {
        let sprite = Sprite::from_color(Color::srgba(0.03, 0.03, 0.05, 0.85), Vec2::ONE);
        (Backdrop(height), sprite, at, Place(at.0, Vec2::ZERO))
    };
    let bar = |colour| {
        let place = Place(Anchor::TOP_LEFT.0, Vec2::new(8.0, -6.0));
        (Sprite::from_color(colour, HEALTH), Anchor::TOP_LEFT, place)
    };
    commands.entity(*camera).with_children(|screen| {
        screen.spawn(backdrop(Anchor::TOP_CENTER, BAR));
        screen.spawn(backdrop(Anchor::BOTTOM_CENTER, BAR));
        screen.spawn((backdrop(Anchor::CENTER, 300.0), Words::Title));
        screen.spawn(bar(Color::srgb(0.22, 0.08, 0.09)));
        screen.spawn((Blood, bar(Color::srgb(0.72, 0.16, 0.17))));
        screen.spawn((Words::Health, text(15.0, Color::WHITE, Anchor::TOP_LEFT, 16.0, -7.0)));
        screen.spawn((Words::Belongings, text(15.0, INK, Anchor::TOP_LEFT, 190.0, -7.0)));
        for lock in 1..=KEYS {
            let place = text(17.0, art::lock(lock), Anchor::TOP_LEFT, 590.0 + 18.0 * lock as f32, -6.0);
            screen.spawn((Key(lock), place));
        }
        screen.spawn((Words::Floor, text(15.0, GOLD, Anchor::TOP_RIGHT, -10.0, -7.0)));
        screen.spawn((Words::News, text(15.0, GOLD, Anchor::BOTTOM_LEFT, 10.0, 8.0)));
        screen.spawn((Words::Server, text(13.0, INK, Anchor::BOTTOM_RIGHT, -10.0, 9.0)));
        screen.spawn((Words::Hint, text(15.0, INK, Anchor::BOTTOM_CENTER, 0.0, BAR + 8.0)));
        screen.spawn((Words::Title, text(56.0, GOLD, Anchor::CENTER, 0.0, 80.0)));
        let subtitle = (Words::Subtitle, text(17.0, INK, Anchor::CENTER, 0.0, -40.0));
        screen.spawn((subtitle, TextBounds::new_horizontal(960.0)));
    });
}

fn write(
    (state, journey, server, level): (Res<State<GameState>>, Res<Journey>, Res<FloorServer>, Option<Res<Current>>),
    ahead: Query<Has<FloorArrived>, With<RequestFloor>>,
    mut happened: MessageReader<Happened>,
    mut words: Query<(&Words, &mut Text2d, &mut TextColor)>,
    mut blood: Single<&mut Sprite, With<Blood>>,
) {
    let news: Vec<String> = happened.read().map(|Happened(outcome)| outcome.to_string()).collect();
    let news = news.into_iter().filter(|news| !news.is_empty()).collect::<Vec<_>>().join("  ");
    let in_play = level.as_ref().filter(|_| *state.get() != GameState::Title);
    if in_play.is_none() {
        blood.custom_size = Some(Vec2::ZERO);
    }
    for (words, mut text, mut colour) in &mut words {
        let new = match (words, in_play) {
            (Words::Title, _) => title(*state.get(), &journey),
            (Words::Subtitle, _) => subtitle(*state.get(), &journey, in_play.map(|level| &***level)),
            (Words::Server, _) => {
                let (status, of_status) = status(&server);
                colour.set_if_neq(TextColor(of_status));
                let next = if ahead.iter().any(|arrived| arrived) { "is here" } else { "is on its way" };
                match in_play {
                    None => status,
                    Some(_) => {
                        format!("moves are yours at once; floors arrive: {}, {status}; the next {next}", journey.served)
                    }
                }
            }
            (_, None) => String::new(),
            (Words::Health, Some(level)) => {
                let share = level.hero.health as f32 / level.hero.most_health as f32;
                blood.custom_size = Some(HEALTH * Vec2::new(share, 1.0));
                format!("health {}/{}", level.hero.health, level.hero.most_health)
            }
            (Words::Belongings, Some(level)) => belongings(level),
            (Words::Floor, Some(level)) => {
                let kind = level.floor.kind().as_str_name().trim_start_matches("FLOOR_KIND_").to_lowercase();
                format!(
                    "floor {} of tower {}: {} {kind}",
                    level.floor.spec().number,
                    level.floor.spec().seed,
                    level.floor.theme()
                )
            }
            (Words::News, _) => {
                if news.is_empty() {
                    text.0.clone()
                } else {
                    news.clone()
                }
            }
            (Words::Hint, Some(level)) => hint(level),
        };
        if text.0 != new {
            text.0 = new;
        }
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
    let deeds = level
        .map(|Level { hero, .. }| format!("{} turns, {} monsters slain, {} gold", hero.turns, hero.slain, hero.gold));
    let (number, deeds) = (journey.request.0.number, deeds.unwrap_or_default());
    match state {
        GameState::Title => HELP.to_owned(),
        GameState::Loading => "is on its way".to_owned(),
        GameState::Climbing => String::new(),
        GameState::Dead => {
            let killer = journey.killer.replace('_', " ");
            format!("Killed by {killer} on floor {number}.\n{deeds}\n\nreturn climbs again from the first floor")
        }
        GameState::Won => {
            format!("The lord of floor {} has fallen.\n{deeds}\n\nreturn climbs on", number.saturating_sub(1))
        }
        GameState::Failed => format!("{}\n\nreturn tries again", journey.trouble),
    }
}

fn belongings(Level { hero, poison, held, .. }: &Level) -> String {
    let ill = if *poison > 0 {
        "   poisoned"
    } else if *held > 0 {
        "   in a net"
    } else {
        ""
    };
    format!("attack {}  armour {}  potions {}  gold {}{ill}   keys", hero.attack, hero.armour, hero.potions, hero.gold)
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

fn write_keys(level: Option<Res<Current>>, mut keys: Query<(&Key, &mut Text2d)>) {
    let has = |lock| level.as_ref().is_some_and(|level| level.keys.contains(&lock));
    for (Key(lock), mut text) in &mut keys {
        let digit = if has(*lock) { lock.to_string() } else { String::new() };
        if text.0 != digit {
            text.0 = digit;
        }
    }
}

/// The connection in a word and a colour.
fn status(FloorServer { url, status }: &FloorServer) -> (String, Color) {
    let url = url.trim_start_matches("http://");
    match status {
        FloorServerStatus::Untried => (format!("{url} not asked yet"), INK),
        FloorServerStatus::Answering => (format!("{url} answers"), GREEN),
        FloorServerStatus::Unreachable => (format!("{url} unreachable"), RED),
        FloorServerStatus::Offline => ("no server".to_owned(), INK),
    }
}

/// Keeps everything in its place when the window changes its size. Hides what stands behind no title.
fn place(
    window: Single<&Window, With<PrimaryWindow>>,
    state: Res<State<GameState>>,
    mut placed: Query<(&Place, &mut Transform, Has<Sprite>, Has<Blood>)>,
    mut backdrops: Query<(&Backdrop, &mut Sprite, Has<Words>), Without<Blood>>,
) {
    let size = window.size();
    for (Place(at, offset), mut transform, is_sprite, is_blood) in &mut placed {
        let z = 10.0
            + if is_blood {
                0.5
            } else if !is_sprite {
                1.0
            } else {
                0.0
            };
        transform.set_if_neq(Transform::from_translation((*at * size + *offset).round().extend(z)));
    }
    for (Backdrop(height), mut sprite, of_title) in &mut backdrops {
        let shown = !of_title || *state.get() != GameState::Climbing;
        sprite.custom_size = Some(Vec2::new(size.x, if shown { *height } else { 0.0 }));
    }
}
