package floors

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"floors.example/go/floorsv1"
)

// signingKey signs the receipts of the scripted server.
var signingKey = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

func publicKey() ed25519.PublicKey { return signingKey.Public().(ed25519.PublicKey) }

func (s *scripted) StartClimb(_ context.Context, request *connect.Request[floorsv1.StartClimbRequest]) (*connect.Response[floorsv1.ClimbFloor], error) {
	return s.reveal(request.Header(), &floorsv1.Climb{Tower: request.Msg.Tower, Floor: 1, Width: 16, Height: 16})
}

// SubmitFloor takes every log.
func (s *scripted) SubmitFloor(_ context.Context, request *connect.Request[floorsv1.SubmitFloorRequest]) (*connect.Response[floorsv1.ClimbFloor], error) {
	climb, err := VerifyReceipt(request.Msg.Receipt, publicKey())
	if err != nil {
		return nil, connect.NewError(connect.CodeInvalidArgument, err)
	}
	climb.Floor++
	return s.reveal(request.Header(), climb)
}

func (s *scripted) GetDaily(_ context.Context, request *connect.Request[floorsv1.GetDailyRequest]) (*connect.Response[floorsv1.Daily], error) {
	if err := s.next(request.Header()); err != nil {
		return nil, err
	}
	return connect.NewResponse(&floorsv1.Daily{Tower: "2026-11-29-ab", Date: "2026-11-29"}), nil
}

// reveal sends the floor of a climb.
func (s *scripted) reveal(header http.Header, climb *floorsv1.Climb) (*connect.Response[floorsv1.ClimbFloor], error) {
	if err := s.next(header); err != nil {
		return nil, err
	}
	floor := proto.CloneOf(s.floor)
	floor.Spec.Number = climb.Floor
	rehash(floor)
	message := &floorsv1.ClimbFloor{Floor: floor, Rolls: make([]byte, rollsBytes)}
	if s.alter != nil {
		s.alter(climb, message)
	}
	message.Receipt = signed(climb)
	return connect.NewResponse(message), nil
}

func signed(climb *floorsv1.Climb) *floorsv1.Receipt {
	encoded, err := proto.Marshal(climb)
	if err != nil {
		panic(err)
	}
	signature := ed25519.Sign(signingKey, append([]byte("floors.v1.Receipt"), encoded...))
	return &floorsv1.Receipt{Climb: encoded, Signature: signature, Key: 1}
}

func TestAClimbGoesFromFloorToFloorWithItsReceipts(t *testing.T) {
	for _, protocol := range []Protocol{GRPC, Connect, GRPCWeb} {
		service, server := serve(t, nil, nil, busy(time.Millisecond))
		client := client(t, server.URL, WithProtocol(protocol))
		daily, err := client.Daily(t.Context())
		if err != nil {
			t.Fatalf("protocol %d: %v", protocol, err)
		}
		found, _, err := client.StartClimb(t.Context(), &floorsv1.StartClimbRequest{Tower: daily.Tower})
		if err != nil {
			t.Fatalf("protocol %d: %v", protocol, err)
		}
		next, _, err := client.SubmitFloor(t.Context(), found.Receipt, []byte{0, 1})
		if err != nil {
			t.Fatalf("protocol %d: %v", protocol, err)
		}
		if next.Climb.Tower != daily.Tower || next.Climb.Floor != 2 || next.Floor.Message.Spec.Number != 2 || len(next.Rolls) != 16 {
			t.Errorf("protocol %d: %v", protocol, next.Climb)
		}
		if len(service.headers) != 4 {
			t.Errorf("protocol %d: %d calls", protocol, len(service.headers))
		}
	}
}

