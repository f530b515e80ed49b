package floors

import (
	"crypto/ed25519"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"floors.example/go/floorsv1"
)

const (
	// receiptContext begins what is signed, so that no signature of something else passes for one of a receipt.
	receiptContext = "floors.v1.Receipt"
	// maxFloor is the number of the last floor of a tower.
	maxFloor = 1_000_000
	// rollsBytes is the length of a seed of rolls.
	rollsBytes = 16
)

// ErrSignature says that a receipt proves nothing: it was altered, or another key signed it.
var ErrSignature = errors.New("the signature is not of this climb and this key")

// Revealed is a floor that a climb of a sealed tower reveals.
type Revealed struct {
	// Receipt is the climb up to here, for [Client.SubmitFloor].
	Receipt *floorsv1.Receipt
	// Climb is what the receipt says. [VerifyReceipt] checks that the server signed it.
	Climb *floorsv1.Climb
	// Floor is complete, and the seed in its spec is 0. It is nil above the last floor, 1,000,000.
	Floor *Floor
	// Rolls is the seed of its rolls: 16 bytes, as a number the lowest first. It is nil where the floor is.
	Rolls []byte
}

// VerifyReceipt returns what a receipt says if the owner of the key signed it: [ErrSignature] if not. The key is that of
// the receipt's id in [floorsv1.ServerInfo.ReceiptKeys]; neither the id nor a clock is looked at.
func VerifyReceipt(receipt *floorsv1.Receipt, key ed25519.PublicKey) (*floorsv1.Climb, error) {
	if len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("a public key has %d bytes, and this one %d", ed25519.PublicKeySize, len(key))
	}
	if !ed25519.Verify(key, append([]byte(receiptContext), receipt.GetClimb()...), receipt.GetSignature()) {
		return nil, ErrSignature
	}
	return decodeClimb(receipt)
}

func decodeClimb(receipt *floorsv1.Receipt) (*floorsv1.Climb, error) {
	climb := new(floorsv1.Climb)
	if err := proto.Unmarshal(receipt.GetClimb(), climb); err != nil {
		return nil, &InvalidError{Class: ClassProtobuf, Reason: "the climb of its receipt does not decode", Err: err}
	}
	return climb, nil
}

// revealed checks that an answer is the floor of its receipt, and the one of the tower that asked names.
func revealed(message *floorsv1.ClimbFloor, tower string, asked *floorsv1.FloorSpec) (*Revealed, error) {
	if message.Receipt == nil {
		return nil, invalid(ClassMissing, "it has no receipt")
	}
	climb, err := decodeClimb(message.Receipt)
	if err != nil {
		return nil, err
	}
	if climb.Tower != tower {
		return nil, invalid(ClassSpec, "its receipt is of the tower %q instead of %q", climb.Tower, tower)
	}
	spec := specOf(climb, climb.Floor)
	if err := checkSpec(spec, asked); err != nil {
		return nil, err
	}
	found := &Revealed{Receipt: message.Receipt, Climb: climb}
	if message.Floor == nil && climb.Floor > maxFloor {
		return found, nil
	}
	if len(message.Rolls) != rollsBytes {
		return nil, invalid(ClassMissing, "its rolls have %d bytes instead of %d", len(message.Rolls), rollsBytes)
	}
	found.Rolls = message.Rolls
	found.Floor, err = requested(message.Floor, spec)
	return found, err
}

// specOf is the spec of floor number of a climb. An empty pack would be any.
func specOf(climb *floorsv1.Climb, number uint32) *floorsv1.FloorSpec {
	pack := climb.Pack
	if pack == "" {
		pack = builtInPack
	}
	return &floorsv1.FloorSpec{Number: number, Width: climb.Width, Height: climb.Height, Pack: pack}
}
