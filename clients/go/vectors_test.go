package floors

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/zeebo/xxh3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"floors.example/go/floorsv1"
)

const vectorFolder = "../../proto/vectors"

type gridFacts struct {
	Encoding string
	Bits     uint32
	CellsXXH string `json:"cells_xxh3"`
}

type manifest struct {
	Requests []struct {
		Name, Message, Bytes string
		JSON                 json.RawMessage `json:"json"`
	}
	Floors []struct {
		Name, Pack, Request, Bytes, JSON string
		ContentHash                      string `json:"content_hash"`
		Terrain, Region                  gridFacts
	}
	Batches []struct {
		Name, Bytes string
		Floors      []string
	}
	Grids []struct {
		Name, Bytes, Cells string
		CellsXXH           string `json:"cells_xxh3"`
	}
	MalformedGrids []struct {
		Name, Bytes string
		Error       Class
	} `json:"malformed_grids"`
	MalformedFloors []struct {
		Name, Request, Bytes string
		Error                Class
	} `json:"malformed_floors"`
	Ways []struct {
		Floor        string
		Keys         []uint32
		From, To     [2]uint32
		ReachableXXH string `json:"reachable_xxh3"`
		Path         [][2]uint32
		Starts       [][2]uint32
	}
	Seeds []struct {
		Text string
		Seed *uint64 `json:",string"`
	}
	Statuses []struct {
		Name, Bytes, Message string
		Code                 uint32
		Violations           []Violation
		RetryAfterMS         *int64 `json:"retry_after_ms"`
	}
}

func vectors(t *testing.T) manifest {
	t.Helper()
	var list manifest
	if err := json.Unmarshal(file(t, "manifest.json"), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Floors) == 0 || len(list.Grids) == 0 || len(list.MalformedGrids) == 0 || len(list.MalformedFloors) == 0 ||
		len(list.Ways) == 0 || len(list.Seeds) == 0 {
		t.Fatal("the manifest lacks vectors")
	}
	return list
}

func file(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(vectorFolder, path))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	data, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func decoded[T any, M interface {
	*T
	proto.Message
}](t *testing.T, data []byte) M {
	t.Helper()
	message := M(new(T))
	if err := proto.Unmarshal(data, message); err != nil {
		t.Fatal(err)
	}
	return message
}

func digest(cells []byte) string { return fmt.Sprintf("%016x", xxh3.Hash(cells)) }

func TestRequestsEncode(t *testing.T) {
	for _, vector := range vectors(t).Requests {
		descriptor := floorsv1.File_floors_v1_floors_proto.Messages().ByName(protoreflect.Name(vector.Message))
		fromBytes, fromJSON := newMessage(t, descriptor), newMessage(t, descriptor)
		if err := proto.Unmarshal(unhex(t, vector.Bytes), fromBytes); err != nil {
			t.Fatal(err)
		}
		if err := protojson.Unmarshal(vector.JSON, fromJSON); err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(fromBytes, fromJSON) {
			t.Errorf("%s: %v from bytes, %v from JSON", vector.Name, fromBytes, fromJSON)
		}
		if encoded, _ := proto.Marshal(fromJSON); hex.EncodeToString(encoded) != vector.Bytes {
			t.Errorf("%s encodes as %x", vector.Name, encoded)
		}
	}
}

func newMessage(t *testing.T, descriptor protoreflect.MessageDescriptor) proto.Message {
	t.Helper()
	switch descriptor.Name() {
	case "GetFloorRequest":
		return new(floorsv1.GetFloorRequest)
	case "BatchGetFloorsRequest":
		return new(floorsv1.BatchGetFloorsRequest)
	case "StreamFloorsRequest":
		return new(floorsv1.StreamFloorsRequest)
	case "GetServerInfoRequest":
		return new(floorsv1.GetServerInfoRequest)
	}
	t.Fatalf("the message %s is new to this test", descriptor.Name())
	return nil
}

