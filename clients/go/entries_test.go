package floors

import (
	"bytes"
	"errors"
	"runtime"
	"testing"

	"google.golang.org/protobuf/proto"

	"floors.example/go/floorsv1"
)

// A message of 10 MiB takes hundreds of them once it is decoded, unless its entries are counted before.
func TestListsOfEmptyMessagesAreRefusedBeforeTheyAreDecoded(t *testing.T) {
	const size = 10 << 20
	empty := func(field byte) []byte { return bytes.Repeat([]byte{field<<3 | 2, 0}, size/2) }
	for name, answer := range map[string]struct {
		data    []byte
		message proto.Message
	}{
		"floor": {empty(8), new(floorsv1.Floor)},
		"batch": {empty(1), new(floorsv1.BatchGetFloorsResponse)},
		"batch of a floor": {
			append([]byte{1<<3 | 2, 0x80, 0x80, 0x80, 0x05}, empty(8)...), new(floorsv1.BatchGetFloorsResponse),
		},
		"floor of a climb": {
			append([]byte{2<<3 | 2, 0x80, 0x80, 0x80, 0x05}, empty(8)...), new(floorsv1.ClimbFloor),
		},
		"matches": {empty(1), new(floorsv1.SearchFloorsResponse)},
		"name of a match": {
			append([]byte{1<<3 | 2, 0x85, 0x80, 0x80, 0x05, 2<<3 | 2, 0x80, 0x80, 0x80, 0x05}, empty(3)...),
			new(floorsv1.SearchFloorsResponse),
		},
		"tiers": {empty(7), new(floorsv1.ServerInfo)},
		"packs": {empty(1), new(floorsv1.ListPacksResponse)},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := checkedCodec{}.Unmarshal(answer.data, answer.message)
			runtime.ReadMemStats(&after)
			var failed *InvalidError
			if !errors.As(err, &failed) || failed.Class != ClassProtobuf {
				t.Fatalf("no refusal: %v", err)
			}
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
				t.Errorf("it allocated %d KiB", grown>>10)
			}
		})
	}
}
