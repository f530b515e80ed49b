//! What of a floor a player may know on arrival, with a map in hand: the view that the protocol calls `VIEW_PLAYER`. It is
//! made of the message, so that generated and authored floors and those of a pack's own generator have it alike.
//!
//! Nothing in it depends on what it hides: two floors that differ in hidden things alone have the same view.

use floor_gen::pack::Shown;
use floor_proto::{
    floor::is_passable,
    grid::{self, GridError},
    v1::{self, RoomRole, Terrain, View},
    ways::Ground,
};

/// The player's view of a complete floor. Its content hash is 0.
///
/// Known are the cells that are reached from the entry with all keys and without searching, and what lies open beside
/// them: water, lava, chasms, pillars. All other cells are wall. Rooms of which no cell is known are absent, with their
/// connections; ids close the gaps. What [`Shown`] does not name is absent, and so are the lengths and risks that follow
/// from it.
///
/// # Errors
/// A grid of the floor does not decode. Those of valid floors do.
pub fn of_player(floor: v1::Floor, shown: Shown) -> Result<v1::Floor, GridError> {
    let terrain = grid::decode(&floor.terrain.clone().unwrap_or_default())?;
    let terrain = terrain.into_iter().map(|cell| Terrain::try_from(i32::from(cell)).unwrap_or(Terrain::Wall)).collect();
    let region = grid::decode(&floor.region.clone().unwrap_or_default())?;
    let width = floor.terrain.as_ref().map_or(0, |grid| grid.width) as usize;
    Ok(Sight::new(&floor, terrain, region, width).apply(floor, shown))
}

/// A floor's grids, and which cells of them are known.
struct Sight {
    width: usize,
    terrain: Vec<Terrain>,
    region: Vec<u8>,
    known: Vec<bool>,
    /// By room: its id in the view.
    rooms: Vec<Option<u32>>,
    /// By lock, from 1: its id in the view.
    locks: Vec<Option<u32>>,
}

impl Sight {
    fn new(floor: &v1::Floor, terrain: Vec<Terrain>, region: Vec<u8>, width: usize) -> Self {
        let entry = floor.entry.unwrap_or_default();
        let ground = Ground { width: width as u32, terrain: &terrain, locks: &floor.locks, entry };
        let keys: Vec<_> = floor.locks.iter().map(|lock| lock.id).collect();
        let known = ground.reachable(entry, &keys);
        let mut sight = Self { width, known, terrain, region, rooms: vec![], locks: vec![] };
        // Cells outside rooms are of "room" 0.
        let mut reached = [false; 256];
        reached[0] = true;
        let known = sight.cells().filter(|&cell| sight.known[cell]).collect::<Vec<_>>();
        known.iter().for_each(|&cell| reached[usize::from(sight.region[cell])] = true);
        sight.look(known, &reached);
        sight.rooms = number(floor.rooms.iter().map(|room| reached.get(room.id as usize + 1) == Some(&true)));
        sight.locks = number(floor.locks.iter().map(|lock| sight.knows(lock.at)));
        sight
    }

    fn cells(&self) -> core::ops::Range<usize> {
        0..self.terrain.len().min(self.region.len())
    }

    fn cell(&self, at: v1::Point) -> Option<usize> {
        let cell = at.y as usize * self.width + at.x as usize;
        (at.x < self.width as u32 && self.cells().contains(&cell)).then_some(cell)
    }

    fn knows(&self, at: Option<v1::Point>) -> bool {
        at.and_then(|at| self.cell(at)).is_some_and(|cell| self.known[cell])
    }

    /// Marks what lies open beside the cells of `queue` and cannot be entered, but for what is in rooms that are not reached.
    fn look(&mut self, mut queue: Vec<usize>, reached: &[bool; 256]) {
        while let Some(cell) = queue.pop() {
            for next in self.beside(cell) {
                let is_seen =
                    matches!(self.terrain[next], Terrain::DeepWater | Terrain::Lava | Terrain::Chasm | Terrain::Pillar);
                if !self.known[next] && is_seen && reached[usize::from(self.region[next])] {
                    self.known[next] = true;
                    queue.push(next);
                }
            }
        }
    }

    /// The cells of the floor around a cell.
    fn beside(&self, cell: usize) -> impl Iterator<Item = usize> + use<> {
        const AROUND: [(isize, isize); 8] = [(-1, -1), (0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1), (1, 1)];
        let (width, cells) = (self.width, self.cells());
        let (x, y) = (cell % width, cell / width);
        AROUND.map(move |(dx, dy)| (x.checked_add_signed(dx), y.checked_add_signed(dy))).into_iter().filter_map(
            move |to| {
                let (x, y) = (to.0.filter(|x| *x < width)?, to.1?);
                Some(y * width + x).filter(|cell| cells.contains(cell))
            },
        )
    }

    fn room(&self, id: u32) -> Option<u32> {
        self.rooms.get(id as usize).copied().flatten()
    }

    /// 0 for a lock that is not known, and for none.
    fn lock(&self, id: u32) -> u32 {
        let lock = (id as usize).checked_sub(1).and_then(|i| self.locks.get(i)).copied().flatten();
        lock.map_or(0, |lock| lock + 1)
    }

