package floors

import (
	"github.com/zeebo/xxh3"
	"google.golang.org/protobuf/proto"

	"floors.example/go/floorsv1"
)

// rehash sets the content hash of a changed floor.
func rehash(floor *floorsv1.Floor) {
	floor.ContentHash = 0
	encoded, err := proto.Marshal(floor)
	if err != nil {
		panic(err)
	}
	floor.ContentHash = xxh3.Hash(encoded)
}
