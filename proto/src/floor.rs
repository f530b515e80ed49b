//! A floor, decoded and checked.

use crate::{
    grid::{self, GridError},
    hash::HashError,
    pack::PackRef,
    v1::{self, FloorKind, FloorSpec, Grid, Point, RoomRole, Terrain, View},
};

impl FloorSpec {
    /// Floor `number` of tower `seed`, with the size, the kind and the content that the server gives it.
    ///
    /// ```
    /// use floor_proto::v1::{FloorKind, FloorSpec};
    ///
    /// let spec = FloorSpec::new(42, 7).with_size(64, 48).with_kind(FloorKind::Cavern).with_pack("drowned-library");
    /// assert_eq!((spec.seed, spec.number, spec.kind()), (42, 7, FloorKind::Cavern));
    /// ```
    #[must_use]
    pub const fn new(seed: u64, number: u32) -> Self {
        Self { seed, number, width: 0, height: 0, kind: 0, pack: String::new(), view: 0 }
    }

    /// The same floor with so many cells from west to east and from north to south: 16 to 512 each.
    #[must_use]
    pub const fn with_size(mut self, width: u32, height: u32) -> Self {
        (self.width, self.height) = (width, height);
        self
    }

    /// The same floor in the style of that kind.
    #[must_use]
    pub const fn with_kind(mut self, kind: FloorKind) -> Self {
        self.kind = kind as i32;
        self
    }

    /// The same floor in that view.
    #[must_use]
    pub const fn with_view(mut self, view: View) -> Self {
        self.view = view as i32;
        self
    }

    /// The same floor with the content of a pack: `NAME` or `NAME@HASH`.
    #[must_use]
    pub fn with_pack(mut self, pack: impl Into<String>) -> Self {
        self.pack = pack.into();
        self
    }
}

/// A floor whose hash, grids and coordinates are checked: all points lie inside it. Cells are row-major, x right, y
/// down.
#[derive(Debug, Clone, PartialEq)]
pub struct Floor {
    wire: v1::Floor,
    spec: FloorSpec,
    entry: Point,
    exit: Point,
    landing: Point,
    terrain: Vec<Terrain>,
    region: Vec<u8>,
    furniture: Vec<(u32, usize)>,
    encoded_len: usize,
}

/// A piece of furniture on its cell. One can walk over it unless the terrain of its cell is a pillar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Furniture<'a> {
    /// The type, a name for the game to map to its own.
    pub archetype: &'a str,
    /// Its cell.
    pub at: Point,
}

impl v1::Room {
    /// What the room is called. Empty for most rooms.
    #[must_use]
    pub fn name(&self) -> &str {
        text(self.name.as_ref())
    }
}

impl Floor {
    /// Decodes the grids of a message of `encoded_len` bytes whose content hash is correct, and checks its positions.
    ///
    /// # Errors
    /// If a grid does not decode, a part is missing, or a position is outside the floor.
    pub fn from_wire(wire: v1::Floor, encoded_len: usize) -> Result<Self, InvalidFloor> {
        let spec = wire.spec.clone().ok_or(InvalidFloor::Missing("spec"))?;
        if PackRef::hash_of(&spec.pack) != Some(wire.pack_hash) {
            return Err(InvalidFloor::Pack { pack: spec.pack, hash: wire.pack_hash });
        }
        let terrain = cells(&spec, "terrain", wire.terrain.as_ref())?;
        let region = cells(&spec, "region", wire.region.as_ref())?;
        let terrain =
            (0..).zip(terrain).map(|(index, value)| self::terrain(&spec, index, value)).collect::<Result<_, _>>()?;
        let check_inside = |what, at: Option<Point>| check_inside(&spec, what, at);
        let entry = check_inside("entry", wire.entry)?;
        let exit = check_inside("exit", wire.exit)?;
        let landing = check_inside("landing", wire.landing.or(wire.entry))?;
        for room in &wire.rooms {
            for corner in [room.min, room.max, room.center] {
                check_inside("room", corner)?;
            }
        }
        for (what, at) in positions(&wire) {
            check_inside(what, at)?;
        }
        let furniture = furniture(&spec, &wire.furniture)?;
        Ok(Self { spec, entry, exit, landing, terrain, region, furniture, encoded_len, wire })
    }

