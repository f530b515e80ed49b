//! Entry and exit, locks, secret doors and keys. Runs while the rooms still form a tree, so that a locked connection
//! cannot be bypassed; loops that are added later stay in one zone.

use crate::arena::{Arena, SEALED};
use crate::floor::{Item, Lock, RoomRole, Terrain};
use crate::graph::UNREACHED;
use crate::plan::Plan;
use crate::rng::Rng;

use crate::stages::kind_rules::KindRules;
use crate::stages::spots;
use crate::stages::survey::LayoutRejected;

/// How many locks and secret rooms a floor gets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LockCounts {
    /// Locks between entry and exit. Where rooms lie open to each other they are nested: the exit's, then that of the
    /// room with the exit's key, and so on.
    pub(crate) locks: usize,
    /// Locked rooms beside the path, with loot.
    pub(crate) vaults: usize,
    /// Secret rooms beside the path.
    pub(crate) secrets: usize,
}

impl LockCounts {
    /// By the number of rooms; deeper and larger floors get vaults and secret rooms.
    pub(crate) fn for_rooms(arena: &Arena, plan: &Plan<'_>) -> Self {
        let (rooms, numbers) = (arena.rooms.len() as u32, &arena.params.locks);
        let locks = (rooms / numbers.rooms_per_lock).max(u32::from(rooms >= numbers.first_lock)).min(numbers.most);
        let vaults = rooms >= numbers.first_vault && plan.spec.number() >= numbers.vault_from;
        let secrets = (rooms / numbers.rooms_per_secret).min(numbers.most_secrets);
        Self { locks: locks as usize, vaults: usize::from(vaults), secrets: secrets as usize }
    }

    /// For rooms that lie open to each other, by the number of cells.
    pub(crate) fn for_cells(arena: &Arena, plan: &Plan<'_>) -> Self {
        let (cells, numbers) = (plan.spec.cells() as u32, &arena.params.locks);
        let locks = cells / numbers.cells_per_lock + u32::from(cells >= numbers.first_lock_cells);
        let vault = cells >= numbers.first_vault_cells && plan.spec.number() >= numbers.vault_from;
        let second = cells >= numbers.second_vault_cells;
        let secrets = (cells / numbers.cells_per_secret).min(numbers.most_secrets);
        Self {
            locks: locks.min(numbers.most_nested) as usize,
            vaults: usize::from(vault) + usize::from(second),
            secrets: secrets as usize,
        }
    }

    /// Closed rooms besides the exit.
    pub(crate) const fn beside_exit(&self) -> usize {
        self.locks.saturating_sub(1) + self.vaults + self.secrets
    }
}

/// Locks and hides connections on the path and beside it, and assigns zones: zone 0 is reached without a key, zone `n`
/// is opened by lock `n`.
pub(crate) fn place_locks(
    arena: &mut Arena,
    (entry, exit): (usize, usize),
    counts: LockCounts,
    rng: &mut Rng,
) -> Result<(), LayoutRejected> {
    arena.rooms[entry].role = RoomRole::Entry;
    arena.rooms[exit].role = RoomRole::Exit;
    trace_path(arena, entry, exit)?;
    lock_path(arena, counts.locks, rng);
    seal_rooms(arena, RoomRole::Secret, counts.secrets, rng);
    seal_rooms(arena, RoomRole::Vault, counts.vaults, rng);
    assign_zones(arena, entry);
    Ok(())
}

/// Stores the connections from entry to exit and each room's depth. Rejects a layout in which a room is not connected.
pub(crate) fn trace_path(arena: &mut Arena, entry: usize, exit: usize) -> Result<(), LayoutRejected> {
    let Arena { graph, rooms, connections, path, .. } = arena;
    graph.rebuild(rooms.len(), connections);
    graph.measure_distances(entry, rooms, connections, |_| true);
    if graph.distance.contains(&UNREACHED) {
        return Err(LayoutRejected("a room without a connection"));
    }
    path.clear();
    path.extend(graph.path_back(exit, connections));
    path.reverse();
    for (room, &depth) in rooms.iter_mut().zip(&graph.distance) {
        room.depth = depth;
    }
    Ok(())
}

/// Locks up to `wanted` connections, one in each section of the path. The first connection stays open, so that the
/// entry room is not all that is reached without a key.
fn lock_path(arena: &mut Arena, wanted: usize, rng: &mut Rng) {
    let doors = arena.path.len().saturating_sub(1);
    let wanted = wanted.min(doors);
    for section in 0..wanted {
        let (from, to) = (1 + section * doors / wanted, 1 + (section + 1) * doors / wanted);
        // Takes the first connection with a place for a door, from a random one on.
        let first = rng.index(to - from);
        for i in 0..to - from {
            let connection = usize::from(arena.path[from + (first + i) % (to - from)]);
            if lock(arena, connection) {
                arena.required_locks += 1;
                break;
            }
        }
    }
}

/// Puts the next lock on a connection; false if it has no place for a door.
pub(crate) fn lock(arena: &mut Arena, connection: usize) -> bool {
    let Some(gate) = arena.connections[connection].gate else { return false };
    let id = arena.locks.len() as u8 + 1;
    arena.connections[connection].lock = id;
    arena.terrain[gate as usize] = Terrain::LockedDoor;
    arena.locks.push(Lock { id, at: arena.point(gate as usize) });
    arena.key_rooms.push(None);
    true
}

/// Turns the door of a connection into a secret door.
pub(crate) fn make_secret(arena: &mut Arena, connection: usize) {
    if let Some(gate) = arena.connections[connection].gate {
        arena.connections[connection].secret = true;
        arena.terrain[gate as usize] = Terrain::SecretDoor;
    }
}