func TestFloorsDecode(t *testing.T) {
	for _, vector := range vectors(t).Floors {
		floor, err := Decode(file(t, vector.Bytes))
		if err != nil {
			t.Errorf("%s: %v", vector.Name, err)
			continue
		}
		request := decoded[floorsv1.GetFloorRequest](t, unhex(t, vector.Request))
		if err := checkSpec(floor.Message.Spec, request.Spec); err != nil {
			t.Errorf("%s: %v", vector.Name, err)
		}
		if got := fmt.Sprintf("%016x", floor.Message.ContentHash); got != vector.ContentHash {
			t.Errorf("%s: content hash %s", vector.Name, got)
		}
		for _, grid := range []struct {
			message *floorsv1.Grid
			cells   []byte
			facts   gridFacts
		}{{floor.Message.Terrain, floor.Terrain, vector.Terrain}, {floor.Message.Region, floor.Region, vector.Region}} {
			if got := (gridFacts{grid.message.Encoding.String(), grid.message.Bits, digest(grid.cells)}); got != grid.facts {
				t.Errorf("%s: %+v, not %+v", vector.Name, got, grid.facts)
			}
		}
		if vector.Pack != "" && (floor.Theme() == "" || fmt.Sprintf("%s@%016x", vector.Pack, floor.PackHash()) != floor.Message.Spec.Pack) {
			t.Errorf("%s: theme %q, pack hash %016x of %s", vector.Name, floor.Theme(), floor.PackHash(), floor.Message.Spec.Pack)
		}
		if vector.Name == "pack_authored" {
			if floor.Name() != "The Sexton's Rest" || !strings.HasPrefix(floor.Hook(), "The sexton dug") {
				t.Errorf("%q: %q", floor.Name(), floor.Hook())
			}
			if room := floor.Landmark(); room == nil || room.Name.Text != "The Round Chapel" {
				t.Errorf("the landmark is %v", room)
			}
			furniture := floor.Furniture()
			if len(furniture) != 6 || furniture[0] != (Furniture{"grave", 14, 16}) || furniture[5] != (Furniture{"statue", 19, 18}) {
				t.Errorf("%v", furniture)
			}
		}
		if vector.JSON != "" {
			checkJSON(t, vector.Name, floor, file(t, vector.JSON))
		}
	}
}

func checkJSON(t *testing.T, name string, floor *Floor, text []byte) {
	t.Helper()
	var expected struct {
		Floor           json.RawMessage
		Terrain, Region []string
	}
	if err := json.Unmarshal(text, &expected); err != nil {
		t.Fatal(err)
	}
	message := new(floorsv1.Floor)
	if err := protojson.Unmarshal(expected.Floor, message); err != nil || !proto.Equal(message, floor.Message) {
		t.Errorf("%s: the JSON is another floor: %v", name, err)
	}
	checkSurface(t, name, floor, expected.Floor)
	var terrain strings.Builder
	for _, cell := range floor.Terrain {
		fmt.Fprintf(&terrain, "%x", cell)
	}
	if terrain.String() != strings.Join(expected.Terrain, "") {
		t.Errorf("%s: terrain", name)
	}
	if hex.EncodeToString(floor.Region) != strings.Join(expected.Region, "") {
		t.Errorf("%s: region", name)
	}
}

// checkSurface compares what a game shows of a floor with the JSON, field by field.
func checkSurface(t *testing.T, name string, floor *Floor, text []byte) {
	t.Helper()
	type named struct{ Text string }
	var expected struct {
		Name, Hook named
		Landmark   int
		Rooms      []struct{ Name named }
		Furniture  []struct {
			Archetype string
			Cells     []uint32
		}
	}
	if err := json.Unmarshal(text, &expected); err != nil {
		t.Fatal(err)
	}
	if floor.Name() != expected.Name.Text || floor.Hook() != expected.Hook.Text {
		t.Errorf("%s: called %q, %q", name, floor.Name(), floor.Hook())
	}
	room := floor.Landmark()
	if expected.Landmark == 0 {
		if room != nil {
			t.Errorf("%s: the landmark is %v", name, room)
		}
	} else if room == nil || room.GetName().GetText() != expected.Rooms[expected.Landmark-1].Name.Text || int(room.Id) != expected.Landmark-1 {
		t.Errorf("%s: the landmark is %v, not room %d", name, room, expected.Landmark-1)
	}
	pieces := 0
	for _, kind := range expected.Furniture {
		pieces += len(kind.Cells)
	}
	furniture := floor.Furniture()
	if len(furniture) != pieces {
		t.Errorf("%s: %d pieces of furniture, not %d", name, len(furniture), pieces)
	} else if pieces > 0 {
		first, cell := expected.Furniture[0].Archetype, expected.Furniture[0].Cells[0]
		if furniture[0] != (Furniture{first, cell % floor.Width(), cell / floor.Width()}) {
			t.Errorf("%s: the first piece is %v, not %s at %d", name, furniture[0], first, cell)
		}
	}
}

