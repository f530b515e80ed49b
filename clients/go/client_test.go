package floors

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"floors.example/go/floorsv1"
	"floors.example/go/floorsv1/floorsv1connect"
)

// scripted answers calls from a script: an error or nil for each, then floors of the vectors.
type scripted struct {
	floorsv1connect.UnimplementedFloorServiceHandler
	floor *floorsv1.Floor

	lock     sync.Mutex
	script   []error
	headers  []http.Header
	streams  []*floorsv1.StreamFloorsRequest
	answers  []*floorsv1.SearchFloorsResponse
	searches []*floorsv1.SearchFloorsRequest
	// alter changes the next floor of a climb.
	alter func(*floorsv1.Climb, *floorsv1.ClimbFloor)
}

func (s *scripted) next(header http.Header) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.headers = append(s.headers, header)
	if len(s.script) == 0 {
		return nil
	}
	err := s.script[0]
	s.script = s.script[1:]
	return err
}

func (s *scripted) GetFloor(_ context.Context, request *connect.Request[floorsv1.GetFloorRequest]) (*connect.Response[floorsv1.Floor], error) {
	if err := s.next(request.Header()); err != nil {
		return nil, err
	}
	response := connect.NewResponse(s.floor)
	response.Header().Set("floor-served-by", "lru")
	response.Header().Set("floor-server-us", "12")
	return response, nil
}

// StreamFloors sends two floors a call, then the next error of the script.
func (s *scripted) StreamFloors(ctx context.Context, request *connect.Request[floorsv1.StreamFloorsRequest], stream *connect.ServerStream[floorsv1.Floor]) error {
	s.lock.Lock()
	s.streams = append(s.streams, request.Msg)
	s.lock.Unlock()
	for i := range min(2, request.Msg.Count) {
		floor := proto.CloneOf(s.floor)
		floor.Spec.Number = request.Msg.First.Number + i
		if floor.Spec.Number == stalled {
			<-ctx.Done()
		}
		rehash(floor)
		if err := stream.Send(floor); err != nil {
			return err
		}
	}
	if request.Msg.Count <= 2 {
		return nil
	}
	return s.next(request.Header())
}

