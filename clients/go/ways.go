package floors

import (
	"cmp"
	"math"
	"slices"

	"floors.example/go/floorsv1"
)

// far is the distance of a cell to which no way leads.
const far = math.MaxInt

// PassableWith returns whether a walker with the keys of these locks, by their ids, can enter a cell: everybody can, or
// it is the door of one of them. False outside the floor.
func (f *Floor) PassableWith(x, y uint32, keys ...uint32) bool {
	if f.TerrainAt(x, y) != floorsv1.Terrain_TERRAIN_LOCKED_DOOR {
		return f.Passable(x, y)
	}
	for _, lock := range f.Message.Locks {
		if lock.At.X == x && lock.At.Y == y {
			return slices.Contains(keys, lock.Id)
		}
	}
	return false
}

// Reachable returns for each cell, at y*Width() + x, whether a walker with these keys gets there from a cell, which is
// itself among them. A step leads to one of the four neighbours. None is reached from outside the floor.
func (f *Floor) Reachable(from *floorsv1.Point, keys ...uint32) []bool {
	reachable := make([]bool, len(f.Terrain))
	if start, ok := f.cell(from); ok {
		for cell, steps := range f.distances(start, f.open(keys)) {
			reachable[cell] = steps != far
		}
	}
	return reachable
}

// Distance returns the steps of the shortest way from one cell to another, 0 to itself, and whether there is a way.
func (f *Floor) Distance(from, to *floorsv1.Point, keys ...uint32) (int, bool) {
	path := f.Path(from, to, keys...)
	return max(len(path)-1, 0), path != nil
}

// Path returns the cells of the shortest way for a walker with these keys, both ends among them, or nil if there is no
// way. Nobody needs to be able to enter the first cell. Of ways with as few steps it is the one whose first different
// step leads north, else west, else east.
func (f *Floor) Path(from, to *floorsv1.Point, keys ...uint32) []*floorsv1.Point {
	at, ok := f.cell(from)
	end, inside := f.cell(to)
	if !ok || !inside {
		return nil
	}
	open := f.open(keys)
	open[at] = true
	if !open[end] {
		return nil
	}
	left := f.distances(end, open)
	if left[at] == far {
		return nil
	}
	path := []*floorsv1.Point{f.point(at)}
	for at != end {
		for _, next := range f.beside(at) {
			if next != outside && left[next] < left[at] {
				at = next
				break
			}
		}
		path = append(path, f.point(at))
	}
	return path
}

// Starts returns cells for a party of count, each of its own: those nearest to the entry that everybody can reach
// without keys, but for doors and the stairs down. As near ones come row by row. Fewer if there are no more.
func (f *Floor) Starts(count int) []*floorsv1.Point {
	entry, _ := f.cell(f.Message.Entry)
	steps := f.distances(entry, f.open(nil))
	var cells []int
	for cell, terrain := range f.Terrain {
		switch floorsv1.Terrain(terrain) {
		case floorsv1.Terrain_TERRAIN_DOOR, floorsv1.Terrain_TERRAIN_STAIRS_DOWN:
		default:
			if steps[cell] != far {
				cells = append(cells, cell)
			}
		}
	}
	slices.SortStableFunc(cells, func(a, b int) int { return cmp.Compare(steps[a], steps[b]) })
	starts := make([]*floorsv1.Point, max(min(count, len(cells)), 0))
	for i := range starts {
		starts[i] = f.point(cells[i])
	}
	return starts
}

// open is [Floor.PassableWith] for all cells, in a time that many locks do not multiply.
func (f *Floor) open(keys []uint32) []bool {
	open := make([]bool, len(f.Terrain))
	for cell, terrain := range f.Terrain {
		open[cell] = isPassable(floorsv1.Terrain(terrain))
	}
	// The first lock of a cell counts.
	for _, lock := range slices.Backward(f.Message.Locks) {
		if f.TerrainAt(lock.At.X, lock.At.Y) == floorsv1.Terrain_TERRAIN_LOCKED_DOOR {
			open[lock.At.Y*f.Width()+lock.At.X] = slices.Contains(keys, lock.Id)
		}
	}
	return open
}

// distances returns the steps from a cell to each of the open ones, far where no way leads.
func (f *Floor) distances(from int, open []bool) []int {
	steps := slices.Repeat([]int{far}, len(open))
	steps[from] = 0
	queue := []int{from}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, next := range f.beside(at) {
			if next != outside && open[next] && steps[next] == far {
				steps[next] = steps[at] + 1
				queue = append(queue, next)
			}
		}
	}
	return steps
}

// outside is no cell.
const outside = -1

// beside returns the neighbours of a cell to the north, west, east and south.
func (f *Floor) beside(cell int) [4]int {
	width := int(f.Width())
	next := [4]int{outside, outside, outside, outside}
	if cell >= width {
		next[0] = cell - width
	}
	if cell%width > 0 {
		next[1] = cell - 1
	}
	if cell%width < width-1 {
		next[2] = cell + 1
	}
	if cell+width < len(f.Terrain) {
		next[3] = cell + width
	}
	return next
}

func (f *Floor) cell(at *floorsv1.Point) (int, bool) {
	return int(at.Y*f.Width() + at.X), at.X < f.Width() && at.Y < f.Height()
}

func (f *Floor) point(cell int) *floorsv1.Point {
	return &floorsv1.Point{X: uint32(cell) % f.Width(), Y: uint32(cell) / f.Width()}
}