    /// Checks that this is the floor that `requested` names. Fields that the request left unset (size 0, no kind, no
    /// pack) may have any value.
    ///
    /// # Errors
    /// [`InvalidFloor::SpecMismatch`] if it is another floor.
    pub fn check_spec(self, requested: &FloorSpec) -> Result<Self, InvalidFloor> {
        let received = &self.spec;
        let open_or_equal = |requested: u32, received: u32| requested == 0 || requested == received;
        let same = received.seed == requested.seed
            && received.number == requested.number
            && open_or_equal(requested.width, received.width)
            && open_or_equal(requested.height, received.height)
            && (requested.kind == 0 || requested.kind == received.kind)
            && PackRef::matches(&requested.pack, &received.pack)
            && requested.view == received.view;
        if same {
            Ok(self)
        } else {
            Err(InvalidFloor::SpecMismatch { requested: requested.clone(), received: self.spec })
        }
    }

    /// The resolved spec: number, size and kind are never 0.
    #[must_use]
    pub const fn spec(&self) -> &FloorSpec {
        &self.spec
    }

    /// The kind of floor. `Unspecified` for a kind that this client does not know.
    #[must_use]
    pub fn kind(&self) -> FloorKind {
        self.spec.kind()
    }

    /// Cells from west to east.
    #[must_use]
    pub const fn width(&self) -> u32 {
        self.spec.width
    }

    /// Cells from north to south.
    #[must_use]
    pub const fn height(&self) -> u32 {
        self.spec.height
    }

    /// The terrain of each cell, row-major. `Unspecified` for a terrain that this client does not know, which is
    /// impassable; the grid of [`wire`](Self::wire) has its number.
    #[must_use]
    pub fn terrain(&self) -> &[Terrain] {
        &self.terrain
    }

    /// The terrain of a cell, `None` outside the floor.
    #[must_use]
    pub fn terrain_at(&self, x: u32, y: u32) -> Option<Terrain> {
        Some(self.terrain[self.index(x, y)?])
    }

    /// Room id + 1 of each cell, 0 = none, row-major.
    #[must_use]
    pub fn region(&self) -> &[u8] {
        &self.region
    }

    /// The room of a cell, `None` outside rooms.
    #[must_use]
    pub fn room_at(&self, x: u32, y: u32) -> Option<&v1::Room> {
        let id = u32::from(self.region[self.index(x, y)?]).checked_sub(1)?;
        self.wire.rooms.iter().find(|room| room.id == id)
    }

    /// Whether a cell is passable without a key and without searching.
    #[must_use]
    pub fn passable(&self, x: u32, y: u32) -> bool {
        self.terrain_at(x, y).is_some_and(is_passable)
    }

    /// Stairs up, where a climber arrives.
    #[must_use]
    pub const fn entry(&self) -> Point {
        self.entry
    }

    /// Stairs to the next floor.
    #[must_use]
    pub const fn exit(&self) -> Point {
        self.exit
    }

    /// Who falls through a chasm of the floor above lands on the same cell if it is passable here, else on this one. The
    /// entry for a floor without one, as those before generator version 4.
    #[must_use]
    pub const fn landing(&self) -> Point {
        self.landing
    }

    /// The rooms, ordered by id.
    #[must_use]
    pub fn rooms(&self) -> &[v1::Room] {
        &self.wire.rooms
    }

    /// The role of the room of a cell. `Unspecified` outside rooms and for a role that this client does not know.
    #[must_use]
    pub fn role_at(&self, x: u32, y: u32) -> RoomRole {
        self.room_at(x, y).map_or(RoomRole::Unspecified, v1::Room::role)
    }