    fn apply(mut self, floor: v1::Floor, shown: Shown) -> v1::Floor {
        for cell in self.cells() {
            if !self.known[cell] {
                (self.terrain[cell], self.region[cell]) = (Terrain::Wall, 0);
            } else if self.region[cell] > 0 {
                self.region[cell] = self.room(u32::from(self.region[cell]) - 1).map_or(0, |id| id as u8 + 1);
            }
        }
        let rooms = self.rooms_of(floor.rooms, shown);
        let connections: Vec<v1::Connection> =
            floor.connections.iter().filter_map(|connection| self.connection(connection)).collect();
        let passable = self.cells().filter(|&cell| is_passable(self.terrain[cell])).count();
        let metrics = v1::FloorMetrics {
            passable_cells: passable as u32,
            loops: loops(rooms.len(), &connections),
            ..v1::FloorMetrics::default()
        };
        let locks = floor.locks.iter().filter(|lock| self.lock(lock.id) > 0);
        let locks = locks.map(|lock| v1::Lock { id: self.lock(lock.id), at: lock.at }).collect();
        let items = floor.items.into_iter().filter(|item| shown.items && self.knows(item.at));
        let items = items.map(|item| v1::Item { opens_lock: self.lock(item.opens_lock), ..item }).collect();
        let mut spawns = floor.spawns;
        spawns.retain(|spawn| shown.monsters && self.knows(spawn.at));
        close_groups(&mut spawns);
        let mut traps = floor.traps;
        traps.retain(|trap| shown.traps && self.knows(trap.at));
        let height = (self.terrain.len() / self.width) as u32;
        let encode = |cells: &[u8]| Some(grid::encode(self.width as u32, height, cells));
        let terrain: Vec<_> = self.terrain.iter().map(|cell| *cell as u8).collect();
        v1::Floor {
            spec: floor.spec.map(|spec| v1::FloorSpec { view: View::Player.into(), ..spec }),
            content_hash: 0,
            terrain: encode(&terrain),
            region: encode(&self.region),
            rooms,
            connections,
            spawns,
            items,
            locks,
            metrics: Some(metrics),
            traps,
            landmark: floor.landmark.checked_sub(1).and_then(|room| self.room(room)).map_or(0, |room| room + 1),
            furniture: self.furniture(floor.furniture),
            ..floor
        }
    }

    /// The rooms that are known, with the boxes of their known cells.
    fn rooms_of(&self, rooms: Vec<v1::Room>, shown: Shown) -> Vec<v1::Room> {
        let mut boxes = vec![None::<Box>; 256];
        for cell in self.cells() {
            let at = v1::Point { x: (cell % self.width) as u32, y: (cell / self.width) as u32 };
            let first = is_passable(self.terrain[cell]).then_some(at);
            let area = boxes[usize::from(self.region[cell])].get_or_insert(Box { min: at, max: at, first });
            area.min.x = area.min.x.min(at.x);
            area.max = v1::Point { x: area.max.x.max(at.x), y: at.y };
            area.first = area.first.or(first);
        }
        let known = rooms.into_iter().filter_map(|room| {
            let id = self.room(room.id)?;
            let Box { min, max, first } = boxes[id as usize + 1].clone()?;
            let center = room.center.filter(|_| self.knows(room.center)).or(first);
            let role = if shown.roles { room.role } else { RoomRole::Unspecified.into() };
            Some(v1::Room { id, min: Some(min), max: Some(max), role, center, ..room })
        });
        known.collect()
    }

    fn connection(&self, connection: &v1::Connection) -> Option<v1::Connection> {
        let (from_room, to_room) = (self.room(connection.from_room)?, self.room(connection.to_room)?);
        let lock_id = self.lock(connection.lock_id);
        let is_known = !connection.secret && (connection.lock_id == 0 || lock_id > 0);
        is_known.then_some(v1::Connection { from_room, to_room, lock_id, secret: false })
    }

    /// The pieces on known cells.
    fn furniture(&self, furniture: Vec<v1::Furniture>) -> Vec<v1::Furniture> {
        let known = furniture.into_iter().map(|v1::Furniture { archetype, cells }| {
            let mut at = 0u32;
            let mut before = 0;
            let cells = cells.into_iter().filter_map(|step| {
                at = at.saturating_add(step);
                let is_known = self.known.get(at as usize) == Some(&true);
                is_known.then(|| at - core::mem::replace(&mut before, at))
            });
            v1::Furniture { cells: cells.collect(), archetype }
        });
        known.filter(|piece| !piece.cells.is_empty()).collect()
    }
}

/// The box of a room's known cells, and the first that one can enter.
#[derive(Debug, Clone)]
struct Box {
    min: v1::Point,
    max: v1::Point,
    first: Option<v1::Point>,
}

/// Numbers those that are kept, from 0.
fn number(kept: impl Iterator<Item = bool>) -> Vec<Option<u32>> {
    let mut next = 0;
    kept.map(|is_kept| {
        is_kept.then(|| {
            next += 1;
            next - 1
        })
    })
    .collect()
}

/// Connections - rooms + connected components.
fn loops(rooms: usize, connections: &[v1::Connection]) -> u32 {
    let mut root: Vec<usize> = (0..rooms).collect();
    let mut components = rooms;
    for connection in connections {
        let [from, to] = [connection.from_room, connection.to_room].map(|room| {
            let mut room = room as usize;
            while root[room] != room {
                room = root[room];
            }
            room
        });
        if from != to {
            root[from] = to;
            components -= 1;
        }
    }
    (connections.len() + components - rooms) as u32
}

/// Numbers groups without gaps; who is left of a group is alone.
fn close_groups(spawns: &mut [v1::Spawn]) {
    let mut size = vec![0; 256];
    let index = |group: u32| (group as usize).min(255);
    spawns.iter().for_each(|spawn| size[index(spawn.group)] += 1);
    let ids = number((0..256).map(|group| group > 0 && size[group] > 1));
    spawns.iter_mut().for_each(|spawn| spawn.group = ids[index(spawn.group)].map_or(0, |id| id + 1));
}
