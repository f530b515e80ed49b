//! Where an object of Tiled stands: <https://doc.mapeditor.org/en/stable/reference/json-map-format/#object>.

use floor_proto::v1::Point;
use serde_json::Value;

use super::{Frame, Outline, list, tilesets::Shown};

/// The cell of the middle of an object in a layer that is moved by `offset`, and its outline. The rotation goes clockwise
/// around the point of the object: its upper left corner, or that of its picture which the tileset names.
pub(super) fn read(
    object: &Value,
    offset: (f64, f64),
    shown: Option<&Shown>,
    frame: Frame,
) -> Result<(Point, Outline), String> {
    let size = match ((number(object, "width")?, number(object, "height")?), shown) {
        ((0.0, 0.0), Some(shown)) => shown.size,
        (size, _) => size,
    };
    let origin = (number(object, "x")? + offset.0, number(object, "y")? + offset.1);
    let turn = number(object, "rotation")?.to_radians();
    let on_map =
        |(x, y): (f64, f64)| (origin.0 + x * turn.cos() - y * turn.sin(), origin.1 + x * turn.sin() + y * turn.cos());
    let line = points(object, "polyline")?;
    let corners = if line.is_empty() { points(object, "polygon")? } else { line.clone() };
    let anchor = shown.map_or((0.0, 0.0), |shown| shown.anchor);
    let middle =
        if corners.is_empty() { ((0.5 - anchor.0) * size.0, (0.5 - anchor.1) * size.1) } else { middle(&corners) };
    let (x, y) = frame.cell(on_map(middle));
    let outside = || format!("at ({x}, {y}): it stands outside of the map, which has {}", frame.size());
    let at = frame.inside((x, y)).ok_or_else(outside)?;
    let end = |point: (f64, f64)| frame.inside(frame.cell(on_map(point)));
    let outline = match line[..] {
        [] if corners.is_empty() && shown.is_none() && turn == 0.0 => Outline::Area(frame.area(origin, size)),
        [] => Outline::Other,
        [first, .., last] => Outline::Line([end(first), end(last)]),
        [only] => Outline::Line([end(only), None]),
    };
    Ok((at, outline))
}

/// A number; 0 if there is none, as the format says.
pub(super) fn number(of: &Value, key: &str) -> Result<f64, String> {
    match &of[key] {
        Value::Null => Ok(0.0),
        value => value.as_f64().ok_or_else(|| format!("its `{key}` is {value}; expected a number")),
    }
}

/// The corners of a polygon or a line, from the point of the object.
fn points(object: &Value, shape: &str) -> Result<Vec<(f64, f64)>, String> {
    list(&object[shape]).map(|point| Ok((number(point, "x")?, number(point, "y")?))).collect()
}

/// The middle of the box around corners.
fn middle(corners: &[(f64, f64)]) -> (f64, f64) {
    let between = |along: &dyn Fn(&(f64, f64)) -> f64| {
        let ends = corners.iter().map(along).fold((f64::MAX, f64::MIN), |(low, high), at| (low.min(at), high.max(at)));
        f64::midpoint(ends.0, ends.1)
    };
    (between(&|corner| corner.0), between(&|corner| corner.1))
}
