//! The words on the screen: what floor this is, how it was served, what the player has, and what just happened.

use bevy::{prelude::*, sprite::Anchor, window::PrimaryWindow};
use floor_client::plugin::{FloorServer, FloorServerStatus, RequestFloor};

use crate::{
    level::Level,
    play::{GameState, Happened, Journey},
};

/// Height of the bars at the top and the bottom, in pixels.
const BAR: f32 = 30.0;
const INK: Color = Color::srgb(0.88, 0.86, 0.80);
const GOLD: Color = Color::srgb(0.96, 0.80, 0.36);

/// Writes the words. Needs the camera of [`crate::view::ViewPlugin`].
pub struct HudPlugin;

impl Plugin for HudPlugin {
    fn build(&self, app: &mut App) {
        app.add_systems(PostStartup, spawn_words).add_systems(Update, (write_bars, write_middle, place).chain());
    }
}

/// A part of the screen: its place from -0.5 (left, bottom) to 0.5, and an offset from there in pixels.
#[derive(Component)]
struct Place(Vec2, Vec2);

/// What a text says.
#[derive(Component, Clone, Copy, PartialEq, Eq)]
enum Words {
    Floor,
    Server,
    Belongings,
    News,
    Title,
    Subtitle,
}

/// A bar behind words, as wide as the window; or, behind the title, a veil over the whole.
#[derive(Component)]
struct Backdrop {
    covers_all: bool,
}

fn spawn_words(camera: Single<Entity, With<Camera2d>>, mut commands: Commands) {
    let text = |words, size: f32, colour: Color, at: Vec2, offset: Vec2| {
        let font = TextFont::from_font_size(FontSize::Px(size));
        (words, Text2d::default(), font, TextColor(colour), Anchor(at), Place(at, offset), Transform::default())
    };
    let backdrop = |at: Vec2, covers_all| {
        let sprite = Sprite::from_color(Color::srgba(0.03, 0.03, 0.05, 0.82), Vec2::ONE);
        (Backdrop { covers_all }, sprite, Anchor(at), Place(at, Vec2::ZERO), Transform::default())
    };
    let [top, bottom] = [Anchor::TOP_LEFT.0, Anchor::BOTTOM_LEFT.0];
    let [inset, inset_right] = [Vec2::new(10.0, 7.0), Vec2::new(-10.0, 7.0)];
    let down = |by: Vec2| Vec2::new(by.x, -by.y);
    commands.entity(*camera).with_children(|screen| {
        screen.spawn(backdrop(top, false));
        screen.spawn(backdrop(bottom, false));
        screen.spawn(backdrop(Anchor::CENTER.0, true));
        screen.spawn(text(Words::Floor, 16.0, GOLD, top, down(inset)));
        screen.spawn(text(Words::Server, 14.0, INK, Anchor::TOP_RIGHT.0, down(inset_right)));
        screen.spawn(text(Words::Belongings, 15.0, INK, bottom, inset));
        screen.spawn(text(Words::News, 15.0, GOLD, Anchor::BOTTOM_RIGHT.0, inset_right));
        screen.spawn(text(Words::Title, 56.0, GOLD, Vec2::ZERO, Vec2::new(0.0, 60.0)));
        screen.spawn((
            text(Words::Subtitle, 17.0, INK, Vec2::ZERO, Vec2::new(0.0, -20.0)),
            TextLayout::justify(Justify::Center),
        ));
    });
}

