//! The numbers that a pack may set, in one table: group, name, unit, range and meaning. The parser's checks, the
//! reference in docs/packs.md and the JSON Schema come from it. The defaults are those of `packs/tower/pack.toml`.

use super::forms::Forms;

/// A number that a pack may set.
#[derive(Debug, Clone, Copy)]
pub struct Param {
    /// The table of pack.toml that holds it.
    pub group: &'static str,
    /// Its key.
    pub name: &'static str,
    /// What it counts.
    pub unit: &'static str,
    /// Its least value.
    pub least: u32,
    /// Its greatest value.
    pub greatest: u32,
    /// What it means.
    pub meaning: &'static str,
    pub(crate) place: fn(&mut Params) -> &mut u32,
}

/// A list of forms that a pack may set, under the key `forms` of a group.
pub(crate) struct FormsParam {
    pub(crate) group: &'static str,
    pub(crate) place: fn(&mut Params) -> &mut Forms,
}

macro_rules! params {
    ($($group:ident $Group:ident { $($(#[doc = $meaning:literal])+ $name:ident: $unit:literal $least:literal, $greatest:literal;)+ })+) => {
        $(
            #[derive(Debug, Clone, Copy, Default)]
            pub(crate) struct $Group {
                $($(#[doc = $meaning])+ pub(crate) $name: u32,)+
            }
        )+

        /// All numbers, as they are for one kind of floor.
        #[derive(Debug, Clone, Copy, Default)]
        pub(crate) struct Params {
            $(pub(crate) $group: $Group,)+
            pub(crate) forms: FormLists,
        }

        /// The table.
        pub static PARAMS: &[Param] = &[$($(Param {
            group: stringify!($group),
            name: stringify!($name),
            unit: $unit,
            least: $least,
            greatest: $greatest,
            meaning: concat!($($meaning),+),
            place: |params| &mut params.$group.$name,
        },)+)+];
    };
}

/// The forms that rooms are drawn from.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FormLists {
    pub(crate) rooms: Forms,
    pub(crate) niches: Forms,
    pub(crate) halls: Forms,
    pub(crate) cyclic: Forms,
    pub(crate) boss: Forms,
}

/// The groups with a list of forms.
pub(crate) static FORMS: [FormsParam; 5] = [
    FormsParam { group: "rooms", place: |params| &mut params.forms.rooms },
    FormsParam { group: "niches", place: |params| &mut params.forms.niches },
    FormsParam { group: "halls", place: |params| &mut params.forms.halls },
    FormsParam { group: "cyclic", place: |params| &mut params.forms.cyclic },
    FormsParam { group: "boss", place: |params| &mut params.forms.boss },
];

/// The groups that a kind cannot set for itself: they are used before the kind is known.
pub(crate) const PACK_WIDE: [&str; 1] = ["schedule"];

params! {
    schedule Schedule {
        /// Width of a floor whose request names none.
        width: "cells" 16, 512;
        /// Height of a floor whose request names none.
        height: "cells" 16, 512;
        /// Every so many floors is a boss floor; 0: none.
        boss_interval: "floors" 0, 100;
        /// One of so many floors is a story floor; 0: none.
        story_interval: "floors" 0, 1_000;
        /// Which of them.
        story_offset: "floors" 0, 999;
        /// Floors of one theme.
        floors_per_theme: "floors" 1, 1_000_000;
    }
    curve Curve {
        /// The level of a floor is the root of its number times this ...
        level_scale: "levels squared" 0, 400;
        /// ... less this, and at least 1.
        level_less: "levels" 0, 100;
        /// Parts of a floor, each a rest and a rise.
        acts: "acts" 1, 9;
        /// Share of an act that its rest takes.
        rest: "thousandths" 0, 999;
        /// Strength of a room in the first rest; the share of a full room's.
        rest_strength: "thousandths" 0, 5_000;
        /// What each act adds to it.
        rest_growth: "thousandths" 0, 5_000;
        /// Strength of a room where the first rise begins.
        rise_strength: "thousandths" 0, 5_000;
        /// What each act adds to it.
        rise_growth: "thousandths" 0, 5_000;
        /// What a rise adds from its begin to its end.
        rise_span: "thousandths" 0, 5_000;
    }
    rooms Rooms {
        /// Cells of floor and rock for each room.
        cells: "cells" 100, 20_000;
        /// Rooms of the smallest floor.
        least: "rooms" 2, 50;
        /// Least width of a room, of the distance from one room to the next.
        width_least: "per cent" 10, 200;
        /// Greatest width.
        width_most: "per cent" 10, 200;
        /// Least height.
        height_least: "per cent" 10, 200;
        /// Greatest height.
        height_most: "per cent" 10, 200;
        /// Longest corridor, of the distance from one room to the next ...
        corridor: "per cent" 0, 200;
        /// ... and in cells.
        corridor_most: "cells" 2, 40;
        /// How often a corridor leads to a new room.
        corridor_chance: "thousandths" 0, 1_000;
        /// How often a connection has a door.
        door_chance: "thousandths" 0, 1_000;
        /// Failed attempts after which a room takes no more neighbours.
        failures: "attempts" 1, 50;
        /// Rooms and sides compared for each attempt.
        compared: "sides" 1, 32;
        /// Attempts to place a shape before another one is drawn.
        tries: "attempts" 1, 32;
    }
    locks Locks {
        /// Rooms for each lock on the way to the exit.
        rooms_per_lock: "rooms" 1, 255;
        /// Floors of so many rooms have a lock at least.
        first_lock: "rooms" 2, 255;
        /// The most locks on the way to the exit.
        most: "locks" 0, 8;
        /// Floors of so many rooms have a locked room with loot.
        first_vault: "rooms" 2, 255;
        /// The lowest floor number with a locked room with loot.
        vault_from: "floor number" 1, 1_000_000;
        /// Rooms for each secret room.
        rooms_per_secret: "rooms" 1, 255;
        /// The most secret rooms.
        most_secrets: "rooms" 0, 8;
        /// Where rooms lie open to each other: cells for each lock.
        cells_per_lock: "cells" 500, 300_000;
        /// Floors of so many cells have a lock at least.
        first_lock_cells: "cells" 256, 300_000;
        /// The most locks there.
        most_nested: "locks" 0, 8;
        /// Floors of so many cells have a locked room with loot.
        first_vault_cells: "cells" 256, 300_000;
        /// Floors of so many cells have a second one.
        second_vault_cells: "cells" 256, 300_000;
        /// Cells for each secret room.
        cells_per_secret: "cells" 500, 300_000;
    }
    niches Niches {
        /// Greatest width of a niche.
        width: "cells" 3, 20;
        /// Greatest height of a niche.
        height: "cells" 3, 20;
        /// Longest corridor to a niche.
        corridor: "cells" 1, 20;
        /// How often a corridor leads to a niche.
        corridor_chance: "thousandths" 0, 1_000;
        /// Tries to dig one niche.
        tries: "tries" 1, 300;
    }
    roles Roles {
        /// How often a dead end is a treasure room.
        treasure_chance: "thousandths" 0, 1_000;
        /// Rooms for each shrine.
        rooms_per_shrine: "rooms" 1, 1_000;
        /// Floors of so many rooms have a shrine at least.
        first_shrine: "rooms" 1, 1_000;
        /// Rooms for each shop.
        rooms_per_shop: "rooms" 1, 1_000;
        /// Floors of so many rooms may have another shop ...
        first_shop: "rooms" 1, 1_000;
        /// ... so often.
        shop_chance: "thousandths" 0, 1_000;
    }
    lakes Lakes {
        /// Lakes, of those that the size of the floor allows.
        amount: "thousandths" 0, 10_000;
        /// Cells of a floor for each lake.
        cells: "cells" 500, 300_000;
        /// Least width of a lake, of the floor's.
        width_least: "per cent" 1, 60;
        /// Greatest width.
        width_most: "per cent" 1, 60;
        /// Least height of a lake, of the floor's.
        height_least: "per cent" 1, 60;
        /// Greatest height.
        height_most: "per cent" 1, 60;
        /// Floors with a shorter side have no lake.
        least_side: "cells" 20, 513;
        /// Outlines tried for each lake.
        tries: "tries" 1, 32;
        /// Cells of rooms that a lake takes at least.
        least_ground: "cells" 1, 1_000;
        /// Cells of rooms that it takes for each cell that it leaves as a causeway.
        ground_per_causeway: "cells" 0, 1_000;
        /// The largest share of a room that a lake takes.
        room_share: "thousandths" 0, 700;
    }
    scenery Scenery {
        /// How often a room has a pond or a pit.
        pond: "per cent" 0, 100;
        /// How often it has a rift with a bridge.
        rift: "per cent" 0, 100;
        /// How often it has pillars.
        pillars: "per cent" 0, 100;
        /// How often it has a patch of the first cover of its theme.
        cover: "per cent" 0, 100;
        /// How often it has a patch of the second cover.
        second_cover: "per cent" 0, 100;
        /// Rooms of fewer cells stay bare.
        least_area: "cells" 9, 4_000;
        /// Rooms of fewer cells have no pond, rift or pillars.
        pond_area: "cells" 9, 4_000;
        /// Weight of pools in a boss's arena.
        pools: "weight" 0, 1_000;
        /// Weight of a moat.
        moat: "weight" 0, 1_000;
        /// Weight of a colonnade.
        colonnade: "weight" 0, 1_000;
        /// Weight of piers. Small arenas have piers too.
        piers: "weight" 0, 1_000;
    }
    items Items {
        /// Items of a locked room.
        vault: "items" 0, 20;
        /// Their worth, in tenths of ordinary loot.
        vault_worth: "tenths" 0, 1_000;
        /// Items of a secret room.
        secret: "items" 0, 20;
        /// Their worth.
        secret_worth: "tenths" 0, 1_000;
        /// Items of a treasure room.
        treasure: "items" 0, 20;
        /// Their worth.
        treasure_worth: "tenths" 0, 1_000;
        /// Items of a shop.
        shop: "items" 0, 20;
        /// Their worth.
        shop_worth: "tenths" 0, 1_000;
        /// Items of a shrine.
        shrine: "items" 0, 20;
        /// Their worth.
        shrine_worth: "tenths" 0, 1_000;
        /// Items of the exit room.
        exit: "items" 0, 20;
        /// Their worth.
        exit_worth: "tenths" 0, 1_000;
        /// Items of a room with monsters that has any.
        combat: "items" 0, 20;
        /// Their worth.
        combat_worth: "tenths" 0, 1_000;
        /// How often a room with monsters has any.
        combat_chance: "thousandths" 0, 1_000;
        /// Loot worth so much is always fine.
        fine_worth: "tenths" 0, 1_001;
        /// The most dead ends of a maze that hold loot.
        dead_ends: "items" 0, 64;
        /// Worth of ordinary loot on a floor of level 0; each level adds 1.
        base: "value" 0, 10_000;
        /// Least share of its worth that loot at the entry has.
        value_least: "thousandths" 0, 2_000;
        /// What chance adds to it at the most.
        value_spread: "thousandths" 0, 2_000;
    }
    monsters Monsters {
        /// Strength that a brute takes, of a full room's.
        brute_cost: "thousandths" 1, 5_000;
        /// Its levels above the room's.
        brute_above: "levels" 0, 1_000;
        /// Strength that a skirmisher takes.
        skirmisher_cost: "thousandths" 1, 5_000;
        /// Its levels above the room's.
        skirmisher_above: "levels" 0, 1_000;
        /// Strength that an archer takes.
        archer_cost: "thousandths" 1, 5_000;
        /// Its levels above the room's.
        archer_above: "levels" 0, 1_000;
        /// Strength that a caster takes.
        caster_cost: "thousandths" 1, 5_000;
        /// Its levels above the room's.
        caster_above: "levels" 0, 1_000;
        /// Strength that one of a swarm takes.
        swarm_cost: "thousandths" 1, 5_000;
        /// Its levels above the room's.
        swarm_above: "levels" 0, 1_000;
        /// A boss's level, of the room's ...
        boss_level: "thousandths" 500, 2_000;
        /// ... and levels more.
        boss_above: "levels" 0, 1_000;
        /// Levels of a boss's guards above the room's.
        guard_above: "levels" 0, 1_000;
        /// The most monsters in one pack.
        in_a_pack: "monsters" 1, 20;
        /// Steps from the leader within which a pack stands.
        reach: "steps" 1, 60;
        /// Cells of a room for each further pack.
        cells_per_pack: "cells" 20, 10_000;
        /// The most packs of a room.
        packs_most: "packs" 1, 8;
        /// Cells of a room that holds a full pack.
        full_room: "cells" 9, 1_000;
        /// Level of monsters at the entry, of the floor's.
        level_at_entry: "thousandths" 0, 1_000;
        /// What the way to the exit adds to it.
        level_rise: "thousandths" 0, 500;
        /// Strength of a room of role combat; 0: no monsters.
        combat: "thousandths" 0, 5_000;
        /// Strength of a room of role key.
        key: "thousandths" 0, 5_000;
        /// Strength of a room of role treasure.
        treasure: "thousandths" 0, 5_000;
        /// Strength of a room of role passage.
        passage: "thousandths" 0, 5_000;
        /// Strength of the exit room.
        exit: "thousandths" 0, 5_000;
    }
    traps Traps {
        /// Rooms for each trap.
        rooms: "rooms" 1, 1_000;
        /// Cells around a trap that hold no door and no stairs.
        clearance: "cells" 0, 10;
    }
    vaults Vaults {
        /// How often a floor gets each of its vaults, if its kind is not event.
        chance: "thousandths" 0, 1_000;
        /// The most vaults of a floor, if its kind is not event.
        most: "vaults" 0, 8;
        /// Places tried for each vault.
        tries: "tries" 1, 300;
    }
    standard Standard {
        /// Rooms for each loop.
        rooms_per_loop: "rooms" 1, 255;
        /// Doors on a walk that a loop shortens, at the least.
        detour: "doors" 2, 12;
        /// Loops of a floor of 100x100 and more, at the least.
        least_loops: "loops" 0, 4;
    }
    keep Keep {
        /// Cells of floor and wall for each hall.
        cells: "cells" 100, 20_000;
        /// Thickness of walls.
        wall: "cells" 1, 3;
        /// Thickness of walls on floors with a side under 40.
        thin_wall: "cells" 1, 3;
        /// Halls for each door that the way needs not.
        halls_per_door: "halls" 1, 255;
        /// A hall is split off at this share of the longer side at the least.
        split_least: "per cent" 10, 50;
        /// And at this at the most.
        split_most: "per cent" 50, 90;
    }
    halls Halls {
        /// Cells of floor and rock for each hall.
        cells: "cells" 200, 20_000;
        /// Spots tried for each hall.
        spots: "spots" 1, 60;
        /// The least rock between two halls.
        gap: "cells" 3, 6;
        /// Least side of a hall, of the largest room's.
        least: "per cent" 10, 200;
        /// Greatest side.
        most: "per cent" 10, 200;
        /// How often a corridor's end has a door.
        door_chance: "thousandths" 0, 1_000;
        /// Halls for each loop.
        halls_per_loop: "halls" 1, 255;
    }
    cavern Cavern {
        /// Width of the tile that holds a chamber.
        tile_width: "cells" 12, 60;
        /// Height of it.
        tile_height: "cells" 12, 60;
        /// How often a neck joins two neighbouring chambers that are connected already.
        spare_necks: "thousandths" 0, 1_000;
        /// A neck bends from the straight line by its length over this, at the most.
        winding: "divisor" 1, 20;
        /// Open cells in 16 before smoothing, inside chambers.
        open_inside: "cells" 8, 15;
        /// And outside them.
        open_outside: "cells" 0, 8;
        /// And beside necks.
        open_beside: "cells" 0, 15;
        /// Rounds of smoothing before necks are cut.
        rounds: "rounds" 0, 6;
        /// And after.
        last_rounds: "rounds" 0, 6;
        /// Smaller rocks inside the cave are removed.
        least_rock: "cells" 0, 500;
    }
    cyclic Cyclic {
        /// Width of a tile, which holds a room.
        tile_width: "cells" 12, 60;
        /// Height of it.
        tile_height: "cells" 12, 60;
        /// Share of the tiles that hold a room.
        full: "thousandths" 200, 1_000;
        /// Starts tried for each ear.
        tries: "tries" 1, 100;
        /// How often a corridor's end has a door.
        door_chance: "thousandths" 0, 1_000;
        /// Least share of its tile's sides that a room fills.
        fill_least: "thousandths" 100, 1_000;
        /// Greatest share.
        fill_most: "thousandths" 100, 1_000;
    }
    maze Maze {
        /// Cells of floor and rock for each room.
        cells: "cells" 200, 20_000;
        /// Spots tried for each room.
        spots: "spots" 1, 60;
        /// How often a dead end is opened.
        braid: "thousandths" 0, 1_000;
        /// How often a vertical passage is replaced by a horizontal one.
        level: "thousandths" 0, 1_000;
    }
    boss Boss {
        /// Length of the arena, of the floor's longer side.
        arena_length: "per cent" 20, 50;
        /// Least breadth of the arena, of the floor's shorter side.
        arena_least: "per cent" 30, 90;
        /// Greatest breadth.
        arena_most: "per cent" 30, 90;
        /// Rooms of the approach, of those of a floor without an arena.
        approach: "per cent" 10, 100;
        /// Rooms of the approach for each secret room.
        rooms_per_secret: "rooms" 1, 255;
        /// The most secret rooms.
        most_secrets: "rooms" 0, 8;
        /// Rooms for each loop.
        rooms_per_loop: "rooms" 1, 255;
        /// Doors on a walk that a loop shortens, at the least.
        detour: "doors" 2, 12;
    }
    event Event {
        /// Largest share of the floor's sides that a vault takes.
        share: "thousandths" 200, 700;
        /// The same where the vault lies in a court.
        share_in_a_court: "thousandths" 200, 500;
        /// Floors with a shorter side have no court.
        court_side: "cells" 40, 513;
        /// Vaults drawn, of which the largest is taken.
        compared: "vaults" 1, 8;
        /// Rooms around the court, of those of a floor without one.
        rooms_around: "per cent" 10, 100;
        /// Weight of a hedge around the vault.
        hedge: "weight" 0, 1_000;
        /// Weight of a colonnade.
        colonnade: "weight" 0, 1_000;
        /// Weight of a moat.
        moat: "weight" 0, 1_000;
        /// Rooms for each loop.
        rooms_per_loop: "rooms" 1, 255;
        /// Doors on a walk that a loop shortens, at the least.
        detour: "doors" 2, 12;
    }
    story Story {
        /// Width of the tile that holds a room of the story.
        tile_width: "cells" 12, 60;
        /// Height of it.
        tile_height: "cells" 12, 60;
        /// How often a corridor's end has a door.
        door_chance: "thousandths" 0, 1_000;
        /// The most gates.
        most_gates: "gates" 0, 10;
        /// The most rooms of the story.
        most_beats: "rooms" 4, 60;
    }
}
