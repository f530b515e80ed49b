//! The field of view. If a cell sees another one, that one sees it too: so a player sees every monster that could see the
//! player.

use std::collections::HashSet;

use glam::IVec2;

/// The cells that `origin` sees: those within `radius` with nothing opaque on the straight line between, and what is
/// opaque beside them.
pub fn seen_from(origin: IVec2, radius: i32, is_opaque: impl Fn(IVec2) -> bool) -> HashSet<IVec2> {
    let disc =
        square(radius).map(|by| origin + by).filter(|at| at.distance_squared(origin) <= radius * radius + radius);
    let open = disc.filter(|at| *at == origin || (!is_opaque(*at) && is_clear(origin, *at, &is_opaque)));
    open.flat_map(|at| square(1).map(move |by| (at, at + by)))
        .filter(|(at, to)| at == to || is_opaque(*to))
        .map(|(_, to)| to)
        .collect()
}

fn square(radius: i32) -> impl Iterator<Item = IVec2> {
    (-radius..=radius).flat_map(move |y| (-radius..=radius).map(move |x| IVec2::new(x, y)))
}

/// Whether nothing opaque lies between two cells. The line is the same in both directions.
fn is_clear(a: IVec2, b: IVec2, is_opaque: impl Fn(IVec2) -> bool) -> bool {
    let (from, to) = if a.to_array() < b.to_array() { (a, b) } else { (b, a) };
    let steps = (to - from).abs().max_element();
    let on_line = |step: i32| from.as_vec2().lerp(to.as_vec2(), step as f32 / steps as f32).round().as_ivec2();
    (1..steps).all(|step| !is_opaque(on_line(step)))
}
