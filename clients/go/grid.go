package floors

import (
	"bytes"

	"floors.example/go/floorsv1"
)

// MaxSide is the greatest width and height of a grid, in cells.
const MaxSide = 512

// DecodeGrid returns the values of the cells, row by row. It allocates at most width * height bytes. The error is an
// [*InvalidError].
func DecodeGrid(grid *floorsv1.Grid) ([]byte, error) {
	width, height := grid.GetWidth(), grid.GetHeight()
	if width == 0 || width > MaxSide || height == 0 || height > MaxSide {
		return nil, invalid(ClassSize, "a grid of %dx%d cells: each side must be 1 to %d", width, height, MaxSide)
	}
	palette, err := paletteOf(grid)
	if err != nil {
		return nil, err
	}
	encoding, bits := grid.GetEncoding(), grid.GetBits()
	if _, known := floorsv1.GridEncoding_name[int32(encoding)]; !known || encoding == 0 {
		return nil, invalid(ClassEncoding, "grid encoding %d is unknown", encoding)
	}
	packed := encoding == floorsv1.GridEncoding_GRID_ENCODING_PACKED
	if packed != (bits == 1 || bits == 2 || bits == 4) || !packed && bits != 0 {
		return nil, invalid(ClassBits, "%d bits an index: a packed grid has 1, 2 or 4, any other 0", bits)
	}
	cells := int(width * height)
	switch encoding {
	case floorsv1.GridEncoding_GRID_ENCODING_UNIFORM:
		return uniform(grid.GetData(), palette, cells)
	case floorsv1.GridEncoding_GRID_ENCODING_RAW8:
		return raw(grid.GetData(), palette, cells)
	case floorsv1.GridEncoding_GRID_ENCODING_PACKED:
		return unpack(grid.GetData(), palette, cells, int(bits))
	default:
		return runs(grid.GetData(), palette, cells)
	}
}

func paletteOf(grid *floorsv1.Grid) ([]byte, error) {
	values := grid.GetPalette()
	wrong := invalid(ClassPalette, "a palette of %d entries: it must hold 1 to 256 values up to 255, ascending, each once", len(values))
	if len(values) == 0 || len(values) > 256 {
		return nil, wrong
	}
	palette := make([]byte, len(values))
	for i, value := range values {
		if value > 255 || i > 0 && value <= values[i-1] {
			return nil, wrong
		}
		palette[i] = byte(value)
	}
	return palette, nil
}

func uniform(data, palette []byte, cells int) ([]byte, error) {
	if len(data) != 0 {
		return nil, notFilled(cells)
	}
	if len(palette) != 1 {
		return nil, invalid(ClassPalette, "a palette of %d entries in a uniform grid, which has 1", len(palette))
	}
	return bytes.Repeat(palette, cells), nil
}

func raw(data, palette []byte, cells int) ([]byte, error) {
	if len(data) != cells {
		return nil, notFilled(cells)
	}
	out := make([]byte, cells)
	for i, index := range data {
		if int(index) >= len(palette) {
			return nil, beyond(int(index), palette)
		}
		out[i] = palette[index]
	}
	return out, nil
}

func unpack(data, palette []byte, cells, bits int) ([]byte, error) {
	if len(data) != (cells*bits+7)/8 {
		return nil, notFilled(cells)
	}
	out := make([]byte, cells)
	perByte, mask := 8/bits, 1<<bits-1
	for i := range out {
		index := int(data[i/perByte]) >> (i % perByte * bits) & mask
		if index >= len(palette) {
			return nil, beyond(index, palette)
		}
		out[i] = palette[index]
	}
	if used := cells % perByte; used != 0 && data[len(data)-1]>>(used*bits) != 0 {
		return nil, invalid(ClassPadding, "unused bits after the last cell are not zero")
	}
	return out, nil
}

func runs(data, palette []byte, cells int) ([]byte, error) {
	out := make([]byte, 0, cells)
	for len(data) > 0 {
		index := int(data[0])
		if index >= len(palette) {
			return nil, beyond(index, palette)
		}
		// Three bytes hold 21 bits, and no run is longer than 512 * 512 cells.
		length, read := 0, 0
		for {
			read++
			if read == len(data) || read > 3 {
				return nil, notFilled(cells)
			}
			length |= int(data[read]&0x7f) << (7 * (read - 1))
			if data[read] < 0x80 {
				break
			}
		}
		data = data[read+1:]
		if length >= cells-len(out) {
			return nil, notFilled(cells)
		}
		for ; length >= 0; length-- {
			out = append(out, palette[index])
		}
	}
	if len(out) != cells {
		return nil, notFilled(cells)
	}
	return out, nil
}

func notFilled(cells int) error {
	return invalid(ClassLength, "the data do not fill exactly %d cells", cells)
}

func beyond(index int, palette []byte) error {
	return invalid(ClassIndex, "index %d in a palette of %d", index, len(palette))
}
