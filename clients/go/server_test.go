package floors

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"floors.example/go/floorsv1"
)

// server returns the URL of a running floor server, from FLOOR_SERVER.
func server(t *testing.T) string {
	t.Helper()
	url := os.Getenv("FLOOR_SERVER")
	if url == "" {
		t.Skip("FLOOR_SERVER is not set")
	}
	return url
}

func TestServerSendsTheVectors(t *testing.T) {
	client := client(t, server(t))
	info, err := client.ServerInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if version := decoded[floorsv1.Floor](t, file(t, "floors/default.bin")).GeneratorVersion; info.GeneratorVersion != version {
		t.Skipf("the server generates floors of version %d, the vectors have %d", info.GeneratorVersion, version)
	}
	var specs []*floorsv1.FloorSpec
	for _, vector := range vectors(t).Floors {
		spec := decoded[floorsv1.GetFloorRequest](t, unhex(t, vector.Request)).Spec
		specs = append(specs, spec)
		floor, served, err := client.Get(t.Context(), spec)
		if err != nil {
			t.Fatalf("%s: %v", vector.Name, err)
		}
		expected, _ := Decode(file(t, vector.Bytes))
		if !proto.Equal(floor.Message, expected.Message) || !bytes.Equal(floor.Terrain, expected.Terrain) {
			t.Errorf("%s is another floor", vector.Name)
		}
		if served.By == "" {
			t.Errorf("%s: the answer does not say what served it", vector.Name)
		}
	}
	floors, _, err := client.Batch(t.Context(), specs)
	if err != nil || len(floors) != len(specs) {
		t.Errorf("%d floors, %v", len(floors), err)
	}
}

func TestServerRefusesAnotherGeneratorVersion(t *testing.T) {
	client := client(t, server(t))
	info, err := client.ServerInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	spec := &floorsv1.FloorSpec{Seed: 42, Number: 7}
	floor, _, err := client.Get(t.Context(), spec, GeneratorVersion(info.GeneratorVersion))
	if err != nil || floor.Message.GeneratorVersion != info.GeneratorVersion {
		t.Errorf("its own version: %v", err)
	}
	other := GeneratorVersion(info.GeneratorVersion + 1)
	failures := map[string]error{}
	_, _, failures["get"] = client.Get(t.Context(), spec, other)
	_, _, failures["batch"] = client.Batch(t.Context(), []*floorsv1.FloorSpec{spec}, other)
	for _, err := range client.Stream(t.Context(), spec, 2, other) {
		failures["stream"] = err
	}
	for call, err := range failures {
		wants := fmt.Sprintf("generator version %d, and this server generates version %d", info.GeneratorVersion+1, info.GeneratorVersion)
		if connect.CodeOf(err) != connect.CodeFailedPrecondition || !strings.Contains(err.Error(), wants) {
			t.Errorf("%s: %v", call, err)
		}
	}
	if len(failures) != 3 {
		t.Errorf("%d calls failed", len(failures))
	}
}

