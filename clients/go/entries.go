package floors

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"floors.example/go/floorsv1"
)

const (
	// maxFloorEntries bounds the entries in all lists of a floor together: as many as the largest floor has cells.
	maxFloorEntries = 512 * 512
	// maxBatchEntries bounds those of all floors of a batch, which are decoded at once.
	maxBatchEntries = 4 * maxFloorEntries
	// maxBatch is the most floors of a batch and matches of a search, and what a newer server may send beside them.
	maxBatch = 256 + 16
	// maxOtherEntries bounds the lists of answers that are no floors: the most packs.
	maxOtherEntries = 1 << 16
	// entryBytes are the fewest bytes of an entry: its tag and its length.
	entryBytes = 2
)

// The fields of a floor that are grids, rooms, texts and furniture, and the fields that are a grid's palette and the
// name of a room and of a match.
const (
	terrainField   = 4
	regionField    = 5
	paletteField   = 3
	roomsField     = 8
	roomNameField  = 6
	matchNameField = 2
	nameField      = 18
	hookField      = 19
	furnitureField = 21
)

// checkEntries refuses a message that takes many times its bytes once it is decoded: an empty room is two bytes on the
// wire and a struct in memory. The error is an [*InvalidError].
func checkEntries(data []byte, message proto.Message) error {
	switch message.(type) {
	case *floorsv1.Floor:
		return countEntries(data, maxFloorEntries, innerEntries)
	case *floorsv1.BatchGetFloorsResponse:
		if err := countEntries(data, maxBatch, nil); err != nil {
			return err
		}
		return countEntries(data, maxBatchEntries, func(_ protowire.Number, floor []byte) (int, error) {
			return entriesOf(floor, maxFloorEntries, innerEntries)
		})
	case *floorsv1.SearchFloorsResponse:
		if err := countEntries(data, maxBatch, nil); err != nil {
			return err
		}
		return countEntries(data, maxOtherEntries, func(_ protowire.Number, match []byte) (int, error) {
			return namedEntries(match, matchNameField)
		})
	case *floorsv1.ClimbFloor:
		return countEntries(data, maxFloorEntries, func(number protowire.Number, floor []byte) (int, error) {
			if number != climbField {
				return 0, nil
			}
			return entriesOf(floor, maxFloorEntries, innerEntries)
		})
	default:
		return countEntries(data, maxOtherEntries, nil)
	}
}

func countEntries(data []byte, most int, inner func(protowire.Number, []byte) (int, error)) error {
	if len(data)/entryBytes <= most {
		return nil
	}
	_, err := entriesOf(data, most, inner)
	return err
}

// entriesOf counts the fields with a length, and what inner counts in each. It stops beyond most.
func entriesOf(data []byte, most int, inner func(protowire.Number, []byte) (int, error)) (int, error) {
	entries := 0
	for len(data) > 0 {
		number, kind, length := protowire.ConsumeField(data)
		if length < 0 {
			return 0, &InvalidError{Class: ClassProtobuf, Reason: "the bytes are no message", Err: protowire.ParseError(length)}
		}
		if kind == protowire.BytesType {
			entries++
			if inner != nil {
				_, _, tag := protowire.ConsumeTag(data)
				value, _ := protowire.ConsumeBytes(data[tag:])
				more, err := inner(number, value)
				if err != nil {
					return 0, err
				}
				entries += more
			}
		}
		if entries > most {
			return 0, invalid(ClassProtobuf, "the message has more than %d entries", most)
		}
		data = data[length:]
	}
	return entries, nil
}

// innerEntries are those in a field of a floor: the bytes of a palette and of furniture, and the parts of a text.
func innerEntries(number protowire.Number, value []byte) (int, error) {
	switch number {
	case roomsField:
		return namedEntries(value, roomNameField)
	case nameField, hookField:
		return entriesOf(value, maxFloorEntries, nil)
	case furnitureField:
		return len(value), nil
	default:
		return paletteBytes(number, value)
	}
}

// namedEntries are those in a room or a match, and the parts of its name.
func namedEntries(value []byte, named protowire.Number) (int, error) {
	return entriesOf(value, maxFloorEntries, func(field protowire.Number, name []byte) (int, error) {
		if field != named {
			return 0, nil
		}
		return entriesOf(name, maxFloorEntries, nil)
	})
}

// paletteBytes are the bytes of the palette if the field of a floor is a grid: each may become an entry.
func paletteBytes(number protowire.Number, grid []byte) (int, error) {
	bytes := 0
	if number == terrainField || number == regionField {
		for len(grid) > 0 {
			field, _, length := protowire.ConsumeField(grid)
			if length < 0 {
				return 0, &InvalidError{Class: ClassProtobuf, Reason: "the bytes are no grid", Err: protowire.ParseError(length)}
			}
			if field == paletteField {
				bytes += length
			}
			grid = grid[length:]
		}
	}
	return bytes, nil
}
