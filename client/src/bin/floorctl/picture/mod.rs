//! Floors as pictures: in letters, in colour, in half-height blocks, as a PNG.
//!
//! A [`Scene`] decides what each cell shows, and what is laid over it; the drawers only choose how.

mod blocks;
mod canvas;
pub(crate) mod colour;
mod diff;
pub(crate) mod glyph;
mod layers;
mod legend;
mod overlay;
mod paths;
mod png;
mod scene;
mod sprites;
mod text;

pub(crate) use self::{
    blocks::draw as draw_blocks, diff::draw as draw_diff, legend::Legend, overlay::Overlays, png::draw as draw_png,
    scene::Scene, text::draw as draw_text,
};
