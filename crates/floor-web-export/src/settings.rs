//! What the page asks for.

use std::str::FromStr;

use floor_export::{
    ExportError, ExportedFile, Format, MAX_IMAGE_SIDE, default_stem,
    picture::{self, Appearance, Legend, Overlays, Scene, Style},
};
use floor_gen::pack::{Hatch, Look, Paint};
use floor_proto::{floor::Floor, v1::View};

/// Pixels of a cell of a PNG, if the page names none: as for `floorctl render`.
const PNG_SCALE: u32 = 10;

/// How to export, as words: format (a [`Format`] or `png`), style (`data` or `map`), pixels of a cell (0: as many as
/// usual), and the look as in `looks` of floor-web.
pub(crate) struct Settings {
    /// `None`: a PNG.
    format: Option<Format>,
    appearance: Appearance,
}

impl FromStr for Settings {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words = text.split_ascii_whitespace().collect::<Vec<_>>();
        let [format, style, scale, look @ ..] = words.as_slice() else {
            return Err("the settings end too early".to_owned());
        };
        let format = match *format {
            "png" => None,
            name => Some(
                Format::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| wrong("format", name))?,
            ),
        };
        let style = match *style {
            "data" => Style::Data,
            "map" => Style::Map,
            other => return Err(wrong("style", other)),
        };
        let scale = scale.parse::<u32>().map_err(|_| wrong("scale", scale))?;
        let scale = (scale != 0).then_some(scale);
        Ok(Self { format, appearance: Appearance { look: parse_look(look)?, style, scale, is_day: false } })
    }
}

fn wrong(what: &str, word: &str) -> String {
    format!("{word} is no {what}")
}

fn parse_look(words: &[&str]) -> Result<Look, String> {
    let mut colours = [0; Paint::ALL.len()];
    let (hatch, paints) = words.split_last().ok_or("the look is missing")?;
    for (at, colour) in colours.iter_mut().enumerate() {
        let word = paints.get(at).copied().unwrap_or_default();
        *colour = u32::from_str_radix(word, 16).map_err(|_| wrong("colour", word))?;
    }
    let hatch = Hatch::NAMES.iter().position(|name| name == hatch).ok_or_else(|| wrong("hatching", hatch))?;
    Ok(Look::new(colours, Hatch::ALL[hatch]))
}

impl Settings {
    /// The files of the floor.
    pub(crate) fn files(&self, floor: &Floor) -> Result<Vec<ExportedFile>, ExportError> {
        let (width, height, scale) = (floor.width(), floor.height(), self.appearance.scale.unwrap_or(PNG_SCALE));
        if scale * width.max(height) > MAX_IMAGE_SIDE {
            return Err(ExportError::TooLarge { width: scale * width, height: scale * height });
        }
        match self.format {
            Some(format) => format.files(floor, &default_stem(floor), &self.appearance),
            None => {
                Ok(vec![ExportedFile { name: format!("{}.png", default_stem(floor)), bytes: self.png(floor, scale)? }])
            }
        }
    }

    /// The picture of `floorctl render --png`.
    fn png(&self, floor: &Floor, scale: u32) -> Result<Vec<u8>, ExportError> {
        let rooms = self.appearance.style == Style::Map && floor.spec().view() != View::Player;
        let scene = Scene::new(floor).overlaid(Overlays { rooms, ..Overlays::default() });
        let scene = scene.with_style(self.appearance.style).with_look(self.appearance.look);
        let mut png = Vec::new();
        picture::draw_png(&mut png, &scene, Some(&Legend::new(&scene)), scale)?;
        Ok(png)
    }
}