func TestServerSendsItsPacks(t *testing.T) {
	client := client(t, server(t))
	packs, err := client.Packs(t.Context())
	if err != nil || len(packs) == 0 {
		t.Fatalf("%d packs, %v", len(packs), err)
	}
	for _, info := range packs {
		name := info.Name
		if info.Hash != 0 {
			name = fmt.Sprintf("%s@%016x", info.Name, info.Hash)
		}
		pack, err := client.Pack(t.Context(), name)
		if err != nil || pack.Name != info.Name || pack.Hash != info.Hash || len(pack.File) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := client.Pack(t.Context(), "none-such"); err == nil || connect.CodeOf(err) == connect.CodeUnknown {
		t.Errorf("a pack that the server lacks: %v", err)
	}
}

func TestPackIsTheOneAskedForWithTheHashOfItsFiles(t *testing.T) {
	forged := &floorsv1.Pack{Name: "other", Hash: 1, File: []byte("files")}
	tower := &floorsv1.Pack{Name: "tower", File: []byte("files")}
	unhashed := &floorsv1.Pack{Name: "other", File: []byte("files")}
	if err := checkPack(tower, "tower"); err != nil {
		t.Error(err)
	}
	for _, err := range []error{checkPack(forged, "other"), checkPack(unhashed, "other"), checkPack(tower, "other")} {
		if _, ok := err.(*InvalidError); !ok {
			t.Errorf("%v", err)
		}
	}
}

func TestServerStreams(t *testing.T) {
	number := uint32(10)
	for floor, err := range client(t, server(t)).Stream(t.Context(), &floorsv1.FloorSpec{Seed: 42, Number: 10}, 100) {
		if err != nil {
			t.Fatal(err)
		}
		if floor.Message.Spec.Number != number {
			t.Fatalf("floor %d, not %d", floor.Message.Spec.Number, number)
		}
		exit := floor.Message.Exit
		if floor.TerrainAt(exit.X, exit.Y) != floorsv1.Terrain_TERRAIN_STAIRS_DOWN || !floor.Passable(exit.X, exit.Y) {
			t.Errorf("floor %d has no exit", number)
		}
		number++
	}
	if number != 110 {
		t.Errorf("the stream ended before floor %d", number)
	}
}

func TestServerSearches(t *testing.T) {
	client := client(t, server(t))
	request := &floorsv1.SearchFloorsRequest{
		First: &floorsv1.FloorSpec{Seed: 42, Number: 1, Width: 48, Height: 48}, Count: 100, Condition: "kind == cavern",
	}
	count := 0
	for match, err := range client.Search(t.Context(), request) {
		if err != nil {
			t.Fatal(err)
		}
		if match.Spec.Kind != floorsv1.FloorKind_FLOOR_KIND_CAVERN || match.Name == "" {
			t.Errorf("%v", match)
		}
		count++
	}
	if count == 0 {
		t.Error("no cavern")
	}
	request.Condition = "bogus > 1"
	for _, err := range client.Search(t.Context(), request) {
		violations := Violations(err)
		if connect.CodeOf(err) != connect.CodeInvalidArgument || len(violations) != 1 || violations[0].Field != "condition" {
			t.Errorf("%v: %v", err, violations)
		}
	}
}

// verified returns what a receipt says, by a key of the server.
func verified(t *testing.T, client *Client, receipt *floorsv1.Receipt) *floorsv1.Climb {
	t.Helper()
	info, err := client.ServerInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range info.ReceiptKeys {
		if key.Id == receipt.Key {
			climb, err := VerifyReceipt(receipt, key.PublicKey)
			if err != nil {
				t.Fatal(err)
			}
			return climb
		}
	}
	t.Fatalf("the server has no key %d", receipt.Key)
	return nil
}

func TestServerBeginsAClimbOfTheDay(t *testing.T) {
	client := client(t, server(t))
	daily, err := client.Daily(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	request := &floorsv1.StartClimbRequest{Tower: daily.Tower, Player: "Ann"}
	found, _, err := client.StartClimb(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	climb := verified(t, client, found.Receipt)
	if climb.Player != "Ann" || climb.Width != daily.Width || climb.GeneratorVersion != daily.GeneratorVersion {
		t.Errorf("%v", climb)
	}
	_, _, err = client.SubmitFloor(t.Context(), found.Receipt, []byte{4, 99})
	violations := Violations(err)
	if connect.CodeOf(err) != connect.CodeInvalidArgument || len(violations) != 1 || violations[0].Field != "acts" {
		t.Errorf("%v: %v", err, violations)
	}
}

// steps are the acts that walk a path.
func steps(path []*floorsv1.Point) []byte {
	var acts []byte
	for i, to := range path[1:] {
		from := path[i]
		switch {
		case to.Y < from.Y:
			acts = append(acts, 0)
		case to.X < from.X:
			acts = append(acts, 1)
		case to.X > from.X:
			acts = append(acts, 2)
		default:
			acts = append(acts, 3)
		}
	}
	return acts
}

// This client has no rules, so it walks blindly: that succeeds in every fifth tower or so.
func TestServerRevealsTheNextFloor(t *testing.T) {
	client := client(t, server(t))
	for i := range 100 {
		request := &floorsv1.StartClimbRequest{Tower: fmt.Sprintf("go-%d", i), Width: 16, Height: 16}
		found, _, err := client.StartClimb(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		path := found.Floor.Path(found.Floor.Message.Entry, found.Floor.Message.Exit)
		if path == nil {
			continue
		}
		acts := steps(path)
		next, _, err := client.SubmitFloor(t.Context(), found.Receipt, acts)
		if len(Violations(err)) > 0 {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if climb := verified(t, client, next.Receipt); climb.Floor != 2 || climb.Hero.Turns != uint32(len(acts)) {
			t.Errorf("%v", climb)
		}
		return
	}
	t.Error("no way to the stairs was free")
}

func TestServerNamesWrongFields(t *testing.T) {
	_, _, err := client(t, server(t)).Get(t.Context(), &floorsv1.FloorSpec{Width: 15})
	violations := Violations(err)
	if connect.CodeOf(err) != connect.CodeInvalidArgument || len(violations) != 2 || violations[0].Field != "spec.number" {
		t.Errorf("%v: %v", err, violations)
	}
}

func TestServerTracesACallThatSkipsTheCache(t *testing.T) {
	spec := &floorsv1.FloorSpec{Seed: 42, Number: 7}
	_, served, err := client(t, server(t), WithTimeout(10*time.Second)).Get(t.Context(), spec, NoCache(), Trace())
	if err != nil || served.By != "generated" || served.Trace == "" {
		t.Errorf("%+v, %v", served, err)
	}
}

// The other protocols of the port. A server without Connect answers 415.
func TestServerSpeaksGRPCWeb(t *testing.T) {
	floor, _, err := client(t, server(t), WithProtocol(GRPCWeb)).Get(t.Context(), &floorsv1.FloorSpec{Seed: 42, Number: 7})
	if err != nil || floor.Width() != 100 {
		t.Error(err)
	}
}

func TestServerSpeaksConnect(t *testing.T) {
	url := server(t)
	if os.Getenv("FLOOR_SERVER_CONNECT") == "" {
		t.Skip("FLOOR_SERVER_CONNECT is not set")
	}
	client := client(t, url, WithProtocol(Connect))
	floor, served, err := client.Get(t.Context(), &floorsv1.FloorSpec{Seed: 42, Number: 7})
	if err != nil || floor.Width() != 100 || served.By == "" {
		t.Error(err)
	}
	if _, _, err := client.Get(t.Context(), &floorsv1.FloorSpec{Width: 15}); len(Violations(err)) != 2 {
		t.Errorf("%v", err)
	}
	count := 0
	for _, err := range client.Stream(t.Context(), &floorsv1.FloorSpec{Seed: 42, Number: 1}, 20) {
		if err != nil {
			t.Fatal(err)
		}
		count++
	}
	if count != 20 {
		t.Errorf("%d floors", count)
	}
}

// kept is an HTTP client that notes what caches may keep.
type kept struct {
	connect.HTTPClient
	answers []string
}

func (k *kept) Do(request *http.Request) (*http.Response, error) {
	response, err := k.HTTPClient.Do(request)
	if err == nil {
		k.answers = append(k.answers, request.Method+" "+response.Header.Get("Cache-Control"))
	}
	return response, err
}

func TestCachesMayKeepWhatAGetReturns(t *testing.T) {
	url := server(t)
	if os.Getenv("FLOOR_SERVER_CONNECT") == "" {
		t.Skip("FLOOR_SERVER_CONNECT is not set")
	}
	kept := &kept{HTTPClient: http.DefaultClient}
	client := client(t, url, WithProtocol(Connect), WithGet(), WithHTTPClient(kept))
	info, err := client.ServerInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	spec := &floorsv1.FloorSpec{Seed: 42, Number: 7}
	for _, options := range [][]CallOption{{GeneratorVersion(info.GeneratorVersion)}, nil} {
		if floor, _, err := client.Get(t.Context(), spec, options...); err != nil || floor.Message.Spec.Number != 7 {
			t.Fatal(err)
		}
	}
	_, _, err = client.Get(t.Context(), spec, GeneratorVersion(info.GeneratorVersion+1))
	if connect.CodeOf(err) != connect.CodeFailedPrecondition {
		t.Errorf("another version: %v", err)
	}
	wants := []string{"GET no-store", "GET public, immutable, max-age=31536000", "GET public, max-age=60", "GET no-store"}
	if !slices.Equal(kept.answers, wants) {
		t.Errorf("%q", kept.answers)
	}
}
