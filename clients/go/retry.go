package floors

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
)

const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 2 * time.Second
	// restartTime is how long a server that restarts is awaited: an attempt that no server accepted is not counted.
	restartTime = 10 * time.Second
	// firstTime is how long a server is awaited to which the client never had a connection.
	firstTime = 3 * time.Second
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

// retries are the attempts of one call.
type retries struct {
	allowed int
	// reached is that of the client, and began the time of the first attempt.
	reached *atomic.Bool
	began   time.Time
	// deadline is that of the first floor of a stream, apart from the one of the context; zero is none.
	deadline      time.Time
	failed, waits int
	// firstFailure is the first one since the last floor.
	firstFailure time.Time
}

// progressed counts from 0 again: a stream got a floor.
func (r *retries) progressed() { *r = retries{allowed: r.allowed, reached: r.reached} }

// wait waits for the next attempt, and returns false if there is none.
func (r *retries) wait(ctx context.Context, err error) bool {
	if ctx.Err() != nil || r.allowed == 0 || !isTransient(err) {
		return false
	}
	if r.firstFailure.IsZero() {
		r.firstFailure = time.Now()
	}
	refused := isRefused(err)
	if !refused || time.Since(r.firstFailure) > restartTime {
		r.failed++
	}
	wait, asked := RetryAfter(err)
	if !asked {
		wait = rand.N(min(minBackoff<<min(r.waits, 10), maxBackoff))
		r.waits++
	}
	if refused && !r.reached.Load() && time.Since(r.began)+wait >= firstTime {
		return false
	}
	return r.failed <= r.allowed && wait <= maxWait && r.hasTime(ctx, wait) && sleep(ctx, wait)
}

func (r *retries) hasTime(ctx context.Context, wait time.Duration) bool {
	end := time.Now().Add(wait)
	deadline, ok := ctx.Deadline()
	return (!ok || end.Before(deadline)) && (r.deadline.IsZero() || end.Before(r.deadline))
}

// isTransient says whether a later attempt may succeed: the server refuses the call for now, or the connection failed.
// The context of the call has not ended.
func isTransient(err error) bool {
	var rejected *InvalidError
	if errors.As(err, &rejected) || isTLSMistake(err) {
		return false
	}
	switch connect.CodeOf(err) {
	case connect.CodeUnavailable, connect.CodeCanceled, connect.CodeDeadlineExceeded:
		return true
	case connect.CodeResourceExhausted:
		_, asked := RetryAfter(err)
		return asked
	case connect.CodeUnknown:
		return !connect.IsWireError(err)
	default:
		return errors.Is(err, io.ErrUnexpectedEOF)
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
