package floors

import (
	"fmt"
	"strings"

	"floors.example/go/floorsv1"
)

// Floor is a floor whose hash, grids and coordinates are checked: all points lie inside it.
type Floor struct {
	// Message is the floor as received, with rooms, connections, spawns, items, locks, traps and metrics.
	Message *floorsv1.Floor
	// Terrain has a [floorsv1.Terrain] for each cell: cell (x, y) is at y*Width() + x. Treat an unknown one as
	// impassable.
	Terrain []byte
	// Region has the room id + 1 of each cell, 0 outside rooms.
	Region []byte
}

// Decode checks and decodes the bytes of a floors.v1.Floor, such as those of a file. The error is an [*InvalidError].
func Decode(encoded []byte) (*Floor, error) {
	message := new(floorsv1.Floor)
	if err := (checkedCodec{}).Unmarshal(encoded, message); err != nil {
		return nil, err
	}
	return fromMessage(message)
}

// String returns a short form: "floor 7 of tower 42, 100x100, hash 0123456789abcdef".
func (f *Floor) String() string {
	spec, hash := f.Message.Spec, f.Message.ContentHash
	return fmt.Sprintf("floor %d of tower %d, %dx%d, hash %016x", spec.Number, spec.Seed, f.Width(), f.Height(), hash)
}

// Width returns the cells from west to east.
func (f *Floor) Width() uint32 { return f.Message.Spec.Width }

// Height returns the cells from north to south.
func (f *Floor) Height() uint32 { return f.Message.Spec.Height }

// Spawns returns the monsters.
func (f *Floor) Spawns() []*floorsv1.Spawn { return f.Message.Spawns }

// Theme returns the name of the floor's theme, "" for a floor of the built-in pack before generator version 4.
func (f *Floor) Theme() string { return f.Message.Theme }

// PackHash returns the hash of the pack in Message.Spec.Pack, 0 for the built-in pack.
func (f *Floor) PackHash() uint64 { return f.Message.PackHash }

// Landing returns the cell for those who fall through a chasm of the floor above, unless the same cell is passable here.
// It is the entry for a floor without one, as those before generator version 4.
func (f *Floor) Landing() *floorsv1.Point {
	if f.Message.Landing == nil {
		return f.Message.Entry
	}
	return f.Message.Landing
}

// Name returns what the floor is called, "" before generator version 5 and for authored floors without a name.
// Message.Name also has the ids with which a game says it in another language.
func (f *Floor) Name() string { return f.Message.GetName().GetText() }

// Hook returns a sentence that makes one want to go there, "" where the name is.
func (f *Floor) Hook() string { return f.Message.GetHook().GetText() }

// Landmark returns the room that the floor is remembered by, nil if it has none.
func (f *Floor) Landmark() *floorsv1.Room {
	for _, room := range f.Message.Rooms {
		if room.Id+1 == f.Message.Landmark {
			return room
		}
	}
	return nil
}

// Furniture is a piece of furniture on its cell. One can walk over it unless the terrain of its cell is PILLAR. Treat an
// unknown archetype as decoration.
type Furniture struct {
	Archetype string
	X, Y      uint32
}

// Furniture returns what rooms are furnished with, type by type.
func (f *Floor) Furniture() []Furniture {
	var pieces []Furniture
	for _, kind := range f.Message.Furniture {
		cell := uint32(0)
		for _, step := range kind.Cells {
			cell += step
			pieces = append(pieces, Furniture{kind.Archetype, cell % f.Width(), cell / f.Width()})
		}
	}
	return pieces
}

// TerrainAt returns the terrain of a cell, UNSPECIFIED outside the floor.
func (f *Floor) TerrainAt(x, y uint32) floorsv1.Terrain {
	if x >= f.Width() || y >= f.Height() {
		return floorsv1.Terrain_TERRAIN_UNSPECIFIED
	}
	return floorsv1.Terrain(f.Terrain[y*f.Width()+x])
}

// RoomAt returns the room of a cell, nil outside rooms.
func (f *Floor) RoomAt(x, y uint32) *floorsv1.Room {
	if x >= f.Width() || y >= f.Height() {
		return nil
	}
	for _, room := range f.Message.Rooms {
		if room.Id+1 == uint32(f.Region[y*f.Width()+x]) {
			return room
		}
	}
	return nil
}

// Passable returns whether a cell is passable without a key and without searching.
func (f *Floor) Passable(x, y uint32) bool {
	return isPassable(f.TerrainAt(x, y))
}

