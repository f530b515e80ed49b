//! 100,000 altered receipts and logs: no receipt passes, and no log passes for one that it is not.
#![allow(clippy::unwrap_used, reason = "a panic fails the test and names the line")]

use fastrand::Rng;
use floor_climb::{SigningKey, acts_hash, hero_message, rules_floor, sign, verify};
use floor_gen::{FloorSpec, Kind};
use floor_proto::v1::{self, Climb, Receipt};
use floor_rules::{Act, Direction, Floor, Hero, Level, replay};
use prost::Message as _;

const ALTERED: usize = 50_000;

fn climb(number: u32) -> Climb {
    Climb {
        tower: "2026-11-29-0123456789abcdef".into(),
        floor: number,
        width: 100,
        height: 100,
        generator_version: 5,
        rules_version: 1,
        player: "ada".into(),
        hero: Some(hero_message(&Hero::default())),
        started_ms: 1_795_000_000_000,
        reached_ms: 1_795_000_000_000 + u64::from(number) * 60_000,
        acts_hash: acts_hash(&[], &number.to_le_bytes()),
        ..Climb::default()
    }
}

/// Changes bytes: flips bits, cuts, doubles, inserts, swaps.
fn altered(bytes: &[u8], random: &mut Rng) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let (at, other) = (random.usize(..bytes.len()), random.usize(..bytes.len()));
    match random.u8(..6) {
        0 => bytes[at] ^= 1 << random.u8(..8),
        1 => bytes.truncate(at),
        2 => bytes.extend_from_within(at..),
        3 => bytes.insert(at, random.u8(..)),
        4 => drop(bytes.remove(at)),
        _ => bytes.swap(at, other),
    }
    bytes
}

/// A climb that says something better of the player.
fn better(of: &Climb, random: &mut Rng) -> Climb {
    let mut climb = of.clone();
    let hero = climb.hero.get_or_insert_default();
    match random.u8(..8) {
        0 => climb.floor += 1 + random.u32(..1000),
        1 => climb.tower.push('x'),
        2 => climb.player = "eve".into(),
        3 => climb.reached_ms -= 1 + random.u64(..60_000),
        4 => hero.turns = hero.turns.wrapping_sub(1 + random.u32(..9)),
        5 => hero.health += 1 + random.u32(..9),
        6 => climb.tenant = "acme".into(),
        _ => climb.rules_version += 1,
    }
    climb
}

#[test]
fn no_altered_receipt_passes() {
    let (key, other) = (SigningKey::from_bytes(&[7; 32]), SigningKey::from_bytes(&[8; 32]));
    let receipts: Vec<_> = (1..=16).map(|number| sign(&climb(number), 1, &key)).collect();
    for (number, receipt) in (1..).zip(&receipts) {
        assert_eq!(verify(receipt, &key.verifying_key()), Ok(climb(number)));
    }
    let mut random = Rng::with_seed(60);
    let mut refused = 0;
    while refused < ALTERED {
        let number = random.usize(..receipts.len());
        let Receipt { climb: said, signature, .. } = receipts[number].clone();
        let changed = match random.u8(..5) {
            0 => Receipt { climb: altered(&said, &mut random), signature, key: 1 },
            1 => Receipt { signature: altered(&signature, &mut random), climb: said, key: 1 },
            2 => Receipt { climb: better(&climb(number as u32 + 1), &mut random).encode_to_vec(), signature, key: 1 },
            3 => Receipt { signature: receipts[(number + 1) % receipts.len()].signature.clone(), climb: said, key: 1 },
            _ => sign(&better(&climb(number as u32 + 1), &mut random), 1, &other),
        };
        if changed == receipts[number] {
            continue;
        }
        assert!(verify(&changed, &key.verifying_key()).is_err(), "{changed:?}");
        refused += 1;
    }
}

/// A floor, and a log that leads a hero with much health over it.
fn played(seed: u64) -> (v1::Floor, Hero, Vec<u8>) {
    let spec = FloorSpec::resolve(seed, 3, 24, 24, Some(Kind::Standard)).unwrap();
    let message = floor_wire::message(&floor_gen::generate(&spec));
    let hero = Hero { health: 500, most_health: 500, attack: 9, ..Hero::default() };
    let floor = rules_floor(&message).unwrap();
    let log = (0..).find_map(|walk| walked(&floor, &hero, seed ^ walk << 32)).unwrap();
    (message, hero, log)
}

/// The log of a random walk that comes to the stairs soon.
fn walked(floor: &Floor<'_>, hero: &Hero, seed: u64) -> Option<Vec<u8>> {
    let mut random = Rng::with_seed(seed);
    let mut level = Level::new(floor, hero.clone(), 60).unwrap();
    let (mut log, mut direction) = (Vec::new(), Direction::North);
    while log.len() < 400 && !level.is_left() && !level.is_lost() {
        let act = if random.u8(..40) == 0 { Act::Search } else { Act::Step(direction) };
        if level.act(act).is_ok() {
            log.push(act.to_byte());
        }
        if random.u8(..4) == 0 || level.events().is_empty() && random.bool() {
            direction = Direction::ALL[random.usize(..4)];
        }
    }
    (level.is_left() && !level.is_lost()).then_some(log)
}

#[test]
fn no_altered_log_passes_for_another() {
    let mut random = Rng::with_seed(60);
    let floors: Vec<_> = (0..8).map(played).collect();
    let (mut refused, mut other) = (0, 0);
    while refused + other < ALTERED {
        let index = random.usize(..floors.len());
        let (message, hero, log) = &floors[index];
        let floor = rules_floor(message).unwrap();
        let changed = match random.u8(..4) {
            // Of another floor, or with other rolls.
            0 => floors[(index + 1) % floors.len()].2.clone(),
            1 => log[..random.usize(..log.len())].to_vec(),
            2 => log.iter().copied().chain([random.u8(..12)]).collect(),
            _ => altered(log, &mut random),
        };
        if changed == *log {
            continue;
        }
        match replay(&floor, hero, 60, &changed).ok().and_then(|level| level.next_hero()) {
            None => refused += 1,
            // Another way to the stairs is a climb too: its own, with its own turns.
            Some(end) => {
                assert_eq!(end.turns as usize, changed.len());
                assert_ne!(acts_hash(&[], &changed), acts_hash(&[], log));
                other += 1;
            }
        }
    }
    println!("{refused} refused, {other} are other climbs");
    assert!(refused > ALTERED / 2);
}