    /// The name of its theme. Empty for a floor of the built-in pack before generator version 4.
    #[must_use]
    pub fn theme(&self) -> &str {
        &self.wire.theme
    }

    /// What the floor is called. Empty before generator version 5, and for authored floors without a name.
    #[must_use]
    pub fn name(&self) -> &str {
        text(self.wire.name.as_ref())
    }

    /// A sentence that makes one want to go there. Empty where the name is.
    #[must_use]
    pub fn hook(&self) -> &str {
        text(self.wire.hook.as_ref())
    }

    /// The room that the floor is remembered by.
    #[must_use]
    pub fn landmark(&self) -> Option<&v1::Room> {
        let id = self.wire.landmark.checked_sub(1)?;
        self.wire.rooms.iter().find(|room| room.id == id)
    }

    /// What rooms are furnished with, type by type and row by row.
    pub fn furniture(&self) -> impl Iterator<Item = Furniture<'_>> {
        let width = self.spec.width;
        self.wire.furniture.iter().flat_map(move |kind| {
            let cells = kind.cells.iter().scan(0, |cell, step| {
                *cell += step;
                Some(*cell)
            });
            cells.map(move |cell| Furniture {
                archetype: &kind.archetype,
                at: Point { x: cell % width, y: cell / width },
            })
        })
    }

    /// The type of the furniture on a cell.
    #[must_use]
    pub fn furniture_at(&self, x: u32, y: u32) -> Option<&str> {
        let cell = self.index(x, y)? as u32;
        let found = self.furniture.binary_search_by_key(&cell, |(cell, _)| *cell).ok()?;
        Some(&self.wire.furniture[self.furniture[found].1].archetype)
    }

    /// The hash of the pack in its spec; 0 for the built-in pack.
    #[must_use]
    pub const fn pack_hash(&self) -> u64 {
        self.wire.pack_hash
    }

    /// The content hash, checked.
    #[must_use]
    pub const fn content_hash(&self) -> u64 {
        self.wire.content_hash
    }

    /// Length of the received message, in bytes.
    #[must_use]
    pub const fn encoded_len(&self) -> usize {
        self.encoded_len
    }

    /// The connections between rooms.
    #[must_use]
    pub fn connections(&self) -> &[v1::Connection] {
        &self.wire.connections
    }

    /// The monsters.
    #[must_use]
    pub fn spawns(&self) -> &[v1::Spawn] {
        &self.wire.spawns
    }

    /// Treasure and keys.
    #[must_use]
    pub fn items(&self) -> &[v1::Item] {
        &self.wire.items
    }

    /// The locked doors.
    #[must_use]
    pub fn locks(&self) -> &[v1::Lock] {
        &self.wire.locks
    }

    /// The traps.
    #[must_use]
    pub fn traps(&self) -> &[v1::Trap] {
        &self.wire.traps
    }

    /// The received message, which also has the metrics.
    #[must_use]
    pub const fn wire(&self) -> &v1::Floor {
        &self.wire
    }

    fn index(&self, x: u32, y: u32) -> Option<usize> {
        (x < self.spec.width && y < self.spec.height).then(|| (y * self.spec.width + x) as usize)
    }
}

