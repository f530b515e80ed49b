package floors

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
)

const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = 2 * time.Second
	// maxWait is the longest wait that a server may ask for. With a longer one the call fails, and [RetryAfter] has it.
	maxWait = time.Minute
)

// Violation is a wrong field of a request.
type Violation struct {
	// Field is a path in the request, such as "specs[3].width".
	Field       string
	Description string
}

// Violations returns the wrong fields of an INVALID_ARGUMENT (google.rpc.BadRequest).
func Violations(err error) []Violation {
	var violations []Violation
	for _, field := range detail[*errdetails.BadRequest](err).GetFieldViolations() {
		violations = append(violations, Violation{Field: field.GetField(), Description: field.GetDescription()})
	}
	return violations
}

// RetryAfter returns how long the server asks to wait before a retry (google.rpc.RetryInfo), and whether it does.
func RetryAfter(err error) (time.Duration, bool) {
	delay := detail[*errdetails.RetryInfo](err).GetRetryDelay()
	if delay.CheckValid() != nil || delay.AsDuration() < 0 {
		return 0, false
	}
	return delay.AsDuration(), true
}

// detail returns the first detail of a status that is a T.
func detail[T any](err error) T {
	var status *connect.Error
	if errors.As(err, &status) {
		for _, detail := range status.Details() {
			if value, err := detail.Value(); err == nil {
				if found, ok := value.(T); ok {
					return found
				}
			}
		}
	}
	var none T
	return none
}

// mayRetry returns how long to wait before the next attempt, and whether there is one.
func (c *Client) mayRetry(ctx context.Context, err error, attempt int) (time.Duration, bool) {
	if attempt >= c.retries || !isTransient(err) {
		return 0, false
	}
	wait, asked := RetryAfter(err)
	if !asked {
		backoff := min(minBackoff<<min(attempt, 10), maxBackoff)
		wait = backoff/2 + rand.N(backoff/2+1)
	}
	deadline, ok := ctx.Deadline()
	return wait, wait <= maxWait && (!ok || time.Now().Add(wait).Before(deadline))
}

// isTransient says whether a later attempt may succeed. An answer that exceeds maxMessage is RESOURCE_EXHAUSTED too, but
// not from the server.
func isTransient(err error) bool {
	switch connect.CodeOf(err) {
	case connect.CodeUnavailable:
		return true
	case connect.CodeResourceExhausted:
		return connect.IsWireError(err)
	default:
		return false
	}
}

// sleep waits, and returns false if ctx ends before.
func sleep(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
