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
    /// What it means. Numbers that follow each other may have one meaning, which names them in their order.
    #[must_use]
    pub fn meaning(&self) -> &'static str {
        let at = PARAMS.iter().position(|param| (param.group, param.name) == (self.group, self.name));
        let mut until = MEANINGS.iter().take(at.map_or(0, |at| at + 1));
        until.rfind(|meaning| !meaning.is_empty()).copied().unwrap_or_default()
    }
}

macro_rules! params {
    ($($group:ident $Group:ident $($forms:ident)? { $($name:ident: $unit:literal $least:literal, $greatest:literal, $meaning:literal;)+ })+) => {
        $(
            #[derive(Debug, Clone, Copy)]
            pub(crate) struct $Group {
                $(pub(crate) $name: u32,)+
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

        /// What each number of the table means; "": the same as the one before. A list of its own, because a program that only reads packs leaves it out.
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
        width: "cells" 16, 512, "Size of a floor whose request names none.";
        height: "cells" 16, 512, "";
        boss_interval: "floors" 0, 100, "Every so many floors is a boss floor; 0: none.";
        story_interval: "floors" 0, 1_000, "Stories: floors whose number, divided by `story_interval`, leaves `story_offset`; 0: none.";
        story_offset: "floors" 0, 999, "";
        floors_per_theme: "floors" 1, 1_000_000, "Floors of one theme.";
    }
    curve Curve {
        level_scale: "levels squared" 0, 400, "A floor's level: the root of its number times `level_scale`, less `level_less`; at least 1.";
        level_less: "levels" 0, 100, "";
        acts: "acts" 1, 9, "Parts of a floor, each a rest and a rise.";
        rest: "thousandths" 0, 999, "Share of an act that its rest takes.";
        rest_strength: "thousandths" 0, 5_000, "Strength of a room in the first rest, of a full room's; what each act adds.";
        rest_growth: "thousandths" 0, 5_000, "";
        rise_strength: "thousandths" 0, 5_000, "Strength where the first rise begins; what each act adds; what a rise adds until its end.";
        rise_growth: "thousandths" 0, 5_000, "";
        rise_span: "thousandths" 0, 5_000, "";
    }
    rooms Rooms forms {
        cells: "cells" 100, 20_000, "Cells of floor and rock for each room; how much that varies from floor to floor; rooms of the smallest floor.";
        spread: "per cent" 0, 80, "";
        least: "rooms" 2, 50, "";
        width_least: "per cent" 10, 200, "Sides of a room, of the distance between rooms.";
        width_most: "per cent" 10, 200, "";
        height_least: "per cent" 10, 200, "";
        height_most: "per cent" 10, 200, "";
        corridor: "per cent" 0, 200, "Longest corridor, of the distance between rooms; in cells.";
        corridor_most: "cells" 2, 40, "";
        corridor_chance: "thousandths" 0, 1_000, "How often a corridor leads to a new room; how often a connection has a door.";
        door_chance: "thousandths" 0, 1_000, "";
        failures: "attempts" 1, 50, "Failed attempts after which a room takes no more neighbours; rooms and sides compared for each attempt; attempts to place a shape before another is drawn.";
        compared: "sides" 1, 32, "";
        tries: "attempts" 1, 32, "";
    }
    locks Locks {
        rooms_per_lock: "rooms" 1, 255, "Rooms for each lock on the way to the exit; least rooms of a floor with a lock.";
        first_lock: "rooms" 2, 255, "";
        most: "locks" 0, 8, "Most locks on the way to the exit.";
        first_vault: "rooms" 2, 255, "Least rooms, and lowest number, of a floor with a locked room with loot.";
        vault_from: "floor number" 1, 1_000_000, "";
        rooms_per_secret: "rooms" 1, 255, "Rooms for each secret room; most secret rooms.";
        most_secrets: "rooms" 0, 8, "";
        cells_per_lock: "cells" 500, 300_000, "Where rooms lie open to each other: cells for each lock; least cells of a floor with a lock.";
        first_lock_cells: "cells" 256, 300_000, "";
        most_nested: "locks" 0, 8, "Most locks where rooms lie open to each other.";
        first_vault_cells: "cells" 256, 300_000, "Where rooms lie open to each other: least cells of a floor with a locked room with loot; with two.";
        second_vault_cells: "cells" 256, 300_000, "";
        cells_per_secret: "cells" 500, 300_000, "Where rooms lie open to each other: cells for each secret room.";
    }
    niches Niches forms {
        width: "cells" 3, 20, "Greatest size of a niche.";
        height: "cells" 3, 20, "";
        corridor: "cells" 1, 20, "Longest corridor to a niche; how often one leads there.";
        corridor_chance: "thousandths" 0, 1_000, "";
        tries: "tries" 1, 300, "Tries to dig one niche.";
    }
    roles Roles {
        treasure_chance: "thousandths" 0, 1_000, "How often a dead end is a treasure room.";
        rooms_per_shrine: "rooms" 1, 1_000, "Rooms for each shrine; least rooms of a floor with a shrine.";
        first_shrine: "rooms" 1, 1_000, "";
        rooms_per_shop: "rooms" 1, 1_000, "Rooms for each shop.";
        first_shop: "rooms" 1, 1_000, "Least rooms of a floor with another shop; how often it has one.";
        shop_chance: "thousandths" 0, 1_000, "";
    }
    lakes Lakes {
        amount: "thousandths" 0, 10_000, "Lakes, of those that the size of the floor allows; cells of a floor for each.";
        cells: "cells" 500, 300_000, "";
        width_least: "per cent" 1, 60, "Size of a lake, of the floor's.";
        width_most: "per cent" 1, 60, "";
        height_least: "per cent" 1, 60, "";
        height_most: "per cent" 1, 60, "";
        least_side: "cells" 20, 513, "Floors with a shorter side have no lake.";
        tries: "tries" 1, 32, "Outlines tried for each lake.";
        least_ground: "cells" 1, 1_000, "Least cells of rooms that a lake takes; for each cell that it leaves as a causeway.";
        ground_per_causeway: "cells" 0, 1_000, "";
        room_share: "thousandths" 0, 700, "Largest share of a room that a lake takes.";
    }
    scenery Scenery {
        pond: "per cent" 0, 100, "How often a room has a pond or pit; a rift with a bridge; pillars; a patch of its theme's first cover; of the second.";
        rift: "per cent" 0, 100, "";
        pillars: "per cent" 0, 100, "";
        cover: "per cent" 0, 100, "";
        second_cover: "per cent" 0, 100, "";
        least_area: "cells" 9, 4_000, "Rooms of fewer cells stay bare; have no pond, rift or pillars.";
        pond_area: "cells" 9, 4_000, "";
        furnished: "thousandths" 0, 1_000, "How often a room is furnished.";
        patch_width: "cells" 2, 30, "Half the greatest size of a pond, pit or patch.";
        patch_height: "cells" 1, 30, "";
        pools: "weight" 0, 1_000, "A boss's arena: pools; a moat; a colonnade; a chasm from wall to wall with bridges; canals that part it in four; islands in a lake; a pit with a way around; piers, which small arenas have too.";
        moat: "weight" 0, 1_000, "";
        colonnade: "weight" 0, 1_000, "";
        chasm: "weight" 0, 1_000, "";
        canals: "weight" 0, 1_000, "";
        islands: "weight" 0, 1_000, "";
        pit: "weight" 0, 1_000, "";
        piers: "weight" 0, 1_000, "";
    }
    items Items {
        vault: "items" 0, 20, "Items of a locked room; a secret room; a treasure room; a shop; a shrine; the exit room; a room with monsters that has any.";
        secret: "items" 0, 20, "";
        treasure: "items" 0, 20, "";
        shop: "items" 0, 20, "";
        shrine: "items" 0, 20, "";
        exit: "items" 0, 20, "";
        combat: "items" 0, 20, "";
        vault_worth: "tenths" 0, 1_000, "Worth of these items, of ordinary loot's.";
        secret_worth: "tenths" 0, 1_000, "";
        treasure_worth: "tenths" 0, 1_000, "";
        shop_worth: "tenths" 0, 1_000, "";
        shrine_worth: "tenths" 0, 1_000, "";
        exit_worth: "tenths" 0, 1_000, "";
        combat_worth: "tenths" 0, 1_000, "";
        combat_chance: "thousandths" 0, 1_000, "How often a room with monsters has items.";
        fine_worth: "tenths" 0, 1_001, "Loot worth so much is always fine.";
        dead_ends: "items" 0, 64, "Most dead ends of a maze that hold loot.";
        base: "value" 0, 10_000, "Worth of ordinary loot on a floor of level 0; each level adds 1.";
        value_least: "thousandths" 0, 2_000, "Least share of its worth that loot at the entry has; most that chance adds.";
        value_spread: "thousandths" 0, 2_000, "";
    }
    monsters Monsters {
        brute_cost: "thousandths" 1, 5_000, "Strength that a brute takes, of a full room's; a skirmisher; an archer; a caster; one of a swarm.";
        skirmisher_cost: "thousandths" 1, 5_000, "";
        archer_cost: "thousandths" 1, 5_000, "";
        caster_cost: "thousandths" 1, 5_000, "";
        swarm_cost: "thousandths" 1, 5_000, "";
        brute_above: "levels" 0, 1_000, "Levels of a monster above the room's.";
        skirmisher_above: "levels" 0, 1_000, "";
        archer_above: "levels" 0, 1_000, "";
        caster_above: "levels" 0, 1_000, "";
        swarm_above: "levels" 0, 1_000, "";
        guard_above: "levels" 0, 1_000, "";
        boss_level: "thousandths" 500, 2_000, "A boss's level, of the room's; levels that are added.";
        boss_above: "levels" 0, 1_000, "";
        in_a_pack: "monsters" 1, 20, "Most monsters in one pack; steps from its leader within which it stands.";
        reach: "steps" 1, 60, "";
        cells_per_pack: "cells" 20, 10_000, "Cells of a room for each further pack; most packs of a room; cells of a room that holds a full pack.";
        packs_most: "packs" 1, 8, "";
        full_room: "cells" 9, 1_000, "";
        level_at_entry: "thousandths" 0, 1_000, "Level of monsters at the entry, of the floor's; what the way to the exit adds.";
        level_rise: "thousandths" 0, 500, "";
        combat: "thousandths" 0, 5_000, "Strength of a room of this role; 0: no monsters.";
        key: "thousandths" 0, 5_000, "";
        treasure: "thousandths" 0, 5_000, "";
        passage: "thousandths" 0, 5_000, "";
        exit: "thousandths" 0, 5_000, "";
        sleeps: "weight" 0, 1_000, "Packs that guard nothing: they sleep; they wander.";
        wanders: "weight" 0, 1_000, "";
        patrol_chance: "thousandths" 0, 1_000, "How often a corridor has a patrol; its most monsters.";
        in_a_patrol: "monsters" 1, 6, "";
    }
    windows Windows {
        chance: "thousandths" 0, 1_000, "How often a floor has a window that shows a reward; thickest wall that it is cut through.";
        thickest: "cells" 1, 8, "";
        detour: "doors" 2, 12, "Least doors on the walk to the reward; its greatest distance from the window; its worth, of ordinary loot's.";
        depth: "cells" 1, 8, "";
        worth: "tenths" 0, 1_000, "";
    }
    traps Traps {
        rooms: "rooms" 1, 1_000, "Rooms for each trap; cells around it without doors and stairs.";
        clearance: "cells" 0, 10, "";
    }
    vaults Vaults {
        chance: "thousandths" 0, 1_000, "How often a floor of another kind than event gets each of its vaults; most vaults.";
        most: "vaults" 0, 8, "";
        tries: "tries" 1, 300, "Places tried for each vault.";
        fine_worth: "tenths" 0, 1_000, "Worth of `$` on a map, of ordinary loot's; of `*`; of what lies on an altar `A`.";
        plain_worth: "tenths" 0, 1_000, "";
        blessing_worth: "tenths" 0, 1_000, "";
    }
    standard Standard {
        even: "weight" 0, 1_000, "Rooms that fill the floor evenly; lie door to door; have long corridors and branches that wander; surround a great room.";
        dense: "weight" 0, 1_000, "";
        winding: "weight" 0, 1_000, "";
        great_room: "weight" 0, 1_000, "";
        great: "per cent" 20, 60, "Greatest sides of the great room, of the floor's.";
        rooms_per_loop: "rooms" 1, 255, "Rooms for each loop; least doors on the walk that it shortens.";
        detour: "doors" 2, 12, "";
        least_loops: "loops" 0, 4, "Least loops of a floor of 100x100 and more.";
    }
    keep Keep {
        cells: "cells" 60, 20_000, "Cells of a floor of 100x100 for each room (smaller floors have smaller rooms); how much that varies from floor to floor.";
        spread: "per cent" 0, 80, "";
        spur: "weight" 0, 1_000, "Castles: up to three walled courts in a row, with a donjon in the last; a second curtain wall within the first; a bailey with a motte in a moat beside it; a palace around several courts.";
        concentric: "weight" 0, 1_000, "";
        motte: "weight" 0, 1_000, "";
        palace: "weight" 0, 1_000, "";
        least_side: "cells" 26, 513, "Floors with a shorter side are a single block of rooms.";
        ward: "thousandths" 0, 1_000, "How often a castle leaves a ward outside on a side of the floor; its share of the floor's side.";
        ward_least: "per cent" 5, 60, "";
        ward_most: "per cent" 5, 60, "";
        rock: "thousandths" 0, 1_000, "How often a castle leaves rock on any other side; its share of the floor's side.";
        rock_least: "per cent" 5, 60, "";
        rock_most: "per cent" 5, 60, "";
        crags: "crags" 0, 12, "Most crags that nothing is built on; their size, of the floor's.";
        crag_least: "per cent" 1, 60, "";
        crag_most: "per cent" 1, 60, "";
        moat: "thousandths" 0, 1_000, "How often a moat lies between a castle and its ward.";
        tower_least: "per cent" 10, 100, "Diameter of a tower, of the distance between rooms.";
        tower_most: "per cent" 10, 100, "";
        passage: "cells" 0, 3, "Greatest width of passages in curtain walls (0: solid walls); most stone on both sides of a passage.";
        stone: "cells" 1, 4, "";
        court: "per cent" 0, 100, "Largest share of a court that buildings along its walls take.";
        rooms_per_loop: "rooms" 1, 255, "Rooms for each loop; least doors on the walk that it shortens.";
        detour: "doors" 2, 12, "";
    }
    halls Halls forms {
        cells: "cells" 200, 20_000, "Cells of floor and rock for each hall; how much that varies from floor to floor; spots tried for each.";
        spread: "per cent" 0, 80, "";
        spots: "spots" 1, 60, "";
        scattered: "weight" 0, 1_000, "Halls at random; around a great hall; along a gallery; in a ring around a hall in the middle.";
        great_hall: "weight" 0, 1_000, "";
        gallery: "weight" 0, 1_000, "";
        ring: "weight" 0, 1_000, "";
        gap: "cells" 3, 6, "Least rock between two halls.";
        least: "per cent" 10, 200, "Sides of a hall, of the largest room's.";
        most: "per cent" 10, 200, "";
        door_chance: "thousandths" 0, 1_000, "How often a corridor's end has a door; halls for each loop.";
        halls_per_loop: "halls" 1, 255, "";
    }
    cavern Cavern {
        chambers: "weight" 0, 1_000, "Chambers of all sizes; a great chamber among small ones; a river through chambers; small chambers with many necks.";
        great: "weight" 0, 1_000, "";
        river: "weight" 0, 1_000, "";
        tunnels: "weight" 0, 1_000, "";
        tile_width: "cells" 12, 60, "Size of the tile that holds a chamber, on floors of 100x100 and more.";
        tile_height: "cells" 12, 60, "";
        spread: "per cent" 0, 50, "How much the tile varies from floor to floor.";
        spare_necks: "thousandths" 0, 1_000, "How often a neck joins neighbouring chambers that are connected already; the same where chambers are small.";
        spare_tunnels: "thousandths" 0, 1_000, "";
        winding: "divisor" 1, 20, "A neck bends from the straight line by at most its length over this.";
        open_inside: "cells" 8, 15, "Open cells in 16 before smoothing, inside chambers; outside; beside necks.";
        open_outside: "cells" 0, 8, "";
        open_beside: "cells" 0, 15, "";
        rounds: "rounds" 0, 6, "Rounds of smoothing before necks are cut; after.";
        last_rounds: "rounds" 0, 6, "";
        least_rock: "cells" 0, 500, "Smaller rocks inside the cave are removed.";
    }
    cyclic Cyclic forms {
        two_ways: "weight" 0, 1_000, "Floors that begin with two ways to the exit; a wide ring; two cycles that meet.";
        ring: "weight" 0, 1_000, "";
        eight: "weight" 0, 1_000, "";
        cells: "cells" 100, 20_000, "Cells of floor and rock for each plot, which holds a room; how much that varies from floor to floor.";
        spread: "per cent" 0, 80, "";
        plot_least: "cells" 4, 30, "Least side of a plot; rock between two plots (3 on floors with a side under 64).";
        gap: "cells" 3, 8, "";
        compared: "plots" 1, 32, "Plots compared for the far side of the first cycles; share of the plots that hold a room; starts tried for each ear, a path between two rooms.";
        full: "thousandths" 200, 1_000, "";
        tries: "tries" 1, 100, "";
        road_least: "cells" 1, 4, "Width of the ways between rooms (at most 2 on floors with a side under 64).";
        road_most: "cells" 1, 4, "";
        door_chance: "thousandths" 0, 1_000, "How often a corridor's end has a door.";
        fill_least: "thousandths" 100, 1_000, "Share of its plot's sides that a room fills.";
        fill_most: "thousandths" 100, 1_000, "";
    }
    maze Maze {
        cells: "cells" 200, 20_000, "Cells of floor and rock for each room; how much that varies from floor to floor; spots tried for each.";
        spread: "per cent" 0, 80, "";
        spots: "spots" 1, 60, "";
        pitch_least: "cells" 3, 5, "Cells from one passage to the next.";
        pitch_most: "cells" 3, 5, "";
        winding: "weight" 0, 1_000, "Long, winding passages; many short branches; passages around the middle; many rooms.";
        bushy: "weight" 0, 1_000, "";
        rings: "weight" 0, 1_000, "";
        chambers: "weight" 0, 1_000, "";
        jumps: "thousandths" 0, 1_000, "How often a bushy maze goes on from another crossing; a passage of a maze of rings leads around the middle; a dead end is opened.";
        tangential: "thousandths" 0, 1_000, "";
        braid: "thousandths" 0, 1_000, "";
    }
    boss Boss forms {
        arena_least: "per cent" 20, 60, "Sides of the arena, of the floor's.";
        arena_most: "per cent" 20, 60, "";
        middle: "weight" 0, 1_000, "The arena lies near the middle of the floor; the middle of a side; a corner; where it fits first.";
        side: "weight" 0, 1_000, "";
        corner: "weight" 0, 1_000, "";
        anywhere: "weight" 0, 1_000, "";
        even: "weight" 0, 1_000, "Rooms of the approach fill the floor evenly; lie door to door; have long corridors and branches that wander.";
        dense: "weight" 0, 1_000, "";
        winding: "weight" 0, 1_000, "";
        approach: "per cent" 10, 100, "Rooms of the approach, of those of a floor without an arena; how often the room before the gate is a shrine.";
        shrine: "thousandths" 0, 1_000, "";
        rooms_per_secret: "rooms" 1, 255, "Rooms of the approach for each secret room; most secret rooms.";
        most_secrets: "rooms" 0, 8, "";
        rooms_per_loop: "rooms" 1, 255, "Rooms for each loop; least doors on the walk that it shortens.";
        detour: "doors" 2, 12, "";
    }
    event Event {
        share: "thousandths" 200, 700, "Largest share of the floor's sides that a vault takes; in a court.";
        share_in_a_court: "thousandths" 200, 500, "";
        court_side: "cells" 20, 513, "Floors with a shorter side have no court.";
        compared: "vaults" 1, 8, "Vaults drawn, of which the largest is taken.";
        rooms_around: "per cent" 10, 100, "Rooms around the court, of those of a floor without one.";
        closed: "weight" 0, 1_000, "A court on all sides of the vault; on one to three sides; a lake around the vault; a garden that is wider on some sides; a processional way to the vault.";
        half: "weight" 0, 1_000, "";
        island: "weight" 0, 1_000, "";
        garden: "weight" 0, 1_000, "";
        way: "weight" 0, 1_000, "";
        court_least: "thousandths" 10, 300, "Width of a court beside the vault, of the floor's shorter side.";
        court_most: "thousandths" 10, 300, "";
        way_least: "per cent" 5, 80, "Length of a processional way, of the floor's side.";
        way_most: "per cent" 5, 80, "";
        rectangle: "weight" 0, 1_000, "Form of a court.";
        octagon: "weight" 0, 1_000, "";
        round: "weight" 0, 1_000, "";
        diamond: "weight" 0, 1_000, "";
        hedge: "weight" 0, 1_000, "Around the vault: a hedge; a colonnade; a moat; beds with trees.";
        colonnade: "weight" 0, 1_000, "";
        moat: "weight" 0, 1_000, "";
        beds: "weight" 0, 1_000, "";
        avenues_least: "avenues" 1, 8, "Avenues of a floor.";
        avenues_most: "avenues" 1, 8, "";
        avenue_least: "thousandths" 1, 100, "Width of an avenue, of the floor's shorter side.";
        avenue_most: "thousandths" 1, 100, "";
        length_least: "per cent" 10, 100, "Length of an avenue, of the cells between the court and the border.";
        length_most: "per cent" 10, 100, "";
        straight: "weight" 0, 1_000, "Avenues: straight; turning at their end; turning half way, and back; curved; curving to one side and back.";
        bent: "weight" 0, 1_000, "";
        offset: "weight" 0, 1_000, "";
        curved: "weight" 0, 1_000, "";
        winding: "weight" 0, 1_000, "";
        gate_chance: "thousandths" 0, 1_000, "How often an avenue begins with a door (where the court's side is straight); ends in a square.";
        square_chance: "thousandths" 0, 1_000, "";
        square_least: "thousandths" 10, 300, "Width of a square beside its monument, and half the width of a way, of the floor's shorter side.";
        square_most: "thousandths" 10, 300, "";
        rooms_per_loop: "rooms" 1, 255, "Rooms for each loop; least doors on the walk that it shortens.";
        detour: "doors" 2, 12, "";
    }
    story Story {
        winding: "weight" 0, 1_000, "A walk that winds over most of the floor; a short one with many side scenes; one that leads round by the farthest place; one with a second way beside it; one whose acts begin at a hub.";
        road: "weight" 0, 1_000, "";
        round: "weight" 0, 1_000, "";
        braid: "weight" 0, 1_000, "";
        hub: "weight" 0, 1_000, "";
        gap: "cells" 3, 8, "Rock between two plots, which hold a scene each; least side of a plot.";
        plot_least: "cells" 5, 30, "";
        road_least: "cells" 1, 4, "Width of the road from scene to scene.";
        road_most: "cells" 1, 4, "";
        door_chance: "thousandths" 0, 1_000, "How often a corridor's end has a door.";
        act_least: "scenes" 1, 20, "Scenes of an act.";
        act_most: "scenes" 1, 20, "";
        rest_chance: "thousandths" 0, 1_000, "How often an act of at least three scenes ends with a rest.";
        scenes_per_gate: "scenes" 1, 60, "Scenes of the walk for each gate; most gates.";
        most_gates: "gates" 0, 10, "";
        side_chance: "thousandths" 0, 1_000, "How often a plot beside the walk holds a side scene; least share of the plots that hold a scene, if there is space.";
        full: "thousandths" 0, 1_000, "";
        shortcut_chance: "thousandths" 0, 1_000, "How often two neighbouring scenes of an act are joined; least doors on the walk between them.";
        detour: "doors" 2, 12, "";
    }
}
