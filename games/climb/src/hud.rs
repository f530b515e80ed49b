//! The words on the screen: what floor this is, how it was served, what the player has, and what just happened.

use bevy::{prelude::*, sprite::Anchor, text::TextBounds, window::PrimaryWindow};
use floor_client::plugin::{FloorArrived, FloorServer, FloorServerStatus, RequestFloor};

use crate::{
    level::Level,
    play::{GameState, Happened, Journey},
};

/// Height of the bars behind the words at the top and the bottom, in pixels.
const BAR: f32 = 30.0;
const INK: Color = Color::srgb(0.88, 0.86, 0.80);
const GOLD: Color = Color::srgb(0.96, 0.80, 0.36);
const GREEN: Color = Color::srgb(0.55, 0.85, 0.55);
const RED: Color = Color::srgb(0.95, 0.45, 0.40);
const HELP: &str = "arrows or WASD walk, open doors and strike\nspace searches for secret doors\n
return starts, escape quits";

/// Writes the words. Needs the camera of [`crate::view::ViewPlugin`].
pub struct HudPlugin;

impl Plugin for HudPlugin {
    fn build(&self, app: &mut App) {
        app.add_systems(PostStartup, spawn_words).add_systems(Update, (write, place).chain());
    }
}

/// A place on the screen: from -0.5 (left, bottom) to 0.5, and an offset from there in pixels.
#[derive(Component)]
struct Place(Vec2, Vec2);

/// What a text says.
#[derive(Component, Clone, Copy)]
enum Words {
    Floor,
    Server,
    Belongings,
    News,
    Title,
    Subtitle,
}

/// A dark rectangle behind words, as wide as the window, and of this height.
#[derive(Component)]
struct Backdrop(f32);

fn spawn_words(camera: Single<Entity, With<Camera2d>>, mut commands: Commands) {
    let text = |words, size: f32, colour: Color, at: Anchor, x: f32, y: f32| {
        let font = TextFont::from_font_size(FontSize::Px(size));
        let layout = TextLayout::justify(Justify::Center);
        (words, Text2d::default(), font, layout, TextColor(colour), at, Place(at.0, Vec2::new(x, y)))
    };
    let backdrop = |at: Anchor, height| {
        let sprite = Sprite::from_color(Color::srgba(0.03, 0.03, 0.05, 0.82), Vec2::ONE);
        (Backdrop(height), sprite, at, Place(at.0, Vec2::ZERO))
    };
    commands.entity(*camera).with_children(|screen| {
        screen.spawn(backdrop(Anchor::TOP_CENTER, BAR));
        screen.spawn(backdrop(Anchor::BOTTOM_CENTER, BAR));
        screen.spawn((backdrop(Anchor::CENTER, 260.0), Words::Title));
        screen.spawn(text(Words::Floor, 16.0, GOLD, Anchor::TOP_LEFT, 10.0, -6.0));
        screen.spawn(text(Words::Server, 14.0, INK, Anchor::TOP_RIGHT, -10.0, -7.0));
        screen.spawn(text(Words::Belongings, 15.0, INK, Anchor::BOTTOM_LEFT, 10.0, 7.0));
        screen.spawn(text(Words::News, 15.0, GOLD, Anchor::BOTTOM_RIGHT, -10.0, 7.0));
        screen.spawn(text(Words::Title, 56.0, GOLD, Anchor::CENTER, 0.0, 60.0));
        let subtitle = text(Words::Subtitle, 17.0, INK, Anchor::CENTER, 0.0, -30.0);
        screen.spawn((subtitle, TextBounds::new_horizontal(900.0)));
    });
}

fn write(
    (state, journey, server, level): (Res<State<GameState>>, Res<Journey>, Res<FloorServer>, Option<Res<Level>>),
    ahead: Query<Has<FloorArrived>, With<RequestFloor>>,
    mut happened: MessageReader<Happened>,
    mut words: Query<(&Words, &mut Text2d, &mut TextColor)>,
) {
    let news = happened.read().map(|Happened(outcome)| outcome.to_string()).filter(|news| !news.is_empty()).last();
    let number = journey.request.0.number;
    for (words, mut text, mut colour) in &mut words {
        let new = match (words, state.get(), &level) {
            (Words::Title, GameState::Title, _) => "CLIMB".to_owned(),
            (Words::Title, GameState::Loading, _) => format!("floor {number}"),
            (Words::Title, GameState::Failed, _) => format!("no floor {number}"),
            (Words::Subtitle, GameState::Title, _) => HELP.to_owned(),
            (Words::Subtitle, GameState::Loading, _) => "is on its way".to_owned(),
            (Words::Subtitle, GameState::Failed, _) => format!("{}\n\nreturn tries again", journey.trouble),
            (Words::Title | Words::Subtitle, GameState::Climbing, _) => String::new(),
            (_, _, None) => continue,
            (Words::Floor, _, Some(level)) => {
                let kind = level.floor.kind().as_str_name().trim_start_matches("FLOOR_KIND_").to_lowercase();
                let next = if ahead.iter().any(|arrived| arrived) { "   next ready" } else { "" };
                format!("floor {}, {kind}   tower {}{next}", level.floor.spec().number, level.floor.spec().seed)
            }
            (Words::Server, ..) => {
                let (status, of_status) = status(&server);
                colour.set_if_neq(TextColor(of_status));
                format!("{}   {status}", journey.served)
            }
            (Words::Belongings, _, Some(level)) => {
                let keys = level.keys.iter().map(|key| format!(" {key}")).collect::<String>();
                let keys = if keys.is_empty() { " none" } else { &keys };
                format!("keys{keys}   gold {}   steps {}   slain {}", journey.gold, journey.steps, journey.slain)
            }
            (Words::News, ..) => news.clone().unwrap_or_else(|| text.0.clone()),
        };
        if text.0 != new {
            text.0 = new;
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
        FloorServerStatus::Offline => ("offline".to_owned(), INK),
    }
}

/// Keeps everything in its place when the window changes its size. Hides what stands behind no title.
fn place(
    window: Single<&Window, With<PrimaryWindow>>,
    state: Res<State<GameState>>,
    mut placed: Query<(&Place, &mut Transform, Option<(&Backdrop, &mut Sprite)>, Has<Words>)>,
) {
    let size = window.size();
    for (Place(at, offset), mut transform, backdrop, of_title) in &mut placed {
        let z = if backdrop.is_some() { 10.0 } else { 11.0 };
        transform.set_if_neq(Transform::from_translation((*at * size + *offset).round().extend(z)));
        if let Some((Backdrop(height), mut sprite)) = backdrop {
            let shown = !of_title || *state.get() != GameState::Climbing;
            sprite.custom_size = Some(Vec2::new(size.x, if shown { *height } else { 0.0 }));
        }
    }
}
