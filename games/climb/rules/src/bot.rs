//! A player that plays by itself, for the title, the demo and the tests. It knows what a player sees.

use floor_rules::{Act, Direction, Hero, Point, Ware};

use crate::{Level, ways::Ways};

/// How far it goes for a monster that shoots, and out of its way for an item, in steps.
const CHARGE: u32 = 8;
const DETOUR: u32 = 25;

/// What to do in this turn.
pub fn choose(level: &Level) -> Act {
    let Hero { health, most_health, potions, .. } = *level.hero();
    if health * 5 <= most_health * 2 && potions > 0 {
        return Act::Drink;
    }
    if let Some(enemy) = weakest_beside(level) {
        return step_to(level, enemy);
    }
    if let Some(ware) = level.merchant().and_then(|_| wish(level.hero())) {
        return Act::Buy(ware);
    }
    let ways = |enter: &dyn Fn(Point) -> bool| Ways::to(level.at(), &level.floor, enter);
    let step = |ways: Ways| goal(level, &ways).map(|goal| step_to(level, first_step(&ways, goal)));
    let has_trap = |at| level.traps().any(|(_, trap)| trap == at);
    let past_traps = step(ways(&|at| is_way(level, at) && !has_trap(at)));
    past_traps.or_else(|| step(ways(&|at| is_way(level, at)))).unwrap_or(Act::Search)
}

fn weakest_beside(level: &Level) -> Option<Point> {
    let beside = level.at().neighbours().filter_map(|at| level.monster_at(at));
    let weakest = beside.map(|index| &level.monsters()[index]).min_by_key(|monster| monster.health);
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
fn goal(level: &Level, ways: &Ways) -> Option<Point> {
    let nearest = |limit: u32, is_wanted: &dyn Fn(Point) -> bool| {
        let within = ways.reached.iter().skip(1).take_while(|at| ways.steps(**at) <= Some(limit));
        within.copied().find(|at| is_wanted(*at))
    };
    let is_hurt = level.hero().health * 3 < level.hero().most_health * 2;
    let shoots = |at: Point| {
        let monster = level.monster_at(at).map(|index| &level.monsters()[index]).filter(|monster| monster.is_hunting());
        let is_in_reach = monster.is_some_and(|monster| at.distance(level.at()) <= monster.reach);
        is_in_reach && level.visible().contains(at)
    };
    let has_item = |at| level.items().any(|(_, item)| item == at);
    let is_frontier = |at: Point| at.neighbours().any(|to| !level.known().contains(to));
    let bar = level.bar().map(|boss| level.monsters()[boss].at);
    nearest(CHARGE, &shoots)
        .or_else(|| nearest(u32::MAX, &|at| is_hurt && level.shrines().any(|shrine| shrine == at)))
        .or_else(|| nearest(DETOUR, &has_item))
        .or_else(|| nearest(u32::MAX, &|at| wish(level.hero()).is_some() && level.merchants().contains(&at)))
        .or_else(|| nearest(u32::MAX, &|at| at == level.exit()))
        .or_else(|| nearest(u32::MAX, &is_frontier))
        .or_else(|| nearest(u32::MAX, &has_item))
        .or_else(|| nearest(u32::MAX, &|at| Some(at) == bar))
}

/// The way to the goal, back to its first cell.
fn first_step(ways: &Ways, goal: Point) -> Point {
    let mut at = goal;
    while let Some(steps) = ways.steps(at).filter(|steps| *steps > 1) {
        at = at.neighbours().find(|nearer| ways.steps(*nearer) == Some(steps - 1)).unwrap_or(at);
    }
    at
}

fn step_to(level: &Level, to: Point) -> Act {
    let direction = Direction::ALL.into_iter().find(|direction| level.at().step(*direction) == Some(to));
    direction.map_or(Act::Search, Act::Step)
}

/// Whether a known cell can be entered.
fn is_way(level: &Level, at: Point) -> bool {
    let is_barred = at == level.exit() && level.bar().is_some();
    level.known().contains(at) && level.can_pass(at) && !is_barred
}
