//! The numbers that a pack may set, in one table: group, name, unit, range and meaning. The parser's checks, the
//! reference in docs/packs.md and the JSON Schema come from it. The defaults are those of `packs/tower/pack.toml`.

use crate::form::Forms;

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
    pub(crate) place: fn(&mut Params) -> &mut u32,
}

impl Param {
    /// What it means.
    #[must_use]
    pub fn meaning(&self) -> &'static str {
        let listed =
            PARAMS.iter().zip(MEANINGS).find(|(param, _)| (param.group, param.name) == (self.group, self.name));
        listed.map_or("", |(_, meaning)| meaning)
    }
}

macro_rules! params {
    ($($group:ident $Group:ident $($forms:ident)? { $($name:ident: $unit:literal $least:literal, $greatest:literal, $meaning:literal;)+ })+) => {
        $(
            #[derive(Debug, Clone, Copy)]
            pub(crate) struct $Group {
                $(#[doc = $meaning] pub(crate) $name: u32,)+
                $(pub(crate) $forms: Forms,)?
            }

            impl $Group {
                const ZERO: Self = Self { $($name: 0,)+ $($forms: Forms::NONE,)? };
            }
        )+

        /// All numbers, as they are for one kind of floor.
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct Params {
            $(pub(crate) $group: $Group,)+
        }

        /// What each number of the table means. A list of its own, because a program that only reads packs leaves it out.
        pub(crate) static MEANINGS: &[&str] = &[$($($meaning,)+)+];

        impl Params {
            /// Each number 0. One constant, where a derived default writes each number by an instruction of its own.
            pub(crate) const ZERO: Self = Self { $($group: $Group::ZERO,)+ };
        }

        impl Default for Params {
            fn default() -> Self {
                Self::ZERO
            }
        }

        /// The table.
        pub static PARAMS: &[Param] = &[$($(Param {
            group: stringify!($group),
            name: stringify!($name),
            unit: $unit,
            least: $least,
            greatest: $greatest,
            place: |params| &mut params.$group.$name,
        },)+)+];

        impl Params {
            /// The forms of a group, which a pack sets under the key `forms`.
            pub(crate) fn forms(&mut self, group: &str) -> Option<&mut Forms> {
                match group {
                    $($(stringify!($group) => Some(&mut self.$group.$forms),)?)+
                    _ => None,
                }
            }
        }
    };
}

params! {
    schedule Schedule {
        width: "cells" 16, 512, "Width of a floor whose request names none.";
        height: "cells" 16, 512, "Height of a floor whose request names none.";
        boss_interval: "floors" 0, 100, "Every so many floors is a boss floor; 0: none.";
        story_interval: "floors" 0, 1_000, "One of so many floors is a story floor; 0: none.";
        story_offset: "floors" 0, 999, "Which of them.";
        floors_per_theme: "floors" 1, 1_000_000, "Floors of one theme.";
    }
    curve Curve {
        level_scale: "levels squared" 0, 400, "The level of a floor is the root of its number times this ...";
        level_less: "levels" 0, 100, "... less this, and at least 1.";
        acts: "acts" 1, 9, "Parts of a floor, each a rest and a rise.";
        rest: "thousandths" 0, 999, "Share of an act that its rest takes.";
        rest_strength: "thousandths" 0, 5_000, "Strength of a room in the first rest; the share of a full room's.";
        rest_growth: "thousandths" 0, 5_000, "What each act adds to it.";
        rise_strength: "thousandths" 0, 5_000, "Strength of a room where the first rise begins.";
        rise_growth: "thousandths" 0, 5_000, "What each act adds to it.";
        rise_span: "thousandths" 0, 5_000, "What a rise adds from its begin to its end.";
    }
    rooms Rooms forms {
        cells: "cells" 100, 20_000, "Cells of floor and rock for each room.";
        spread: "per cent" 0, 80, "How much the cells for each room vary from floor to floor.";
        least: "rooms" 2, 50, "Rooms of the smallest floor.";
        width_least: "per cent" 10, 200, "Least width of a room, of the distance from one room to the next.";
        width_most: "per cent" 10, 200, "Greatest width.";
        height_least: "per cent" 10, 200, "Least height.";
        height_most: "per cent" 10, 200, "Greatest height.";
        corridor: "per cent" 0, 200, "Longest corridor, of the distance from one room to the next ...";
        corridor_most: "cells" 2, 40, "... and in cells.";
        corridor_chance: "thousandths" 0, 1_000, "How often a corridor leads to a new room.";
        door_chance: "thousandths" 0, 1_000, "How often a connection has a door.";
        failures: "attempts" 1, 50, "Failed attempts after which a room takes no more neighbours.";
        compared: "sides" 1, 32, "Rooms and sides compared for each attempt.";
        tries: "attempts" 1, 32, "Attempts to place a shape before another one is drawn.";
    }
    locks Locks {
        rooms_per_lock: "rooms" 1, 255, "Rooms for each lock on the way to the exit.";
        first_lock: "rooms" 2, 255, "Floors of so many rooms have a lock at least.";
        most: "locks" 0, 8, "The most locks on the way to the exit.";
        first_vault: "rooms" 2, 255, "Floors of so many rooms have a locked room with loot.";
        vault_from: "floor number" 1, 1_000_000, "The lowest floor number with a locked room with loot.";
        rooms_per_secret: "rooms" 1, 255, "Rooms for each secret room.";
        most_secrets: "rooms" 0, 8, "The most secret rooms.";
        cells_per_lock: "cells" 500, 300_000, "Where rooms lie open to each other: cells for each lock.";
        first_lock_cells: "cells" 256, 300_000, "Floors of so many cells have a lock at least.";
        most_nested: "locks" 0, 8, "The most locks there.";
        first_vault_cells: "cells" 256, 300_000, "Floors of so many cells have a locked room with loot.";
        second_vault_cells: "cells" 256, 300_000, "Floors of so many cells have a second one.";
        cells_per_secret: "cells" 500, 300_000, "Cells for each secret room.";
    }
    niches Niches forms {
        width: "cells" 3, 20, "Greatest width of a niche.";
        height: "cells" 3, 20, "Greatest height of a niche.";
        corridor: "cells" 1, 20, "Longest corridor to a niche.";
        corridor_chance: "thousandths" 0, 1_000, "How often a corridor leads to a niche.";
        tries: "tries" 1, 300, "Tries to dig one niche.";
    }
    roles Roles {
        treasure_chance: "thousandths" 0, 1_000, "How often a dead end is a treasure room.";
        rooms_per_shrine: "rooms" 1, 1_000, "Rooms for each shrine.";
        first_shrine: "rooms" 1, 1_000, "Floors of so many rooms have a shrine at least.";
        rooms_per_shop: "rooms" 1, 1_000, "Rooms for each shop.";
        first_shop: "rooms" 1, 1_000, "Floors of so many rooms may have another shop ...";
        shop_chance: "thousandths" 0, 1_000, "... so often.";
    }
    lakes Lakes {
        amount: "thousandths" 0, 10_000, "Lakes, of those that the size of the floor allows.";
        cells: "cells" 500, 300_000, "Cells of a floor for each lake.";
        width_least: "per cent" 1, 60, "Least width of a lake, of the floor's.";
        width_most: "per cent" 1, 60, "Greatest width.";
        height_least: "per cent" 1, 60, "Least height of a lake, of the floor's.";
        height_most: "per cent" 1, 60, "Greatest height.";
        least_side: "cells" 20, 513, "Floors with a shorter side have no lake.";
        tries: "tries" 1, 32, "Outlines tried for each lake.";
        least_ground: "cells" 1, 1_000, "Cells of rooms that a lake takes at least.";
        ground_per_causeway: "cells" 0, 1_000, "Cells of rooms that it takes for each cell that it leaves as a causeway.";
        room_share: "thousandths" 0, 700, "The largest share of a room that a lake takes.";
    }
    scenery Scenery {
        pond: "per cent" 0, 100, "How often a room has a pond or a pit.";
        rift: "per cent" 0, 100, "How often it has a rift with a bridge.";
        pillars: "per cent" 0, 100, "How often it has pillars.";
        cover: "per cent" 0, 100, "How often it has a patch of the first cover of its theme.";
        second_cover: "per cent" 0, 100, "How often it has a patch of the second cover.";
        least_area: "cells" 9, 4_000, "Rooms of fewer cells stay bare.";
        pond_area: "cells" 9, 4_000, "Rooms of fewer cells have no pond, rift or pillars.";
        patch_width: "cells" 2, 30, "Half the greatest width of a pond, pit or patch.";
        patch_height: "cells" 1, 30, "Half its greatest height.";
        pools: "weight" 0, 1_000, "Weight of pools in a boss's arena.";
        moat: "weight" 0, 1_000, "Weight of a moat.";
        colonnade: "weight" 0, 1_000, "Weight of a colonnade.";
        chasm: "weight" 0, 1_000, "Weight of a chasm from wall to wall, with bridges.";
        canals: "weight" 0, 1_000, "Weight of canals that part an arena in four.";
        islands: "weight" 0, 1_000, "Weight of islands in a lake.";
        pit: "weight" 0, 1_000, "Weight of a pit with a way around.";
        piers: "weight" 0, 1_000, "Weight of piers. Small arenas have piers too.";
    }
    items Items {
        vault: "items" 0, 20, "Items of a locked room.";
        vault_worth: "tenths" 0, 1_000, "Their worth, in tenths of ordinary loot.";
        secret: "items" 0, 20, "Items of a secret room.";
        secret_worth: "tenths" 0, 1_000, "Their worth.";
        treasure: "items" 0, 20, "Items of a treasure room.";
        treasure_worth: "tenths" 0, 1_000, "Their worth.";
        shop: "items" 0, 20, "Items of a shop.";
        shop_worth: "tenths" 0, 1_000, "Their worth.";
        shrine: "items" 0, 20, "Items of a shrine.";
        shrine_worth: "tenths" 0, 1_000, "Their worth.";
        exit: "items" 0, 20, "Items of the exit room.";
        exit_worth: "tenths" 0, 1_000, "Their worth.";
        combat: "items" 0, 20, "Items of a room with monsters that has any.";
        combat_worth: "tenths" 0, 1_000, "Their worth.";
        combat_chance: "thousandths" 0, 1_000, "How often a room with monsters has any.";
        fine_worth: "tenths" 0, 1_001, "Loot worth so much is always fine.";
        dead_ends: "items" 0, 64, "The most dead ends of a maze that hold loot.";
        base: "value" 0, 10_000, "Worth of ordinary loot on a floor of level 0; each level adds 1.";
        value_least: "thousandths" 0, 2_000, "Least share of its worth that loot at the entry has.";
        value_spread: "thousandths" 0, 2_000, "What chance adds to it at the most.";
    }
    monsters Monsters {
        brute_cost: "thousandths" 1, 5_000, "Strength that a brute takes, of a full room's.";
        brute_above: "levels" 0, 1_000, "Its levels above the room's.";
        skirmisher_cost: "thousandths" 1, 5_000, "Strength that a skirmisher takes.";
        skirmisher_above: "levels" 0, 1_000, "Its levels above the room's.";
        archer_cost: "thousandths" 1, 5_000, "Strength that an archer takes.";
        archer_above: "levels" 0, 1_000, "Its levels above the room's.";
        caster_cost: "thousandths" 1, 5_000, "Strength that a caster takes.";
        caster_above: "levels" 0, 1_000, "Its levels above the room's.";
        swarm_cost: "thousandths" 1, 5_000, "Strength that one of a swarm takes.";
        swarm_above: "levels" 0, 1_000, "Its levels above the room's.";
        boss_level: "thousandths" 500, 2_000, "A boss's level, of the room's ...";
        boss_above: "levels" 0, 1_000, "... and levels more.";
        guard_above: "levels" 0, 1_000, "Levels of a boss's guards above the room's.";
        in_a_pack: "monsters" 1, 20, "The most monsters in one pack.";
        reach: "steps" 1, 60, "Steps from the leader within which a pack stands.";
        cells_per_pack: "cells" 20, 10_000, "Cells of a room for each further pack.";
        packs_most: "packs" 1, 8, "The most packs of a room.";
        full_room: "cells" 9, 1_000, "Cells of a room that holds a full pack.";
        level_at_entry: "thousandths" 0, 1_000, "Level of monsters at the entry, of the floor's.";
        level_rise: "thousandths" 0, 500, "What the way to the exit adds to it.";
        combat: "thousandths" 0, 5_000, "Strength of a room of role combat; 0: no monsters.";
        key: "thousandths" 0, 5_000, "Strength of a room of role key.";
        treasure: "thousandths" 0, 5_000, "Strength of a room of role treasure.";
        passage: "thousandths" 0, 5_000, "Strength of a room of role passage.";
        exit: "thousandths" 0, 5_000, "Strength of the exit room.";
        sleeps: "weight" 0, 1_000, "Weight of packs that sleep, among those that guard nothing.";
        wanders: "weight" 0, 1_000, "Weight of packs that wander.";
        patrol_chance: "thousandths" 0, 1_000, "How often a corridor has a patrol.";
        in_a_patrol: "monsters" 1, 6, "The most monsters of a patrol.";
    }
    windows Windows {
        chance: "thousandths" 0, 1_000, "How often a floor has a window that shows a reward.";
        thickest: "cells" 1, 8, "The thickest wall that a window is cut through.";
        detour: "doors" 2, 12, "Doors on the walk to the reward, at the least.";
        depth: "cells" 1, 8, "How far from the window the reward lies, at the most.";
        worth: "tenths" 0, 1_000, "Worth of the reward, in tenths of ordinary loot.";
    }
    traps Traps {
        rooms: "rooms" 1, 1_000, "Rooms for each trap.";
        clearance: "cells" 0, 10, "Cells around a trap that hold no door and no stairs.";
    }
    vaults Vaults {
        chance: "thousandths" 0, 1_000, "How often a floor gets each of its vaults, if its kind is not event.";
        most: "vaults" 0, 8, "The most vaults of a floor, if its kind is not event.";
        tries: "tries" 1, 300, "Places tried for each vault.";
        fine_worth: "tenths" 0, 1_000, "Worth of `$` on a map, in tenths of ordinary loot.";
        plain_worth: "tenths" 0, 1_000, "Worth of `*`.";
        blessing_worth: "tenths" 0, 1_000, "Worth of what lies on an altar `A`.";
    }
    standard Standard {
        even: "weight" 0, 1_000, "Weight of floors whose rooms fill the floor evenly ...";
        dense: "weight" 0, 1_000, "... of those with many rooms door to door ...";
        winding: "weight" 0, 1_000, "... of those with long corridors and branches that wander ...";
        great_room: "weight" 0, 1_000, "... and of those around one great room.";
        great: "per cent" 20, 60, "Sides of the great room, of the floor's, at the most.";
        rooms_per_loop: "rooms" 1, 255, "Rooms for each loop.";
        detour: "doors" 2, 12, "Doors on a walk that a loop shortens, at the least.";
        least_loops: "loops" 0, 4, "Loops of a floor of 100x100 and more, at the least.";
    }
    keep Keep {
        cells: "cells" 60, 20_000, "Cells of a floor of 100x100 for each room; smaller floors have smaller rooms.";
        spread: "per cent" 0, 80, "How much that varies from floor to floor.";
        spur: "weight" 0, 1_000, "Weight of up to three walled courts in a row, with a donjon in the last.";
        concentric: "weight" 0, 1_000, "Weight of a castle with a second curtain wall within the first.";
        motte: "weight" 0, 1_000, "Weight of a bailey with a motte in a moat beside it.";
        palace: "weight" 0, 1_000, "Weight of a palace around several courts.";
        least_side: "cells" 26, 513, "Floors with a shorter side are a single block of rooms.";
        ward: "thousandths" 0, 1_000, "How often a castle leaves a ward outside on a side of the floor ...";
        ward_least: "per cent" 5, 60, "... of this share of the floor's side at the least ...";
        ward_most: "per cent" 5, 60, "... and at the most.";
        rock: "thousandths" 0, 1_000, "How often it leaves rock on any other side ...";
        rock_least: "per cent" 5, 60, "... of this share of the floor's side at the least ...";
        rock_most: "per cent" 5, 60, "... and at the most.";
        crags: "crags" 0, 12, "Most crags that nothing is built on ...";
        crag_least: "per cent" 1, 60, "... their least width and height, of the floor's ...";
        crag_most: "per cent" 1, 60, "... and their greatest.";
        moat: "thousandths" 0, 1_000, "How often a moat lies between a castle and such a ward.";
        tower_least: "per cent" 10, 100, "Least diameter of a tower, of the distance from one room to the next.";
        tower_most: "per cent" 10, 100, "Greatest diameter.";
        passage: "cells" 0, 3, "Greatest width of the passages in curtain walls; 0: walls are solid.";
        stone: "cells" 1, 4, "Most stone on both sides of a passage.";
        court: "per cent" 0, 100, "Largest share of a court that buildings along its walls take.";
        rooms_per_loop: "rooms" 1, 255, "Rooms for each loop.";
        detour: "doors" 2, 12, "Doors on a walk that a loop shortens, at the least.";
    }
    halls Halls forms {
        cells: "cells" 200, 20_000, "Cells of floor and rock for each hall.";
        spots: "spots" 1, 60, "Spots tried for each hall.";
        spread: "per cent" 0, 80, "How much the cells for each hall vary from floor to floor.";
        scattered: "weight" 0, 1_000, "Weight of floors with halls at random ...";
        great_hall: "weight" 0, 1_000, "... of those around a great hall ...";
        gallery: "weight" 0, 1_000, "... of those along a gallery ...";
        ring: "weight" 0, 1_000, "... and of those around a middle of rock.";
        gap: "cells" 3, 6, "The least rock between two halls.";
        least: "per cent" 10, 200, "Least side of a hall, of the largest room's.";
        most: "per cent" 10, 200, "Greatest side.";
        door_chance: "thousandths" 0, 1_000, "How often a corridor's end has a door.";
        halls_per_loop: "halls" 1, 255, "Halls for each loop.";
    }
    cavern Cavern {
        chambers: "weight" 0, 1_000, "Weight of a cave of chambers of all sizes.";
        great: "weight" 0, 1_000, "Weight of a great chamber among small ones.";
        river: "weight" 0, 1_000, "Weight of a river through chambers.";
        tunnels: "weight" 0, 1_000, "Weight of small chambers with many necks.";
        tile_width: "cells" 12, 60, "Width of the tile that holds a chamber, on floors of 100x100 and more.";
        tile_height: "cells" 12, 60, "Height of it.";
        spread: "per cent" 0, 50, "How much both vary from floor to floor.";
        spare_necks: "thousandths" 0, 1_000, "How often a neck joins two neighbouring chambers that are connected already.";
        spare_tunnels: "thousandths" 0, 1_000, "The same where chambers are small.";
        winding: "divisor" 1, 20, "A neck bends from the straight line by its length over this, at the most.";
        open_inside: "cells" 8, 15, "Open cells in 16 before smoothing, inside chambers.";
        open_outside: "cells" 0, 8, "And outside them.";
        open_beside: "cells" 0, 15, "And beside necks.";
        rounds: "rounds" 0, 6, "Rounds of smoothing before necks are cut.";
        last_rounds: "rounds" 0, 6, "And after.";
        least_rock: "cells" 0, 500, "Smaller rocks inside the cave are removed.";
    }
    cyclic Cyclic forms {
        two_ways: "weight" 0, 1_000, "Weight of floors that begin with two ways to the exit ...";
        ring: "weight" 0, 1_000, "... of those that begin with a wide ring ...";
        eight: "weight" 0, 1_000, "... and of those that begin with two cycles that meet.";
        cells: "cells" 100, 20_000, "Cells of floor and rock for each plot, which holds a room.";
        spread: "per cent" 0, 80, "How much they vary from floor to floor.";
        plot_least: "cells" 4, 30, "The least side of a plot.";
        gap: "cells" 3, 8, "Rock between two plots; 3 on floors with a side under 64.";
        compared: "plots" 1, 32, "Plots compared for the far side of the first cycles.";
        full: "thousandths" 200, 1_000, "Share of the plots that hold a room.";
        tries: "tries" 1, 100, "Starts tried for each ear.";
        door_chance: "thousandths" 0, 1_000, "How often a corridor's end has a door.";
        fill_least: "thousandths" 100, 1_000, "Least share of its plot's sides that a room fills.";
        fill_most: "thousandths" 100, 1_000, "Greatest share.";
    }
    maze Maze {
        cells: "cells" 200, 20_000, "Cells of floor and rock for each room.";
        spots: "spots" 1, 60, "Spots tried for each room.";
        spread: "per cent" 0, 80, "How much the cells for each room vary from floor to floor.";
        pitch_least: "cells" 3, 5, "Cells from one passage to the next, at the least ...";
        pitch_most: "cells" 3, 5, "... and at the most.";
        winding: "weight" 0, 1_000, "Weight of floors with long, winding passages ...";
        bushy: "weight" 0, 1_000, "... of those with many short branches ...";
        rings: "weight" 0, 1_000, "... of those with passages around the middle ...";
        chambers: "weight" 0, 1_000, "... and of those with many rooms.";
        jumps: "thousandths" 0, 1_000, "How often a bushy maze goes on from another crossing.";
        tangential: "thousandths" 0, 1_000, "How often a passage of a maze of rings leads around the middle.";
        braid: "thousandths" 0, 1_000, "How often a dead end is opened.";
    }
    boss Boss forms {
        arena_least: "per cent" 20, 60, "Least side of the arena, of the floor's.";
        arena_most: "per cent" 20, 60, "Greatest side.";
        middle: "weight" 0, 1_000, "Weight of an arena near the middle of the floor ...";
        side: "weight" 0, 1_000, "... near the middle of a side ...";
        corner: "weight" 0, 1_000, "... near a corner ...";
        anywhere: "weight" 0, 1_000, "... and wherever it fits first.";
        even: "weight" 0, 1_000, "Weight of an approach whose rooms fill the floor evenly ...";
        dense: "weight" 0, 1_000, "... of one whose rooms lie door to door ...";
        winding: "weight" 0, 1_000, "... and of one with long corridors and branches that wander.";
        approach: "per cent" 10, 100, "Rooms of the approach, of those of a floor without an arena.";
        shrine: "thousandths" 0, 1_000, "How often the room before the gate is a shrine.";
        rooms_per_secret: "rooms" 1, 255, "Rooms of the approach for each secret room.";
        most_secrets: "rooms" 0, 8, "The most secret rooms.";
        rooms_per_loop: "rooms" 1, 255, "Rooms for each loop.";
        detour: "doors" 2, 12, "Doors on a walk that a loop shortens, at the least.";
    }
    event Event {
        share: "thousandths" 200, 700, "Largest share of the floor's sides that a vault takes.";
        share_in_a_court: "thousandths" 200, 500, "The same where the vault lies in a court.";
        court_side: "cells" 20, 513, "Floors with a shorter side have no court.";
        compared: "vaults" 1, 8, "Vaults drawn, of which the largest is taken.";
        rooms_around: "per cent" 10, 100, "Rooms around the court, of those of a floor without one.";
        closed: "weight" 0, 1_000, "Weight of a court on all sides of the vault.";
        half: "weight" 0, 1_000, "Weight of a court on one to three sides.";
        island: "weight" 0, 1_000, "Weight of a lake around the vault.";
        garden: "weight" 0, 1_000, "Weight of a garden that is wider on some sides.";
        way: "weight" 0, 1_000, "Weight of a processional way to the vault.";
        court_least: "thousandths" 10, 300, "Least width of a court beside the vault, of the floor's shorter side.";
        court_most: "thousandths" 10, 300, "Greatest width.";
        way_least: "per cent" 5, 80, "Least length of a processional way, of the floor's side.";
        way_most: "per cent" 5, 80, "Greatest length.";
        rectangle: "weight" 0, 1_000, "Weight of rectangular courts.";
        octagon: "weight" 0, 1_000, "Weight of octagons.";
        round: "weight" 0, 1_000, "Weight of round courts.";
        diamond: "weight" 0, 1_000, "Weight of diamonds.";
        hedge: "weight" 0, 1_000, "Weight of a hedge around the vault.";
        colonnade: "weight" 0, 1_000, "Weight of a colonnade.";
        moat: "weight" 0, 1_000, "Weight of a moat.";
        beds: "weight" 0, 1_000, "Weight of beds with trees.";
        avenues_least: "avenues" 1, 8, "The fewest avenues.";
        avenues_most: "avenues" 1, 8, "The most avenues.";
        avenue_least: "thousandths" 1, 100, "Least width of an avenue, of the floor's shorter side.";
        avenue_most: "thousandths" 1, 100, "Greatest width.";
        length_least: "per cent" 10, 100, "Least length of an avenue, of the cells between the court and the border.";
        length_most: "per cent" 10, 100, "Greatest length.";
        straight: "weight" 0, 1_000, "Weight of straight avenues.";
        bent: "weight" 0, 1_000, "Weight of avenues that turn at their end.";
        offset: "weight" 0, 1_000, "Weight of avenues that turn half way, and back.";
        curved: "weight" 0, 1_000, "Weight of curved avenues.";
        winding: "weight" 0, 1_000, "Weight of avenues that curve to one side and back.";
        gate_chance: "thousandths" 0, 1_000, "How often an avenue begins with a door, where the court's side is straight.";
        square_chance: "thousandths" 0, 1_000, "How often an avenue ends in a square.";
        square_least: "thousandths" 10, 300, "Least width of a square beside its monument, and of half a way, of the floor's shorter side.";
        square_most: "thousandths" 10, 300, "Greatest width.";
        rooms_per_loop: "rooms" 1, 255, "Rooms for each loop.";
        detour: "doors" 2, 12, "Doors on a walk that a loop shortens, at the least.";
    }
    story Story {
        winding: "weight" 0, 1_000, "Weight of a walk that winds over most of the floor ...";
        road: "weight" 0, 1_000, "... of a short one with many side scenes ...";
        round: "weight" 0, 1_000, "... of one that leads round by the farthest place ...";
        braid: "weight" 0, 1_000, "... of one with a second way beside it ...";
        hub: "weight" 0, 1_000, "... and of one whose acts begin at a hub.";
        gap: "cells" 3, 8, "Rock between two plots, which hold a scene each.";
        plot_least: "cells" 5, 30, "Least side of a plot.";
        door_chance: "thousandths" 0, 1_000, "How often a corridor's end has a door.";
        act_least: "scenes" 1, 20, "Scenes of an act at the least ...";
        act_most: "scenes" 1, 20, "... and at the most.";
        rest_chance: "thousandths" 0, 1_000, "How often an act of three scenes or more ends with a rest.";
        scenes_per_gate: "scenes" 1, 60, "Scenes of the walk for each gate.";
        most_gates: "gates" 0, 10, "The most gates.";
        side_chance: "thousandths" 0, 1_000, "How often a plot beside the walk holds a side scene.";
        full: "thousandths" 0, 1_000, "Share of the plots that hold a scene at the least, if there is space.";
        shortcut_chance: "thousandths" 0, 1_000, "How often two scenes of an act that lie beside each other are joined ...";
        detour: "doors" 2, 12, "... if the walk between them has so many doors at the least.";
    }
}
