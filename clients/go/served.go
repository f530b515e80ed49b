package floors

import (
	"net/http"
	"strconv"
	"time"
)

// Served says how the server answered a call.
type Served struct {
	// By names the tier, or "generated"; for a batch it has counts, as in "lru=3,generated=8".
	By string
	// Coalesced counts the floors that came from another call for the same floor.
	Coalesced int
	// ServerTime is the time inside the server, if the call had [Trace].
	ServerTime time.Duration
	// Trace says what each tier answered and cost, if the call had [Trace].
	Trace string
}

// servedFrom reads metadata. Malformed values are ignored, since they only describe the answer.
func servedFrom(header http.Header) Served {
	served := Served{By: header.Get("Floor-Served-By"), Trace: header.Get("Floor-Trace")}
	if count, err := strconv.ParseUint(header.Get("Floor-Coalesced"), 10, 31); err == nil {
		served.Coalesced = int(count)
	}
	if micros, err := strconv.ParseUint(header.Get("Floor-Server-Us"), 10, 48); err == nil {
		served.ServerTime = time.Duration(micros) * time.Microsecond
	}
	return served
}
