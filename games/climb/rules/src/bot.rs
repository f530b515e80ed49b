//! A player that plays by itself, for the title, the demo and the tests. It knows what a player sees.

use glam::UVec2;

use crate::{
    Hero, Level, Mood, Sight, Ware,
    level::Action,
    ways::{STEPS, Ways},
};

/// How far it goes out of its way for an item, in steps.
const DETOUR: u32 = 25;

/// What to do in this turn.
pub fn choose(level: &Level) -> Action {
    let Hero { health, most_health, potions, .. } = level.hero;
    if health * 5 <= most_health * 2 && potions > 0 {
        return Action::Drink;
    }
    if let Some(enemy) = enemy_beside(level) {
        return step_to(level, enemy);
    }
    if let Some(ware) = level.merchant().and_then(|_| wish(&level.hero)) {
        return Action::Buy(ware);
    }
    let ways = |avoid| Ways::to(level.player, level.size(), u32::MAX, |at| is_way(level, at, avoid));
    [true, false].into_iter().find_map(|avoid_traps| go(level, &ways(avoid_traps))).unwrap_or(Action::Search)
}

/// The weakest monster beside the player.
fn enemy_beside(level: &Level) -> Option<UVec2> {
    let beside = |at: &UVec2| at.manhattan_distance(level.player) == 1;
    let enemies = level.monsters.iter().filter(|monster| monster.is_alive() && beside(&monster.at));
    enemies.min_by_key(|monster| monster.health).map(|monster| monster.at)
}

/// What it would buy with its gold.
fn wish(hero: &Hero) -> Option<Ware> {
    let next = if hero.potions < 2 {
        Ware::Potion
    } else if hero.armour < hero.attack / 3 {
        Ware::Mail
    } else {
        Ware::Blade
    };
    (hero.gold >= hero.price(next)).then_some(next)
}

/// A step to the best goal, the nearest of the first list that has one.
fn go(level: &Level, ways: &Ways) -> Option<Action> {
    let is_hurt = level.hero.health * 3 < level.hero.most_health * 2;
    let within = |limit: u32, goals: &dyn Fn(UVec2) -> bool| {
        ways.reached.iter().skip(1).copied().find(|at| goals(*at)).filter(|at| ways.steps(*at) <= Some(limit))
    };
    let shoots = |at: UVec2| {
        let monster = level.monster_at(at).map(|index| &level.monsters[index]);
        monster.is_some_and(|monster| monster.class.reach() > 1 && matches!(monster.mood, Mood::Hunting(_)))
    };
    let is_known = |at: UVec2| level.sight(at) != Sight::Unknown;
    let item = |at: UVec2| is_known(at) && level.items.contains_key(&at);
    let goal = within(8, &|at| level.sight(at) == Sight::Visible && shoots(at))
        .or_else(|| within(u32::MAX, &|at| is_hurt && is_known(at) && level.shrines.contains(&at)))
        .or_else(|| within(DETOUR, &item))
        .or_else(|| {
            within(u32::MAX, &|at| wish(&level.hero).is_some() && is_known(at) && level.merchants.contains(&at))
        })
        .or_else(|| within(u32::MAX, &|at| is_known(at) && at == level.exit() && level.bar().is_none()))
        .or_else(|| within(u32::MAX, &|at| is_frontier(level, at)))
        .or_else(|| within(u32::MAX, &item))
        .or_else(|| within(u32::MAX, &|at| level.bar().is_some_and(|boss| boss.at == at)));
    goal.map(|goal| step_to(level, first_step(ways, goal)))
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

/// Whether a known cell can be entered, by opening a door if need be.
fn is_way(level: &Level, at: UVec2, avoid_traps: bool) -> bool {
    let is_trapped = avoid_traps && level.traps.get(&at).is_some_and(|trap| trap.is_seen);
    let is_barred = at == level.exit() && level.bar().is_some();
    level.sight(at) != Sight::Unknown && level.can_pass(at) && !is_trapped && !is_barred
}

/// Whether a cell beside is unknown.
fn is_frontier(level: &Level, at: UVec2) -> bool {
    let beside = STEPS.into_iter().filter_map(|step| level.neighbour(at, step));
    beside.into_iter().any(|to| level.sight(to) == Sight::Unknown)
}