func TestARevealedFloorIsTheOneThatWasEarned(t *testing.T) {
	service, server := serve(t)
	client := client(t, server.URL)
	start := &floorsv1.StartClimbRequest{Tower: "spire", Width: 16}
	found, _, err := client.StartClimb(t.Context(), start)
	if err != nil {
		t.Fatal(err)
	}
	for reason, alter := range map[string]func(*floorsv1.Climb, *floorsv1.ClimbFloor){
		`the tower "other" instead of "spire"`: func(climb *floorsv1.Climb, _ *floorsv1.ClimbFloor) { climb.Tower = "other" },
		"its number is":                        func(climb *floorsv1.Climb, _ *floorsv1.ClimbFloor) { climb.Floor = 7 },
		"its width is 17 instead of 16":        func(climb *floorsv1.Climb, _ *floorsv1.ClimbFloor) { climb.Width = 17 },
		"its pack is":                          func(climb *floorsv1.Climb, _ *floorsv1.ClimbFloor) { climb.Pack = "mine@0123456789abcdef" },
		"its seed is 1 instead of 0": func(_ *floorsv1.Climb, answer *floorsv1.ClimbFloor) {
			answer.Floor.Spec.Seed = 1
			rehash(answer.Floor)
		},
		"content hash":           func(_ *floorsv1.Climb, answer *floorsv1.ClimbFloor) { answer.Floor.ContentHash ^= 1 },
		"it has no spec":         func(_ *floorsv1.Climb, answer *floorsv1.ClimbFloor) { answer.Floor = nil },
		"15 bytes instead of 16": func(_ *floorsv1.Climb, answer *floorsv1.ClimbFloor) { answer.Rolls = answer.Rolls[:15] },
	} {
		service.alter = alter
		_, _, started := client.StartClimb(t.Context(), start)
		_, _, submitted := client.SubmitFloor(t.Context(), found.Receipt, nil)
		for _, err := range []error{started, submitted} {
			if classOf(err) == "" || !strings.Contains(err.Error(), reason) {
				t.Errorf("%s: %v", reason, err)
			}
		}
	}
}

func TestAboveTheLastFloorIsNone(t *testing.T) {
	service, server := serve(t)
	service.alter = func(_ *floorsv1.Climb, answer *floorsv1.ClimbFloor) { answer.Floor, answer.Rolls = nil, nil }
	last := signed(&floorsv1.Climb{Tower: "spire", Floor: maxFloor, Width: 16, Height: 16})
	end, _, err := client(t, server.URL).SubmitFloor(t.Context(), last, nil)
	if err != nil || end.Floor != nil || end.Climb.Floor != maxFloor+1 {
		t.Errorf("%v, %v", end, err)
	}
}

func TestAReceiptIsOfItsClimbAndItsKey(t *testing.T) {
	receipt := signed(&floorsv1.Climb{Tower: "spire", Floor: 7})
	if climb, err := VerifyReceipt(receipt, publicKey()); err != nil || climb.Tower != "spire" || climb.Floor != 7 {
		t.Errorf("%v, %v", climb, err)
	}
	other := bytes.Repeat([]byte{1}, ed25519.SeedSize)
	if _, err := VerifyReceipt(receipt, ed25519.NewKeyFromSeed(other).Public().(ed25519.PublicKey)); err != ErrSignature {
		t.Errorf("another key: %v", err)
	}
	if _, err := VerifyReceipt(receipt, publicKey()[1:]); err == nil || errors.Is(err, ErrSignature) {
		t.Errorf("a short key: %v", err)
	}
	for i := range 8 * (len(receipt.Climb) + len(receipt.Signature)) {
		altered := proto.CloneOf(receipt)
		if at := i / 8; at < len(receipt.Climb) {
			altered.Climb[at] ^= 1 << (i % 8)
		} else {
			altered.Signature[at-len(receipt.Climb)] ^= 1 << (i % 8)
		}
		if _, err := VerifyReceipt(altered, publicKey()); err != ErrSignature {
			t.Errorf("bit %d: %v", i, err)
		}
	}
	for _, broken := range []*floorsv1.Receipt{nil, {}, {Climb: receipt.Climb, Signature: receipt.Signature[1:]}} {
		if _, err := VerifyReceipt(broken, publicKey()); err != ErrSignature {
			t.Errorf("%v: %v", broken, err)
		}
	}
}