/// Why a response is not the requested floor.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidFloor {
    /// The bytes are not a floor, or do not match the content hash in them.
    #[error(transparent)]
    Hash(#[from] HashError),
    /// A grid does not decode.
    #[error("its {grid} grid is broken: {source}")]
    Grid {
        /// `terrain` or `region`.
        grid: &'static str,
        /// What is wrong.
        source: GridError,
    },
    /// A required field is missing.
    #[error("it has no {0}")]
    Missing(&'static str),
    /// A cell has no terrain.
    #[error("cell ({x}, {y}) holds no terrain")]
    Terrain {
        /// Column.
        x: u32,
        /// Row.
        y: u32,
    },
    /// A point lies outside the floor.
    #[error("its {what} lies at ({x}, {y}), outside the floor")]
    Outside {
        /// The field that holds the point.
        what: &'static str,
        /// Column.
        x: u32,
        /// Row.
        y: u32,
    },
    /// The spec names another version of a pack than the floor has, or none.
    #[error("its spec names the pack {pack:?}, and its content is of the version {hash:016x}")]
    Pack {
        /// `spec.pack`.
        pack: String,
        /// `pack_hash`.
        hash: u64,
    },
    /// A valid floor, but not the requested one.
    #[error("the server sent another floor: {received:?} for {requested:?}")]
    SpecMismatch {
        /// The spec of the request.
        requested: FloorSpec,
        /// The spec in the floor.
        received: FloorSpec,
    },
}

/// Decodes a grid and checks that it has the size of the floor.
fn cells(spec: &FloorSpec, grid: &'static str, encoded: Option<&Grid>) -> Result<Vec<u8>, InvalidFloor> {
    let encoded = encoded.ok_or(InvalidFloor::Missing(grid))?;
    let (width, height) = (encoded.width, encoded.height);
    if (width, height) != (spec.width, spec.height) {
        let source = GridError::Size { width, height };
        return Err(InvalidFloor::Grid { grid, source });
    }
    grid::decode(encoded).map_err(|source| InvalidFloor::Grid { grid, source })
}

fn terrain(spec: &FloorSpec, index: u32, value: u8) -> Result<Terrain, InvalidFloor> {
    match Terrain::try_from(i32::from(value)) {
        // A valid floor has no cell of 0.
        Ok(Terrain::Unspecified) => Err(InvalidFloor::Terrain { x: index % spec.width, y: index / spec.width }),
        read => Ok(read.unwrap_or(Terrain::Unspecified)),
    }
}

fn check_inside(spec: &FloorSpec, what: &'static str, at: Option<Point>) -> Result<Point, InvalidFloor> {
    let at = at.ok_or(InvalidFloor::Missing(what))?;
    let Point { x, y } = at;
    if x < spec.width && y < spec.height { Ok(at) } else { Err(InvalidFloor::Outside { what, x, y }) }
}

fn text(of: Option<&v1::Text>) -> &str {
    of.map_or("", |text| &text.text)
}

/// The cells of all furniture in ascending order, with the index of its type.
fn furniture(spec: &FloorSpec, types: &[v1::Furniture]) -> Result<Vec<(u32, usize)>, InvalidFloor> {
    let mut pieces = Vec::new();
    for (entry, kind) in types.iter().enumerate() {
        let mut cell = 0;
        for step in &kind.cells {
            cell += u64::from(*step);
            if cell >= u64::from(spec.width) * u64::from(spec.height) {
                let (x, y) = ((cell % u64::from(spec.width)) as u32, cell / u64::from(spec.width));
                return Err(InvalidFloor::Outside { what: "furniture", x, y: u32::try_from(y).unwrap_or(u32::MAX) });
            }
            pieces.push((cell as u32, entry));
        }
    }
    pieces.sort_unstable();
    Ok(pieces)
}

/// The positions of spawns, items, locks and traps.
fn positions(wire: &v1::Floor) -> impl Iterator<Item = (&'static str, Option<Point>)> {
    let spawns = wire.spawns.iter().map(|spawn| ("spawn", spawn.at));
    let items = wire.items.iter().map(|item| ("item", item.at));
    let locks = wire.locks.iter().map(|lock| ("lock", lock.at));
    let traps = wire.traps.iter().map(|trap| ("trap", trap.at));
    spawns.chain(items).chain(locks).chain(traps)
}

/// Whether terrain is passable without a key and without searching.
#[must_use]
pub const fn is_passable(terrain: Terrain) -> bool {
    matches!(
        terrain,
        Terrain::Floor
            | Terrain::Door
            | Terrain::StairsUp
            | Terrain::StairsDown
            | Terrain::ShallowWater
            | Terrain::Bridge
            | Terrain::Grass
            | Terrain::Rubble
    )
}
