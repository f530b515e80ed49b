package floors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"connectrpc.com/connect"

	"floors.example/go/floorsv1"
)

var errNoFloor = errors.New("no floor arrived in time")

// stream is what is missing of a stream, over all calls for it.
type stream struct {
	client  *Client
	next    *floorsv1.FloorSpec
	left    uint32
	begun   bool
	options []CallOption
	retries retries
}

// read makes one call. It returns nil when the sequence is complete or the caller left the loop.
func (s *stream) read(ctx context.Context, yield func(*Floor, error) bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(s.floorTimeout(), func() { cancel(errNoFloor) })
	defer timer.Stop()
	messages, err := s.client.rpc.StreamFloors(ctx, s.request())
	if err != nil {
		return inTime(ctx, err)
	}
	defer messages.Close()
	for messages.Receive() {
		timer.Stop()
		floor, err := s.take(messages.Msg())
		if err != nil {
			return err
		}
		if !yield(floor, nil) {
			return nil
		}
		timer.Reset(s.floorTimeout())
	}
	return s.ended(inTime(ctx, messages.Err()))
}

// floorTimeout is how long the next floor may take: until the deadline of the first one, or the timeout. The time of
// the caller does not count.
func (s *stream) floorTimeout() time.Duration {
	if !s.retries.deadline.IsZero() {
		return time.Until(s.retries.deadline)
	}
	if s.client.timeout > 0 {
		return s.client.timeout
	}
	return 1<<63 - 1
}

func (s *stream) request() *connect.Request[floorsv1.StreamFloorsRequest] {
	request := connect.NewRequest(&floorsv1.StreamFloorsRequest{First: cloneSpec(s.next), Count: s.left})
	for _, option := range s.options {
		option(request.Header())
	}
	return request
}

// take checks the next floor, and counts it.
func (s *stream) take(message *floorsv1.Floor) (*Floor, error) {
	if s.left == 0 {
		return nil, invalid(ClassSpec, "the stream has more floors than were asked for")
	}
	floor, err := requested(message, s.next)
	if err != nil {
		return nil, err
	}
	s.next.Number++
	s.left--
	s.begun = true
	s.retries.progressed()
	return floor, nil
}

// ended returns why the sequence is not complete. If all floors are here, only the trailers can be lost.
func (s *stream) ended(err error) error {
	if s.left == 0 && (err == nil || s.begun) {
		return nil
	}
	if err != nil {
		return err
	}
	return invalid(ClassSpec, "the stream ended %d floors early", s.left)
}

// inTime names the reason if the call ended because no floor arrived.
func inTime(ctx context.Context, err error) error {
	if err != nil && context.Cause(ctx) == errNoFloor {
		return connect.NewError(connect.CodeDeadlineExceeded, fmt.Errorf("%w: %w", errNoFloor, err))
	}
	return err
}