fn write_bars(
    journey: Res<Journey>,
    server: Res<FloorServer>,
    level: Option<Res<Level>>,
    ahead: Query<(), With<RequestFloor>>,
    mut happened: MessageReader<Happened>,
    mut words: Query<(&Words, &mut Text2d, &mut TextColor)>,
) {
    let news = happened.read().last().map(|Happened(outcome)| outcome.to_string());
    let Some(level) = level else { return };
    for (words, mut text, mut colour) in &mut words {
        let spec = level.floor.spec();
        let new = match words {
            Words::Floor => {
                let kind = level.floor.kind().as_str_name().trim_start_matches("FLOOR_KIND_").to_lowercase();
                format!("floor {}, {kind}   tower {}", spec.number, spec.seed)
            }
            Words::Server => {
                let (status, of_status) = status(&server);
                colour.set_if_neq(TextColor(of_status));
                let next = if ahead.is_empty() { "" } else { ", next floor requested" };
                format!("{}   {status}{next}", journey.served)
            }
            Words::Belongings => {
                let Journey { steps, gold, slain, .. } = *journey;
                let keys = if level.keys.is_empty() {
                    "none".to_owned()
                } else {
                    level.keys.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
                };
                format!("keys {keys}   gold {gold}   steps {steps}   slain {slain}")
            }
            Words::News => match &news {
                Some(news) => news.clone(),
                None => continue,
            },
            Words::Title | Words::Subtitle => continue,
        };
        text.set_if_neq_text(new);
    }
}

/// The connection in a word and a colour.
fn status(server: &FloorServer) -> (String, Color) {
    match server.status {
        FloorServerStatus::Untried => (format!("{} not asked yet", server.url), INK),
        FloorServerStatus::Answering => (format!("{} answers", server.url), Color::srgb(0.55, 0.85, 0.55)),
        FloorServerStatus::Unreachable => (format!("{} unreachable", server.url), Color::srgb(0.95, 0.45, 0.40)),
        FloorServerStatus::Offline => ("offline".to_owned(), INK),
    }
}

fn write_middle(
    state: Res<State<GameState>>,
    journey: Res<Journey>,
    mut words: Query<(&Words, &mut Text2d)>,
    mut backdrops: Query<(&Backdrop, &mut Visibility)>,
) {
    let number = journey.request.0.number;
    let (title, subtitle) = match state.get() {
        GameState::Title => (
            "CLIMB".to_owned(),
            "arrows or WASD walk, open doors and strike\nspace searches for secret doors\n\nreturn starts, escape quits"
                .to_owned(),
        ),
        GameState::Loading => (format!("floor {number}"), "is on its way".to_owned()),
        GameState::Failed => (format!("no floor {number}"), format!("{}\n\nreturn tries again", journey.trouble)),
        GameState::Climbing => (String::new(), String::new()),
    };
    for (words, mut text) in &mut words {
        match words {
            Words::Title => text.set_if_neq_text(title.clone()),
            Words::Subtitle => text.set_if_neq_text(subtitle.clone()),
            _ => {}
        }
    }
    for (_, mut visibility) in backdrops.iter_mut().filter(|(backdrop, _)| backdrop.covers_all) {
        let shown = !title.is_empty();
        visibility.set_if_neq(if shown { Visibility::Inherited } else { Visibility::Hidden });
    }
}

/// Keeps everything in its place when the window changes its size.
fn place(
    window: Single<&Window, With<PrimaryWindow>>,
    mut placed: Query<(&Place, &mut Transform, Option<(&Backdrop, &mut Sprite)>)>,
) {
    let size = window.size();
    for (Place(at, offset), mut transform, backdrop) in &mut placed {
        let z = if backdrop.is_some() { 10.0 } else { 11.0 };
        transform.set_if_neq(Transform::from_translation((*at * size + *offset).round().extend(z)));
        if let Some((backdrop, mut sprite)) = backdrop {
            sprite.custom_size = Some(if backdrop.covers_all { size } else { Vec2::new(size.x, BAR) });
        }
    }
}

/// Text that is laid out again only if it says something new.
trait SetText {
    fn set_if_neq_text(&mut self, new: String);
}

impl SetText for Mut<'_, Text2d> {
    fn set_if_neq_text(&mut self, new: String) {
        if self.0 != new {
            self.0 = new;
        }
    }
}
