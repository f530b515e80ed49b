//! Draws floors as text, in half-height blocks and as PNG files.
//!
//! A [`Scene`] decides what each cell shows, and holds the overlays. The `draw` functions decide how it looks.

mod blocks;
mod canvas;
mod card;
pub(crate) mod colour;
mod contour;
mod diff;
pub mod glyph;
mod hand;
mod hatch;
mod layers;
mod legend;
mod map;
mod overlay;
mod paths;
mod png;
mod scene;
mod sheet;
mod sprites;
mod symbol_table;
mod symbols;
mod text;
pub(crate) mod tiles;

pub use self::{
    blocks::draw as draw_blocks,
    card::draw as draw_card,
    colour::Depth,
    diff::draw as draw_diff,
    legend::Legend,
    overlay::Overlays,
    png::draw as draw_png,
    scene::{Appearance, Scene, Style},
    sheet::draw as draw_sheet,
    text::draw as draw_text,
};