func TestBatchesHoldTheirFloors(t *testing.T) {
	for _, vector := range vectors(t).Batches {
		batch := new(floorsv1.BatchGetFloorsResponse)
		if err := (checkedCodec{}).Unmarshal(file(t, vector.Bytes), batch); err != nil {
			t.Fatal(err)
		}
		for i, name := range vector.Floors {
			if floor := decoded[floorsv1.Floor](t, file(t, "floors/"+name+".bin")); !proto.Equal(batch.Floors[i], floor) {
				t.Errorf("%s: floor %d is not %s", vector.Name, i, name)
			}
		}
	}
}

func TestADamagedBatchIsRejected(t *testing.T) {
	// A byte of the hash itself: another one may be a tag or a length, after which the batch is no message.
	data := file(t, "batches/several.bin")
	last := new(floorsv1.Floor)
	if err := proto.Unmarshal(file(t, "floors/maze.bin"), last); err != nil {
		t.Fatal(err)
	}
	at := bytes.LastIndex(data, binary.LittleEndian.AppendUint64(nil, last.ContentHash))
	if at < 0 {
		t.Fatal("the batch does not end with the floor maze")
	}
	data[at] ^= 1
	if err := (checkedCodec{}).Unmarshal(data, new(floorsv1.BatchGetFloorsResponse)); classOf(err) != ClassHash {
		t.Errorf("%v", err)
	}
}

func TestGridsDecode(t *testing.T) {
	for _, vector := range vectors(t).Grids {
		cells, err := DecodeGrid(decoded[floorsv1.Grid](t, unhex(t, vector.Bytes)))
		if err != nil || digest(cells) != vector.CellsXXH || vector.Cells != "" && hex.EncodeToString(cells) != vector.Cells {
			t.Errorf("%s: %x, %v", vector.Name, cells, err)
		}
	}
}

func TestMalformedGridsAreRejected(t *testing.T) {
	for _, vector := range vectors(t).MalformedGrids {
		_, err := DecodeGrid(decoded[floorsv1.Grid](t, unhex(t, vector.Bytes)))
		if classOf(err) != vector.Error {
			t.Errorf("%s: %v, not %s", vector.Name, err, vector.Error)
		}
	}
}

func TestMalformedFloorsAreRejected(t *testing.T) {
	for _, vector := range vectors(t).MalformedFloors {
		floor, err := Decode(file(t, vector.Bytes))
		if vector.Request != "" && err == nil {
			err = checkSpec(floor.Message.Spec, decoded[floorsv1.GetFloorRequest](t, unhex(t, vector.Request)).Spec)
		}
		if classOf(err) != vector.Error {
			t.Errorf("%s: %v, not %s", vector.Name, err, vector.Error)
		}
	}
}

func classOf(err error) Class {
	var invalid *InvalidError
	if errors.As(err, &invalid) {
		return invalid.Class
	}
	return ""
}

func TestStatusesHaveTheirDetails(t *testing.T) {
	for _, vector := range vectors(t).Statuses {
		encoded := decoded[status.Status](t, unhex(t, vector.Bytes))
		err := connect.NewError(connect.Code(encoded.Code), errors.New(encoded.Message))
		for _, value := range encoded.Details {
			detail, detailErr := connect.NewErrorDetail(value)
			if detailErr != nil {
				t.Fatal(detailErr)
			}
			err.AddDetail(detail)
		}
		if uint32(err.Code()) != vector.Code || err.Message() != vector.Message {
			t.Errorf("%s: %v", vector.Name, err)
		}
		if violations := Violations(err); len(violations) != len(vector.Violations) {
			t.Errorf("%s: %v", vector.Name, violations)
		} else {
			for i, violation := range violations {
				if violation != vector.Violations[i] {
					t.Errorf("%s: %v", vector.Name, violation)
				}
			}
		}
		wait, asked := RetryAfter(err)
		if asked != (vector.RetryAfterMS != nil) || asked && wait != time.Duration(*vector.RetryAfterMS)*time.Millisecond {
			t.Errorf("%s: %v, %v", vector.Name, wait, asked)
		}
	}
}

func FuzzDecodeGrid(f *testing.F) {
	f.Add([]byte{0x08, 0x04, 0x10, 0x02, 0x1a, 0x02, 0x01, 0x02, 0x20, 0x03, 0x28, 0x01, 0x32, 0x01, 0x34})
	f.Fuzz(func(t *testing.T, data []byte) {
		grid := new(floorsv1.Grid)
		if proto.Unmarshal(data, grid) != nil {
			return
		}
		if cells, err := DecodeGrid(grid); err == nil && len(cells) != int(grid.Width*grid.Height) {
			t.Fatalf("%d cells", len(cells))
		}
	})
}
