//! A player that plays by itself, for the title, the demo and the tests. It knows what a player sees.

use glam::UVec2;

use crate::{
    Hero, Level, Ware,
    level::Action,
    ways::{Ways, neighbours},
};

/// How far it goes for a monster that shoots, and out of its way for an item, in steps.
const CHARGE: u32 = 8;
const DETOUR: u32 = 25;

/// What to do in this turn.
pub fn choose(level: &Level) -> Action {
    let Hero { health, most_health, potions, .. } = level.hero;
    if health * 5 <= most_health * 2 && potions > 0 {
        return Action::Drink;
    }
    if let Some(enemy) = weakest_beside(level) {
        return step_to(level, enemy);
    }
    if let Some(ware) = level.merchant().and_then(|_| wish(&level.hero)) {
        return Action::Buy(ware);
    }
    let ways = |enter: &dyn Fn(UVec2) -> bool| Ways::to(level.player, &level.floor, u32::MAX, enter);
    let step = |ways: Ways| goal(level, &ways).map(|goal| step_to(level, first_step(&ways, goal)));
    let past_traps = step(ways(&|at| is_way(level, at) && !level.seen_traps.contains(&at)));
    past_traps.or_else(|| step(ways(&|at| is_way(level, at)))).unwrap_or(Action::Search)
}

fn weakest_beside(level: &Level) -> Option<UVec2> {
    let beside = neighbours(level.player).filter_map(|at| level.monster_at(at));
    let weakest = beside.map(|index| &level.monsters[index]).min_by_key(|monster| monster.health);
    weakest.map(|monster| monster.at)
}

/// What it would buy with its gold.
fn wish(hero: &Hero) -> Option<Ware> {
    let next = match hero {
        Hero { potions: 0..2, .. } => Ware::Potion,
        Hero { armour, attack, .. } if *armour < attack / 3 => Ware::Mail,
        _ => Ware::Blade,
    };
    (hero.gold >= hero.price(next)).then_some(next)
}

/// Where to go: the nearest cell of the first wish that can be had.
fn goal(level: &Level, ways: &Ways) -> Option<UVec2> {
    let nearest = |limit: u32, is_wanted: &dyn Fn(UVec2) -> bool| {
        let within = ways.reached.iter().skip(1).take_while(|at| ways.steps(**at) <= Some(limit));
        within.copied().find(|at| is_wanted(*at))
    };
    let is_hurt = level.hero.health * 3 < level.hero.most_health * 2;
    let shoots = |at: UVec2| {
        let monster = level.monster_at(at).map(|index| &level.monsters[index]).filter(|monster| monster.is_hunting());
        let is_in_reach = monster.is_some_and(|monster| at.manhattan_distance(level.player) <= monster.reach);
        is_in_reach && level.visible.contains(&at)
    };
    let is_frontier = |at| neighbours(at).any(|to| !level.known.contains(&to));
    nearest(CHARGE, &shoots)
        .or_else(|| nearest(u32::MAX, &|at| is_hurt && level.shrines.contains(&at)))
        .or_else(|| nearest(DETOUR, &|at| level.items.contains_key(&at)))
        .or_else(|| nearest(u32::MAX, &|at| wish(&level.hero).is_some() && level.merchants.contains(&at)))
        .or_else(|| nearest(u32::MAX, &|at| at == level.exit()))
        .or_else(|| nearest(u32::MAX, &is_frontier))
        .or_else(|| nearest(u32::MAX, &|at| level.items.contains_key(&at)))
        .or_else(|| nearest(u32::MAX, &|at| level.bar().is_some_and(|boss| boss.at == at)))
}

/// The way to the goal, back to its first cell.
fn first_step(ways: &Ways, goal: UVec2) -> UVec2 {
    let mut at = goal;
    while ways.steps(at) > Some(1) {
        at = ways.around(at).min_by_key(|(_, steps)| *steps).map_or(at, |(nearer, _)| nearer);
    }
    at
}

fn step_to(level: &Level, to: UVec2) -> Action {
    Action::Step(to.as_ivec2() - level.player.as_ivec2())
}

/// Whether a known cell can be entered.
fn is_way(level: &Level, at: UVec2) -> bool {
    let is_barred = at == level.exit() && level.bar().is_some();
    level.known.contains(&at) && level.can_pass(at) && !is_barred
}
