package floors

import (
	"encoding/binary"
	"fmt"

	"github.com/zeebo/xxh3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"floors.example/go/floorsv1"
)

const (
	// hashField is the number of Floor.content_hash.
	hashField = 3
	// batchField is the number of BatchGetFloorsResponse.floors.
	batchField = 1
	// climbField is the number of ClimbFloor.floor.
	climbField = 2
)

// VerifyHash checks the content hash in an encoded floor against its bytes. The error is an [*InvalidError].
//
// Fields that this version does not know count towards the hash, so floors of a newer server pass.
func VerifyHash(encoded []byte) error {
	hasher := xxh3.New()
	var carried uint64
	hashes := 0
	for rest := encoded; len(rest) > 0; {
		number, kind, length := protowire.ConsumeField(rest)
		if length < 0 {
			return &InvalidError{Class: ClassProtobuf, Reason: "the bytes are no floor", Err: protowire.ParseError(length)}
		}
		if number == hashField {
			if kind != protowire.Fixed64Type {
				return invalid(ClassProtobuf, "the content hash has wire type %d", kind)
			}
			carried = binary.LittleEndian.Uint64(rest[length-8 : length])
			hashes++
		} else {
			hasher.Write(rest[:length])
		}
		rest = rest[length:]
	}
	if hashes > 1 {
		return invalid(ClassHash, "the floor has %d content hashes, not one", hashes)
	}
	// A floor whose hash is 0 has no hash field, since an encoding omits defaults.
	if computed := hasher.Sum64(); computed != carried {
		return invalid(ClassHash, "the floor has content hash %016x, its bytes have %016x", carried, computed)
	}
	return nil
}

// checkedCodec is the codec of protobuf messages. It checks the content hash of floors, which is possible only while
// their bytes are at hand.
type checkedCodec struct{}

func (checkedCodec) Name() string { return "proto" }

func (c checkedCodec) Marshal(message any) ([]byte, error) { return c.MarshalStable(message) }

// MarshalStable encodes a request in the one way that caches can compare in the URL of a GET.
func (checkedCodec) MarshalStable(message any) ([]byte, error) {
	value, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no protobuf message", message)
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(value)
}

// IsBinary is whether the URL of a GET needs base64.
func (checkedCodec) IsBinary() bool { return true }

func (checkedCodec) Unmarshal(data []byte, message any) error {
	value, ok := message.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is no protobuf message", message)
	}
	if err := checkEntries(data, value); err != nil {
		return err
	}
	if err := proto.Unmarshal(data, value); err != nil {
		return &InvalidError{Class: ClassProtobuf, Reason: "the answer does not decode", Err: err}
	}
	switch value.(type) {
	case *floorsv1.Floor:
		return VerifyHash(data)
	case *floorsv1.BatchGetFloorsResponse:
		return verifyFloors(data, batchField)
	case *floorsv1.ClimbFloor:
		return verifyFloors(data, climbField)
	default:
		return nil
	}
}

// verifyFloors checks each floor of an encoded message, in which they are this field.
func verifyFloors(rest []byte, field protowire.Number) error {
	for len(rest) > 0 {
		number, kind, length := protowire.ConsumeField(rest)
		if length < 0 {
			return &InvalidError{Class: ClassProtobuf, Reason: "the bytes are no message", Err: protowire.ParseError(length)}
		}
		if number == field && kind == protowire.BytesType {
			_, _, tag := protowire.ConsumeTag(rest)
			floor, _ := protowire.ConsumeBytes(rest[tag:])
			if err := VerifyHash(floor); err != nil {
				return err
			}
		}
		rest = rest[length:]
	}
	return nil
}
