package floors

import "fmt"

// Class says what is wrong with a floor or a grid. The classes are those of the test vectors.
type Class string

// The classes of floors.
const (
	// ClassProtobuf: the bytes do not decode.
	ClassProtobuf Class = "protobuf"
	// ClassHash: the content hash is not that of the bytes, or occurs more than once.
	ClassHash Class = "hash"
	// ClassMissing: a field that every floor has is missing.
	ClassMissing Class = "missing"
	// ClassGrid: a grid does not decode, or has another size than the floor. [InvalidError.Err] says more.
	ClassGrid Class = "grid"
	// ClassTerrain: a cell holds no terrain.
	ClassTerrain Class = "terrain"
	// ClassOutside: a point lies outside the floor.
	ClassOutside Class = "outside"
	// ClassSpec: the floor is not the one that was asked for.
	ClassSpec Class = "spec"
)

// The classes of grids.
const (
	// ClassSize: a side is 0 or over 512, or is not that of the floor.
	ClassSize Class = "size"
	// ClassPalette: the palette is empty, too long, not ascending, or holds a value over 255.
	ClassPalette Class = "palette"
	// ClassEncoding: the encoding is unknown.
	ClassEncoding Class = "encoding"
	// ClassBits: the bits do not fit the encoding.
	ClassBits Class = "bits"
	// ClassIndex: an index beyond the palette.
	ClassIndex Class = "index"
	// ClassLength: the data fill fewer or more cells than the grid has.
	ClassLength Class = "length"
	// ClassPadding: bits after the last cell are set.
	ClassPadding Class = "padding"
)

// InvalidError says why an answer is not the floor that was asked for. No retry helps.
type InvalidError struct {
	Class  Class
	Reason string
	// Err is the cause, if there is one.
	Err error
}

func (e *InvalidError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("invalid floor: %s: %v", e.Reason, e.Err)
	}
	return "invalid floor: " + e.Reason
}

func (e *InvalidError) Unwrap() error { return e.Err }

func invalid(class Class, format string, values ...any) error {
	return &InvalidError{Class: class, Reason: fmt.Sprintf(format, values...)}
}