/// Turns up to `wanted` dead ends beside the path into rooms of that role, behind a lock or a secret door.
pub(crate) fn seal_rooms(arena: &mut Arena, role: RoomRole, wanted: usize, rng: &mut Rng) {
    if wanted == 0 {
        return;
    }
    let Arena { graph, rooms, connections, room_list, .. } = arena;
    room_list.clear();
    room_list.extend((0..rooms.len()).filter(|&room| rooms[room].role == RoomRole::Combat).filter_map(|room| {
        let [edge] = graph.edges(room) else { return None };
        let connection = &connections[usize::from(edge.connection)];
        let can_close = connection.gate.is_some() && connection.lock == 0 && !connection.secret;
        can_close.then_some(room as u8)
    }));
    rng.shuffle(&mut arena.room_list);
    // Small rooms first, so that large rooms stay open.
    let Arena { rooms, room_list, .. } = arena;
    room_list.truncate(3 * wanted + 2);
    spots::sort_rooms(room_list, |room| rooms[room].area);
    for i in 0..arena.room_list.len().min(wanted) {
        let room = usize::from(arena.room_list[i]);
        let connection = usize::from(arena.graph.edges(room)[0].connection);
        arena.rooms[room].role = role;
        close(arena, room, connection);
    }
}

/// Closes a room's only connection: hides it if the room is secret, and locks it otherwise.
pub(crate) fn close(arena: &mut Arena, room: usize, connection: usize) {
    arena.rooms[room].zone = SEALED;
    if arena.rooms[room].role == RoomRole::Secret {
        make_secret(arena, connection);
    } else {
        lock(arena, connection);
    }
}

/// Gives every room its zone, by walking the tree from the entry.
pub(crate) fn assign_zones(arena: &mut Arena, entry: usize) {
    let Arena { graph, rooms, connections, path, room_list, .. } = arena;
    let mut seen = [false; crate::arena::MAX_ROOMS];
    room_list.clear();
    room_list.push(entry as u8);
    rooms[entry].zone = 0;
    seen[entry] = true;
    while let Some(room) = room_list.pop() {
        for edge in graph.edges(usize::from(room)) {
            let there = usize::from(edge.room);
            if core::mem::replace(&mut seen[there], true) {
                continue;
            }
            let connection = &connections[usize::from(edge.connection)];
            rooms[there].zone = match connection {
                _ if connection.secret => SEALED,
                _ if connection.lock == 0 => rooms[usize::from(room)].zone,
                _ if path.contains(&edge.connection) => connection.lock,
                _ => SEALED,
            };
            room_list.push(edge.room);
        }
    }
}

/// Places the key of each lock in a room that is reached without it. The key of a lock on the path lies in the zone
/// before it, so that keys are found in order.
pub(crate) fn place_keys(arena: &mut Arena, plan: &Plan<'_>, rules: &KindRules, rng: &mut Rng) {
    for i in 0..arena.locks.len() {
        let id = arena.locks[i].id;
        let room = arena.key_rooms[i].map(usize::from).or_else(|| choose_key_room(arena, id, rng));
        // The zone before a lock holds at least the room in front of it.
        let Some(room) = room else { continue };
        let Some(at) = spots::center_or_open(arena, room, rng) else { continue };
        if arena.rooms[room].role == RoomRole::Combat && !rules.fixed_roles {
            arena.rooms[room].role = RoomRole::Key;
        }
        arena.reserve(at);
        arena.items.push(Item { at: arena.point(at), archetype: plan.content.key, value: 0, opens_lock: id });
    }
}

/// A room for the key of that lock.
fn choose_key_room(arena: &Arena, id: u8, rng: &mut Rng) -> Option<usize> {
    let on_the_path = usize::from(id) <= arena.required_locks;
    let zoned = arena.rooms.iter().any(|room| room.zone == id);
    let fit = |room: &usize| {
        let zone = arena.rooms[*room].zone;
        // No zone has the id of a lock on a vault: its key may lie in any zone.
        zone != SEALED && (!on_the_path || zone + 1 == id || !zoned)
    };
    (0..arena.rooms.len()).filter(fit).max_by_key(|&room| (key_room_worth(arena, room), rng.next()))
}

/// How well a room suits a key: best is a dead end without other use, worst the entry.
fn key_room_worth(arena: &Arena, room: usize) -> u32 {
    let dead_end = arena.graph.edges(room).len() == 1;
    match arena.rooms[room].role {
        RoomRole::Combat if dead_end => 3,
        RoomRole::Combat => 2,
        RoomRole::Entry => 0,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::ConnectionDraft;
    use crate::pack::Pack;
    use crate::shape::{Form, Shape};
    use crate::spec::{FloorSpec, Kind};
    use crate::stages::accrete::place;

    #[test]
    fn a_room_without_a_connection_is_rejected() {
        let spec = FloorSpec::resolve(1, 1, 64, 64, Some(Kind::Maze)).unwrap();
        let mut arena = Arena::default();
        arena.reset(&Plan::new(&Pack::tower().content, &spec));
        let rng = &mut Rng::from_seed(1);
        for x in [4, 20, 36] {
            place(&mut arena, &Shape::draw(Form::Hall, 8, 8, rng), x, 10);
        }
        let connection = |from, to| ConnectionDraft::open(from, to, None);
        arena.connections.push(connection(0, 1));
        assert!(trace_path(&mut arena, 0, 1).is_err());
        arena.connections.push(connection(1, 2));
        assert_eq!(trace_path(&mut arena, 0, 1), Ok(()));
    }
}
