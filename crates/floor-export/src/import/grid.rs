//! Cells of a map, and the way from an editor's pixels to them.

use floor_proto::v1::Point;
use serde_json::Value;

use super::{ImportError, wrong};

/// Pixels are rounded to this share of a cell, since a rotation leaves less than that of the true value.
const ROUNDING: f64 = 1e-6;

/// The size of a map in cells, and of a cell in pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) width: u32,
    pub(super) height: u32,
    cell: (f64, f64),
}

impl Frame {
    pub(super) fn new(width: u32, height: u32, cell: (u32, u32)) -> Self {
        Self { width, height, cell: (f64::from(cell.0), f64::from(cell.1)) }
    }

    /// The cell of a point in pixels.
    pub(super) fn cell(&self, (x, y): (f64, f64)) -> (i64, i64) {
        let cell = |pixels: f64, side: f64| (pixels / side + ROUNDING).floor() as i64;
        (cell(x, self.cell.0), cell(y, self.cell.1))
    }

    /// A cell of the map. `None` if it lies outside.
    pub(super) fn inside(&self, (x, y): (i64, i64)) -> Option<Point> {
        let point = Point { x: x.try_into().ok()?, y: y.try_into().ok()? };
        (point.x < self.width && point.y < self.height).then_some(point)
    }

    /// The first and the last cell of a rectangle in pixels.
    pub(super) fn area(&self, (x, y): (f64, f64), (width, height): (f64, f64)) -> [(i64, i64); 2] {
        let (end_x, end_y) =
            self.cell((x + width - 2.0 * ROUNDING * self.cell.0, y + height - 2.0 * ROUNDING * self.cell.1));
        [self.cell((x, y)), (end_x, end_y)]
    }

    /// By how many cells a layer is moved. `None` if it does not stand on the cells of the map.
    pub(super) fn shift(&self, (x, y): (f64, f64)) -> Option<(i64, i64)> {
        let whole = |pixels: f64, side: f64| {
            let cells = pixels / side;
            ((cells - cells.round()).abs() < ROUNDING).then(|| cells.round() as i64)
        };
        Some((whole(x, self.cell.0)?, whole(y, self.cell.1)?))
    }

    /// `30x16 cells`.
    pub(super) fn size(&self) -> String {
        format!("{}x{} cells", self.width, self.height)
    }
}

/// The values of a layer, row-major. Cells that the layer does not name keep the value for empty ones.
pub(super) struct Cells {
    frame: Frame,
    values: Vec<u8>,
}

impl Cells {
    pub(super) fn new(frame: Frame, empty: u8) -> Self {
        Self { frame, values: vec![empty; (frame.width * frame.height) as usize] }
    }

    /// Whether the cell is on the map.
    pub(super) fn put(&mut self, at: (i64, i64), value: u8) -> bool {
        let cell = self.frame.inside(at);
        if let Some(Point { x, y }) = cell {
            self.values[(y * self.frame.width + x) as usize] = value;
        }
        cell.is_some()
    }

    pub(super) fn into_values(self) -> Vec<u8> {
        self.values
    }
}

/// `(3, 4)`, or `(3, 4) and 12 more cells`.
pub(super) fn places(cells: &[(i64, i64)]) -> String {
    let at = cells.first().map_or_else(String::new, |(x, y)| format!("({x}, {y})"));
    match cells.len() {
        0 | 1 => at,
        2 => format!("{at} and 1 more cell"),
        count => format!("{at} and {} more cells", count - 1),
    }
}

/// A size of a map, in cells.
pub(super) fn side(document: &Value, key: &str, cell: u32) -> Result<u32, ImportError> {
    let found = document[key].as_u64().and_then(|pixels| u32::try_from(pixels).ok()).map(|pixels| pixels / cell);
    let most = u32::from(floor_gen::FloorSpec::MAX_SIDE);
    found
        .filter(|side| (1..=most).contains(side))
        .ok_or_else(|| wrong(format!("`{key}` is {}; a floor has 1 to {most} cells", document[key])))
}
