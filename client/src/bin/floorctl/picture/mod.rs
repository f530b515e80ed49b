//! Floors as pictures: in letters, in colour, in half-height blocks, as a PNG.
//!
//! A [`Scene`] decides what each cell shows; the drawers only choose how. What is later laid over a floor
//! (a path, a difference) is another layer of the scene and works in all of them.

mod blocks;
mod canvas;
pub(crate) mod colour;
mod diff;
pub(crate) mod glyph;
mod legend;
mod png;
mod scene;
mod sprites;
mod text;

pub(crate) use self::{
    blocks::draw as draw_blocks, diff::draw as draw_diff, legend::Legend, png::draw as draw_png, scene::Scene,
    text::draw as draw_text,
};
