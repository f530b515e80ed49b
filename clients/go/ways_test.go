package floors

import (
	"slices"
	"testing"

	"floors.example/go/floorsv1"
)

func pairs(points []*floorsv1.Point) [][2]uint32 {
	var list [][2]uint32
	for _, at := range points {
		list = append(list, [2]uint32{at.X, at.Y})
	}
	return list
}

func TestWaysAreThoseOfTheVectors(t *testing.T) {
	for i, vector := range vectors(t).Ways {
		floor, err := Decode(file(t, "floors/"+vector.Floor+".bin"))
		if err != nil {
			t.Fatal(err)
		}
		from := &floorsv1.Point{X: vector.From[0], Y: vector.From[1]}
		to := &floorsv1.Point{X: vector.To[0], Y: vector.To[1]}
		reachable := make([]byte, len(floor.Terrain))
		for cell, reached := range floor.Reachable(from, vector.Keys...) {
			if reached {
				reachable[cell] = 1
			}
		}
		if got := digest(reachable); got != vector.ReachableXXH {
			t.Errorf("ways[%d]: the reachable cells have the hash %s", i, got)
		}
		if got := pairs(floor.Path(from, to, vector.Keys...)); !slices.Equal(got, vector.Path) {
			t.Errorf("ways[%d]: the path is %v", i, got)
		}
		steps, found := floor.Distance(from, to, vector.Keys...)
		if found != (vector.Path != nil) || steps != max(len(vector.Path)-1, 0) {
			t.Errorf("ways[%d]: %d steps, %t", i, steps, found)
		}
		if got := pairs(floor.Starts(6)); !slices.Equal(got, vector.Starts) {
			t.Errorf("ways[%d]: the party starts at %v", i, got)
		}
		for cell, open := range floor.open(vector.Keys) {
			if at := floor.point(cell); floor.PassableWith(at.X, at.Y, vector.Keys...) != open {
				t.Errorf("ways[%d]: %v is passable: %t", i, at, !open)
			}
		}
	}
}

func TestNoWayLeadsOutOfAFloor(t *testing.T) {
	floor, err := Decode(file(t, "floors/keep.bin"))
	if err != nil {
		t.Fatal(err)
	}
	entry := floor.Message.Entry
	for _, off := range []*floorsv1.Point{{X: floor.Width(), Y: 0}, {X: 0, Y: floor.Height()}, {X: 1 << 31, Y: 1 << 31}} {
		_, found := floor.Distance(off, off)
		found = found || floor.Path(entry, off) != nil || floor.Path(off, entry) != nil
		if found || slices.Contains(floor.Reachable(off), true) || floor.PassableWith(off.X, off.Y) {
			t.Errorf("%v is inside", off)
		}
	}
	party := floor.Starts(1 << 30)
	if len(party) == 0 || len(party) > len(floor.Terrain) || len(floor.Starts(-1)) != 0 {
		t.Errorf("a party of %d", len(party))
	}
}
