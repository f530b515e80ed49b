package floors

import (
	"strings"
	"testing"

	"floors.example/go/floorsv1"
)

func TestSeedsAreThoseOfTheVectors(t *testing.T) {
	for _, vector := range vectors(t).Seeds {
		seed, err := Seed(vector.Text)
		if vector.Seed == nil && (err == nil || !strings.Contains(err.Error(), "seed")) {
			t.Errorf("%q is the tower %d: %v", vector.Text, seed, err)
		}
		if vector.Seed != nil && (err != nil || seed != *vector.Seed) {
			t.Errorf("%q is the tower %d, not %d: %v", vector.Text, seed, *vector.Seed, err)
		}
	}
	if _, err := Seed("caf\xe9"); err == nil {
		t.Error("Latin-1 names a tower")
	}
}

func TestKindsAndViewsHaveNames(t *testing.T) {
	if kind, err := ParseKind("cavern"); err != nil || kind != floorsv1.FloorKind_FLOOR_KIND_CAVERN {
		t.Errorf("%v, %v", kind, err)
	}
	for _, name := range []string{"", "unspecified", "Cavern", "cave"} {
		_, err := ParseKind(name)
		if err == nil || !strings.Contains(err.Error(), "the kind ") || !strings.Contains(err.Error(), "keep, halls") {
			t.Errorf("%q: %v", name, err)
		}
	}
	if view, err := ParseView("player"); err != nil || view != floorsv1.View_VIEW_PLAYER {
		t.Errorf("%v, %v", view, err)
	}
	if view, err := ParseView("everything"); err != nil || view != floorsv1.View_VIEW_UNSPECIFIED {
		t.Errorf("%v, %v", view, err)
	}
	if _, err := ParseView("all"); err == nil || !strings.Contains(err.Error(), "view") {
		t.Errorf("%v", err)
	}
}

func TestAFloorHasAShortForm(t *testing.T) {
	floor, err := Decode(file(t, "floors/default.bin"))
	if err != nil {
		t.Fatal(err)
	}
	if short := floor.String(); !strings.HasPrefix(short, "floor 7 of tower 42, 100x100, hash ") || len(short) != 51 {
		t.Error(short)
	}
}