func isPassable(terrain floorsv1.Terrain) bool {
	switch terrain {
	case floorsv1.Terrain_TERRAIN_FLOOR, floorsv1.Terrain_TERRAIN_DOOR, floorsv1.Terrain_TERRAIN_STAIRS_UP,
		floorsv1.Terrain_TERRAIN_STAIRS_DOWN, floorsv1.Terrain_TERRAIN_SHALLOW_WATER, floorsv1.Terrain_TERRAIN_BRIDGE,
		floorsv1.Terrain_TERRAIN_GRASS, floorsv1.Terrain_TERRAIN_RUBBLE:
		return true
	default:
		return false
	}
}

// fromMessage decodes the grids and checks the fields. The hash is checked where the bytes are.
func fromMessage(message *floorsv1.Floor) (*Floor, error) {
	if message.GetSpec() == nil {
		return nil, invalid(ClassMissing, "it has no spec")
	}
	floor := &Floor{Message: message}
	var err error
	if floor.Terrain, err = floor.decode("terrain", message.GetTerrain()); err != nil {
		return nil, err
	}
	if floor.Region, err = floor.decode("region", message.GetRegion()); err != nil {
		return nil, err
	}
	for i, terrain := range floor.Terrain {
		if terrain == 0 {
			return nil, invalid(ClassTerrain, "cell (%d, %d) holds no terrain", i%int(floor.Width()), i/int(floor.Width()))
		}
	}
	return floor, floor.checkPoints()
}

func (f *Floor) decode(name string, grid *floorsv1.Grid) ([]byte, error) {
	if grid == nil {
		return nil, invalid(ClassMissing, "it has no %s", name)
	}
	if grid.Width != f.Width() || grid.Height != f.Height() {
		err := invalid(ClassSize, "%dx%d cells in a floor of %dx%d", grid.Width, grid.Height, f.Width(), f.Height())
		return nil, &InvalidError{Class: ClassGrid, Reason: "its " + name, Err: err}
	}
	cells, err := DecodeGrid(grid)
	if err != nil {
		return nil, &InvalidError{Class: ClassGrid, Reason: "its " + name, Err: err}
	}
	return cells, nil
}

func (f *Floor) checkPoints() error {
	m := f.Message
	var failed error
	check := func(name string, at *floorsv1.Point) {
		switch {
		case failed != nil:
		case at == nil:
			failed = invalid(ClassMissing, "its %s has no position", name)
		case at.X >= f.Width() || at.Y >= f.Height():
			failed = invalid(ClassOutside, "its %s lies at (%d, %d), outside the floor", name, at.X, at.Y)
		}
	}
	check("entry", m.Entry)
	check("exit", m.Exit)
	check("landing", f.Landing())
	for _, room := range m.Rooms {
		check("room", room.Min)
		check("room", room.Max)
		check("room", room.Center)
	}
	for _, spawn := range m.Spawns {
		check("spawn", spawn.At)
	}
	for _, item := range m.Items {
		check("item", item.At)
	}
	for _, lock := range m.Locks {
		check("lock", lock.At)
	}
	for _, trap := range m.Traps {
		check("trap", trap.At)
	}
	for _, kind := range m.Furniture {
		cell := uint64(0)
		for _, step := range kind.Cells {
			cell += uint64(step)
		}
		if last := uint64(f.Width()) * uint64(f.Height()); failed == nil && cell >= last {
			failed = invalid(ClassOutside, "its furniture %q has cell %d, outside the floor", kind.Archetype, cell)
		}
	}
	return failed
}

// isOfPack returns whether the pack in the spec of a floor is the one that asked names: NAME, NAME@HASH, or "" for any.
func isOfPack(got, asked string) bool {
	if asked == "" || asked == got {
		return true
	}
	name, _, _ := strings.Cut(got, "@")
	if name == "" {
		name = "tower"
	}
	return asked == name
}

// checkSpec checks that the floor of a spec is the one that asked names. A size, kind and pack that asked leaves out
// may have any value.
func checkSpec(got, asked *floorsv1.FloorSpec) error {
	another := func(field string, got, asked any) error {
		return invalid(ClassSpec, "the server sent another floor: its %s is %v instead of %v", field, got, asked)
	}
	switch {
	case got.Seed != asked.GetSeed():
		return another("seed", got.Seed, asked.GetSeed())
	case got.Number != asked.GetNumber():
		return another("number", got.Number, asked.GetNumber())
	case asked.GetWidth() != 0 && got.Width != asked.GetWidth():
		return another("width", got.Width, asked.GetWidth())
	case asked.GetHeight() != 0 && got.Height != asked.GetHeight():
		return another("height", got.Height, asked.GetHeight())
	case asked.GetKind() != 0 && got.Kind != asked.GetKind():
		return another("kind", got.Kind, asked.GetKind())
	case !isOfPack(got.Pack, asked.GetPack()):
		return another("pack", got.Pack, asked.GetPack())
	case got.View != asked.GetView():
		return another("view", got.View, asked.GetView())
	default:
		return nil
	}
}