// SearchFloors sends the next of the answers.
func (s *scripted) SearchFloors(_ context.Context, request *connect.Request[floorsv1.SearchFloorsRequest]) (*connect.Response[floorsv1.SearchFloorsResponse], error) {
	if err := s.next(request.Header()); err != nil {
		return nil, err
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	answer := s.answers[len(s.searches)]
	s.searches = append(s.searches, request.Msg)
	return connect.NewResponse(answer), nil
}

func serve(t *testing.T, script ...error) (*scripted, *httptest.Server) {
	t.Helper()
	service := &scripted{floor: decoded[floorsv1.Floor](t, file(t, "floors/tower_zero.bin")), script: script}
	_, handler := floorsv1connect.NewFloorServiceHandler(service)
	server := httptest.NewUnstartedServer(handler)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	return service, server
}

func client(t *testing.T, url string, options ...Option) *Client {
	t.Helper()
	client, err := New(url, options...)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func busy(wait time.Duration) error {
	err := connect.NewError(connect.CodeResourceExhausted, errors.New("the generation queue is full"))
	if detail, failed := connect.NewErrorDetail(&errdetails.RetryInfo{RetryDelay: durationpb.New(wait)}); failed == nil {
		err.AddDetail(detail)
	}
	return err
}

var first = &floorsv1.FloorSpec{Number: 1}

func TestEveryProtocolGetsAFloor(t *testing.T) {
	for _, protocol := range []Protocol{GRPC, Connect, GRPCWeb} {
		service, server := serve(t)
		floor, served, err := client(t, server.URL, WithProtocol(protocol), WithToken("secret")).Get(t.Context(), first, Trace())
		if err != nil {
			t.Fatalf("protocol %d: %v", protocol, err)
		}
		if floor.Width() != 16 || served.By != "lru" || served.ServerTime != 12*time.Microsecond {
			t.Errorf("protocol %d: %+v", protocol, served)
		}
		header := service.headers[0]
		if header.Get("Authorization") != "Bearer secret" || header.Get("Floor-Trace") != "1" {
			t.Errorf("protocol %d: %v", protocol, header)
		}
	}
}

func TestARefusedCallIsRepeatedAfterTheWaitThatTheServerAsksFor(t *testing.T) {
	service, server := serve(t, busy(150*time.Millisecond), connect.NewError(connect.CodeUnavailable, errors.New("draining")))
	start := time.Now()
	if _, _, err := client(t, server.URL).Get(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < 150*time.Millisecond || len(service.headers) != 3 {
		t.Errorf("%d calls in %v", len(service.headers), took)
	}
}

func TestACallIsNotRepeatedInVain(t *testing.T) {
	invalidArgument := connect.NewError(connect.CodeInvalidArgument, errors.New("floor 0"))
	for name, script := range map[string][]error{
		"an invalid request":          {invalidArgument},
		"a wait beyond the deadline":  {busy(time.Minute)},
		"a wait of more than maxWait": {busy(time.Hour)},
		"retries switched off":        {busy(time.Millisecond)},
	} {
		service, server := serve(t, script...)
		options := []Option{WithTimeout(5 * time.Second)}
		if name == "retries switched off" {
			options = append(options, WithRetries(0))
		}
		_, _, err := client(t, server.URL, options...).Get(t.Context(), first)
		if connect.CodeOf(err) != connect.CodeOf(script[0]) || len(service.headers) != 1 {
			t.Errorf("%s: %v after %d calls", name, err, len(service.headers))
		}
	}
}

func TestABrokenStreamIsResumed(t *testing.T) {
	unavailable := connect.NewError(connect.CodeUnavailable, errors.New("draining"))
	service, server := serve(t, unavailable, busy(time.Millisecond))
	var numbers []uint32
	for floor, err := range client(t, server.URL, WithRetries(1)).Stream(t.Context(), first, 5) {
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, floor.Message.Spec.Number)
	}
	if len(numbers) != 5 || numbers[0] != 1 || numbers[4] != 5 {
		t.Errorf("%v", numbers)
	}
	if last := service.streams[2]; len(service.streams) != 3 || last.First.Number != 5 || last.Count != 1 {
		t.Errorf("%v", service.streams)
	}
}

func TestLeavingAStreamEndsIt(t *testing.T) {
	_, server := serve(t)
	for floor, err := range client(t, server.URL).Stream(t.Context(), first, 2) {
		if err != nil || floor.Message.Spec.Number != 1 {
			t.Fatal(err)
		}
		break
	}
}

func TestAnotherFloorIsRejected(t *testing.T) {
	_, server := serve(t)
	client := client(t, server.URL)
	for field, spec := range map[string]*floorsv1.FloorSpec{
		"number is 1 instead of 2":                        {Number: 2},
		"width is 16 instead of 17":                       {Number: 1, Width: 17},
		"view is VIEW_UNSPECIFIED instead of VIEW_PLAYER": {Number: 1, View: floorsv1.View_VIEW_PLAYER},
	} {
		if _, _, err := client.Get(t.Context(), spec); classOf(err) != ClassSpec || !strings.HasSuffix(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestAStreamIsOfTheViewThatWasAskedFor(t *testing.T) {
	service, server := serve(t)
	service.floor.Spec.View = floorsv1.View_VIEW_PLAYER
	spec := &floorsv1.FloorSpec{Number: 1, View: floorsv1.View_VIEW_PLAYER}
	for _, err := range client(t, server.URL).Stream(t.Context(), spec, 2) {
		if err != nil {
			t.Error(err)
		}
	}
	if asked := service.streams[0].First.View; asked != floorsv1.View_VIEW_PLAYER {
		t.Errorf("it asked for %v", asked)
	}
}

func TestADamagedFloorIsRejected(t *testing.T) {
	service, server := serve(t)
	service.floor.ContentHash ^= 1
	for _, protocol := range []Protocol{GRPC, Connect} {
		_, _, err := client(t, server.URL, WithProtocol(protocol)).Get(t.Context(), first)
		if classOf(err) != ClassHash {
			t.Errorf("%v", err)
		}
	}
}

func TestAnUnreachableServerIsReportedInTime(t *testing.T) {
	start := time.Now()
	client := client(t, "http://127.0.0.1:1")
	_, _, failed := client.Get(t.Context(), first)
	for _, err := range client.Stream(t.Context(), first, 2) {
		failed = errors.Join(failed, err)
	}
	took := time.Since(start)
	named := strings.Count(failed.Error(), "is it running") == 2
	if connect.CodeOf(failed) != connect.CodeUnavailable || !named || took > 2*firstTime+time.Second {
		t.Errorf("%v after %v", failed, took)
	}
}

func TestAServerThatWasReachedIsAwaited(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for _, protocol := range []Protocol{GRPC, Connect} {
		_, server := serve(t)
		client := client(t, server.URL, WithProtocol(protocol))
		for _, reached := range []bool{false, true} {
			retries := client.attempts()
			retries.began = time.Now().Add(-firstTime)
			if waits := retries.wait(t.Context(), refused); waits != reached {
				t.Errorf("protocol %d: reached is %t, and it waits: %t", protocol, reached, waits)
			}
			if _, _, err := client.Get(t.Context(), first); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestTLS(t *testing.T) {
	service := &scripted{floor: decoded[floorsv1.Floor](t, file(t, "floors/tower_zero.bin"))}
	_, handler := floorsv1connect.NewFloorServiceHandler(service)
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	authorities := x509.NewCertPool()
	authorities.AddCert(server.Certificate())
	trusting := client(t, server.URL, WithTLS(&tls.Config{RootCAs: authorities}), WithToken("secret"))
	if _, _, err := trusting.Get(t.Context(), first); err != nil {
		t.Error(err)
	}
	if _, _, err := client(t, server.URL).Get(t.Context(), first); err == nil || !strings.Contains(err.Error(), "authority that is not trusted") {
		t.Errorf("an unknown authority: %v", err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	if _, err := New("http://127.0.0.1:1", WithGet()); err == nil || !strings.Contains(err.Error(), "WithProtocol(Connect)") {
		t.Errorf("GET by gRPC: %v", err)
	}
	for _, url := range []string{
		"", "127.0.0.1:50051", "localhost:50051", "ftp://host", "http://", "http:/host", "http://host?x=1", "http://host#x",
		"http://user:secret@host", "http://user:secr%zzet@host", "http://user:secr/et@host", "user:secret@host",
		"http://user:p#secret@host", "http://user:secret", "secret:x@host", "http://12:3/secret@host",
		"http://host:99999", "http://host:0", "http://host:\uff15", "http://host:1\r", " http://host:1", "http://\u200bhost:1",
		"\ufeffhttp://host:1", "'http://host:1'",
	} {
		if _, err := New(url); err == nil || strings.Contains(err.Error(), "secr") {
			t.Errorf("%q: %v", url, err)
		}
	}
	if _, err := New("http://floors.example:50051", WithToken("secret")); err == nil {
		t.Error("a token goes over plain HTTP")
	}
	for _, url := range []string{"https://floors.example", "http://127.0.0.1:1", "HTTP://127.0.0.1:1/", "http://[::1]:1", "http://localhost:1"} {
		if _, err := New(url, WithToken("secret")); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, token := range []string{"two\nlines", "secret\r", " secret", "\ufeffsecret", "secret\u00a0"} {
		if _, err := New("https://floors.example", WithToken(token)); err == nil {
			t.Errorf("the token %q", token)
		}
	}
}

// stalled is the floor at which the server stops to send.
const stalled = 100

func TestAStreamThatStallsIsResumed(t *testing.T) {
	service, server := serve(t)
	client := client(t, server.URL, WithTimeout(300*time.Millisecond), WithRetries(1))
	var numbers []uint32
	var last error
	for floor, err := range client.Stream(t.Context(), &floorsv1.FloorSpec{Number: stalled - 1}, 2) {
		if last = err; err == nil {
			numbers = append(numbers, floor.Message.Spec.Number)
		}
	}
	if len(numbers) != 1 || numbers[0] != stalled-1 || connect.CodeOf(last) != connect.CodeDeadlineExceeded {
		t.Errorf("%v, %v", numbers, last)
	}
	if len(service.streams) != 2 || service.streams[1].First.Number != stalled {
		t.Errorf("%v", service.streams)
	}
}

func TestAStreamWithoutFloorsEndsAtItsDeadline(t *testing.T) {
	service, server := serve(t)
	start := time.Now()
	for _, err := range client(t, server.URL, WithTimeout(300*time.Millisecond)).Stream(t.Context(), &floorsv1.FloorSpec{Number: stalled}, 2) {
		if connect.CodeOf(err) != connect.CodeDeadlineExceeded || time.Since(start) > 5*time.Second || len(service.streams) != 1 {
			t.Errorf("%v after %v and %d calls", err, time.Since(start), len(service.streams))
		}
	}
}
