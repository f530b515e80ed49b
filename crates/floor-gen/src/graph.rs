//! Rooms as nodes and connections as edges, for searches that need no cells: distances, paths, connected components.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::draft::{ConnectionDraft, MAX_ROOMS, RoomDraft};

/// The distance of a room that the search did not reach.
pub(crate) const UNREACHED: u32 = u32::MAX;

/// The adjacency lists of all rooms, and the result of the last search.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    /// The index of each room's first edge; one entry more than there are rooms.
    first: Vec<u16>,
    edges: Vec<Edge>,
    /// Distance of each room from the last search's start.
    pub(crate) distance: Vec<u32>,
    /// The connection by which the last search reached each room.
    pub(crate) arrived_by: Vec<u16>,
    queue: VecDeque<u8>,
}

/// One end of a connection, seen from the room at the other end.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Edge {
    pub(crate) room: u8,
    pub(crate) connection: u16,
}

impl Graph {
    /// Replaces the graph by these rooms and connections.
    pub(crate) fn rebuild(&mut self, rooms: usize, connections: &[ConnectionDraft]) {
        self.first.clear();
        self.first.resize(rooms + 1, 0);
        for connection in connections {
            self.first[usize::from(connection.from)] += 1;
            self.first[usize::from(connection.to)] += 1;
        }
        let mut end = 0;
        for count in &mut self.first {
            end += *count;
            *count = end;
        }
        self.edges.clear();
        self.edges.resize(2 * connections.len(), Edge::default());
        for (i, connection) in connections.iter().enumerate() {
            for (here, there) in [(connection.from, connection.to), (connection.to, connection.from)] {
                let slot = &mut self.first[usize::from(here)];
                *slot -= 1;
                self.edges[usize::from(*slot)] = Edge { room: there, connection: i as u16 };
            }
        }
    }

    pub(crate) fn edges(&self, room: usize) -> &[Edge] {
        &self.edges[usize::from(self.first[room])..usize::from(self.first[room + 1])]
    }

    /// Whether connections without lock or secret lead from room `a` to room `b` through at most `most` doors.
    pub(crate) fn within_doors(&mut self, a: usize, b: usize, most: u32, connections: &[ConnectionDraft]) -> bool {
        let is_open = |connection: &ConnectionDraft| connection.lock == 0 && !connection.secret;
        self.search(a, connections, is_open, |_, _| 1, |room, doors| room == b || doors >= most);
        self.distance[b] <= most
    }

    /// Measures the walk from room `start` to every other room, center to center. It is exact on a tree; otherwise it
    /// is the length of a walk with the fewest doors.
    pub(crate) fn measure_distances(
        &mut self,
        start: usize,
        rooms: &[RoomDraft],
        connections: &[ConnectionDraft],
        open: impl Fn(&ConnectionDraft) -> bool,
    ) {
        self.search(
            start,
            connections,
            open,
            |from, to| {
                let (a, b) = (&rooms[from], &rooms[to]);
                let middle = |least: u16, greatest: u16| (i32::from(least) + i32::from(greatest)) / 2;
                let dx = middle(a.min.x, a.max.x).abs_diff(middle(b.min.x, b.max.x));
                let dy = middle(a.min.y, a.max.y).abs_diff(middle(b.min.y, b.max.y));
                (dx + dy).max(1)
            },
            |_, _| false,
        );
    }

    /// Breadth first, so each room is reached through the fewest doors. Ends before the first room for which `stop`
    /// holds.
    fn search(
        &mut self,
        start: usize,
        connections: &[ConnectionDraft],
        open: impl Fn(&ConnectionDraft) -> bool,
        length: impl Fn(usize, usize) -> u32,
        stop: impl Fn(usize, u32) -> bool,
    ) {
        let rooms = self.first.len() - 1;
        self.distance.clear();
        self.distance.resize(rooms, UNREACHED);
        self.arrived_by.clear();
        self.arrived_by.resize(rooms, u16::MAX);
        self.distance[start] = 0;
        self.queue.clear();
        self.queue.push_back(start as u8);
        while let Some(room) = self.queue.pop_front() {
            let room = usize::from(room);
            if stop(room, self.distance[room]) {
                return;
            }
            for i in usize::from(self.first[room])..usize::from(self.first[room + 1]) {
                let edge = self.edges[i];
                let there = usize::from(edge.room);
                if self.distance[there] == UNREACHED && open(&connections[usize::from(edge.connection)]) {
                    self.distance[there] = self.distance[room] + length(room, there);
                    self.arrived_by[there] = edge.connection;
                    self.queue.push_back(edge.room);
                }
            }
        }
    }

    /// The connections from room `end` back to the start of the last search.
    pub(crate) fn path_back<'a>(
        &'a self,
        end: usize,
        connections: &'a [ConnectionDraft],
    ) -> impl Iterator<Item = u16> + 'a {
        let mut here = end;
        core::iter::from_fn(move || {
            let index = *self.arrived_by.get(here)?;
            let connection = connections.get(usize::from(index))?;
            here = usize::from(if usize::from(connection.to) == here { connection.from } else { connection.to });
            Some(index)
        })
    }
}

/// Connected components of the rooms: union-find with path halving.
#[derive(Debug, Clone)]
pub(crate) struct Components {
    parent: [u8; MAX_ROOMS],
    /// How many components there are.
    pub(crate) count: usize,
}

impl Components {
    /// Each room a component of its own.
    pub(crate) fn singletons(rooms: usize) -> Self {
        Self { parent: core::array::from_fn(|room| room as u8), count: rooms }
    }

    /// The components that `connections` form.
    pub(crate) fn of_connections(rooms: usize, connections: &[ConnectionDraft]) -> Self {
        let mut components = Self::singletons(rooms);
        for connection in connections {
            components.join(connection.from.into(), connection.to.into());
        }
        components
    }

    /// Joins the components of two rooms; false if they are one already.
    pub(crate) fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.find(a), self.find(b));
        if a == b {
            return false;
        }
        self.parent[a] = b as u8;
        self.count -= 1;
        true
    }

    pub(crate) fn connected(&mut self, a: usize, b: usize) -> bool {
        self.find(a) == self.find(b)
    }

    fn find(&mut self, mut room: usize) -> usize {
        while usize::from(self.parent[room]) != room {
            self.parent[room] = self.parent[usize::from(self.parent[room])];
            room = usize::from(self.parent[room]);
        }
        room
    }
}
