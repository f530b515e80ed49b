package floors

import (
	"fmt"
	"strings"

	"floors.example/go/floorsv1"
)

// ParseKind returns the kind of a name in small letters, such as "cavern". The error lists the names.
func ParseKind(name string) (floorsv1.FloorKind, error) {
	const prefix = "FLOOR_KIND_"
	var names []string
	values := floorsv1.FloorKind(0).Descriptor().Values()
	for i := range values.Len() {
		value := values.Get(i)
		if value.Number() == 0 {
			continue
		}
		known := strings.ToLower(strings.TrimPrefix(string(value.Name()), prefix))
		if known == name {
			return floorsv1.FloorKind(value.Number()), nil
		}
		names = append(names, known)
	}
	return 0, fmt.Errorf("the kind %q is unknown: write one of %s", name, strings.Join(names, ", "))
}

// ParseView returns the view of a name: "everything" or "player".
func ParseView(name string) (floorsv1.View, error) {
	switch name {
	case "everything":
		return floorsv1.View_VIEW_UNSPECIFIED, nil
	case "player":
		return floorsv1.View_VIEW_PLAYER, nil
	default:
		return 0, fmt.Errorf("the view %q is unknown: write everything or player", name)
	}
}
