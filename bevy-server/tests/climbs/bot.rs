//! A climber who walks to the stairs by the shortest way that needs no key, and fights what bars it.

use std::collections::{HashMap, VecDeque};

use floor_proto::v1::{ClimbFloor, Floor};
use floor_rules::{Act, Direction, Level, Point, Refusal};

/// The level of a revealed floor, as its receipt says.
pub(crate) fn level(revealed: &ClimbFloor) -> Level {
    let climb = climb(revealed);
    let hero = floor_climb::hero(&climb.hero.unwrap());
    let floor = revealed.floor.as_ref().unwrap();
    Level::new(&floor_climb::rules_floor(floor).unwrap(), hero, floor_climb::rolls(&revealed.rolls).unwrap()).unwrap()
}

/// What a receipt says. Its signature is not checked.
pub(crate) fn climb(revealed: &ClimbFloor) -> floor_proto::v1::Climb {
    prost::Message::decode(&*revealed.receipt.as_ref().unwrap().climb).unwrap()
}

/// The acts that lead to the stairs; `None` if there is no such way, or the hero dies on it.
pub(crate) fn acts(revealed: &ClimbFloor) -> Option<Vec<u8>> {
    let (mut level, mut log) = (level(revealed), Vec::new());
    while !level.is_left() {
        let floor = revealed.floor.as_ref().unwrap();
        let direction = direction(&level, floor)?;
        let is_weak = level.hero().health < 15 && level.hero().potions > 0;
        let act = if is_weak { Act::Drink } else { Act::Step(direction) };
        match level.act(act) {
            Ok(_) => log.push(act.to_byte()),
            Err(Refusal::Over) => return None,
            // Something bars the way: wait a turn.
            Err(_) => {
                level.act(Act::Search).ok()?;
                log.push(Act::Search.to_byte());
            }
        }
        if level.is_lost() || log.len() > 2_000 {
            return None;
        }
    }
    Some(log)
}

/// The first step of the shortest way to the stairs over ground that is open or has a door without a lock.
fn direction(level: &Level, floor: &Floor) -> Option<Direction> {
    let (start, goal) = (level.at(), level.exit());
    let mut came: HashMap<Point, Direction> = HashMap::new();
    let mut queue = VecDeque::from([goal]);
    let size = floor.spec.as_ref().unwrap();
    while let Some(at) = queue.pop_front() {
        for direction in Direction::ALL {
            let Some(to) = at.step(direction) else { continue };
            let is_inside = u32::from(to.x) < size.width && u32::from(to.y) < size.height;
            if is_inside && to != goal && !came.contains_key(&to) && (level.can_pass(to) || to == start) {
                came.insert(to, back(direction));
                queue.push_back(to);
            }
        }
    }
    came.get(&start).copied()
}

const fn back(direction: Direction) -> Direction {
    match direction {
        Direction::North => Direction::South,
        Direction::South => Direction::North,
        Direction::West => Direction::East,
        Direction::East => Direction::West,
    }
}
