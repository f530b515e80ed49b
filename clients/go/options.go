package floors

import (
	"crypto/tls"
	"net/http"
	"strconv"
	"time"

	"connectrpc.com/connect"
)

// Protocol is a protocol of the server's port.
type Protocol int

const (
	// GRPC is gRPC over HTTP/2, the default.
	GRPC Protocol = iota
	// Connect is the Connect protocol, which passes proxies that speak HTTP/1.1 alone.
	Connect
	// GRPCWeb is gRPC-Web.
	GRPCWeb
)

const (
	defaultTimeout = 10 * time.Second
	defaultRetries = 4
	// maxMessage is the greatest answer that is read, in bytes. A full batch takes less (docs/protocol.md).
	maxMessage    = 16 << 20
	versionHeader = "Floor-Generator-Version"
)

// Option is an option of [New].
type Option func(*settings)

type settings struct {
	protocol       Protocol
	token          string
	tokenOverPlain bool
	tls            *tls.Config
	http           connect.HTTPClient
	get            bool
	retries        int
	timeout        time.Duration
}

func defaults() settings {
	return settings{retries: defaultRetries, timeout: defaultTimeout}
}

// WithProtocol chooses the protocol.
func WithProtocol(protocol Protocol) Option {
	return func(s *settings) { s.protocol = protocol }
}

// WithToken sends "authorization: Bearer TOKEN" with every call. [New] refuses it for a server on another machine
// without TLS, unless [WithTokenOverPlainHTTP] is given.
func WithToken(token string) Option {
	return func(s *settings) { s.token = token }
}

// WithTokenOverPlainHTTP allows the token on connections that are not encrypted, as behind a proxy that adds TLS.
func WithTokenOverPlainHTTP() Option {
	return func(s *settings) { s.tokenOverPlain = true }
}

// WithTLS sets the certificates of an https server: RootCAs for an authority of your own, Certificates for a client
// certificate. Without it, the authorities of the system are used.
func WithTLS(config *tls.Config) Option {
	return func(s *settings) { s.tls = config }
}

// WithHTTPClient uses a client of your own for all calls. It must speak HTTP/2 for [GRPC]. [WithTLS] is then ignored.
func WithHTTPClient(client connect.HTTPClient) Option {
	return func(s *settings) { s.http = client }
}

// WithGet makes calls other than streams by GET, so that HTTP caches can answer them. It needs [Connect]. Answers to calls
// with [GeneratorVersion] may be kept for a year, since that version is then a part of the URL.
func WithGet() Option {
	return func(s *settings) { s.get = true }
}

// WithRetries sets how often a call is repeated that the server refuses for now, or whose connection fails. The default
// is 4; 0 is never.
func WithRetries(times int) Option {
	return func(s *settings) { s.retries = times }
}

// WithTimeout limits each call with its retries and their waits, and in a stream the time in which no floor arrives. The
// default is 10 s; 0 leaves it to the context of the call.
func WithTimeout(timeout time.Duration) Option {
	return func(s *settings) { s.timeout = timeout }
}

// CallOption is an option of one call.
type CallOption func(http.Header)

// NoCache has the server generate the floor again. A server allows that to callers on its own machine only, unless it is
// configured otherwise.
func NoCache() CallOption {
	return func(header http.Header) { header.Set("Cache-Control", "no-cache") }
}

// Trace asks for the result and the time of each tier: fills [Served.Trace] and [Served.ServerTime].
func Trace() CallOption {
	return func(header http.Header) { header.Set("Floor-Trace", "1") }
}

// GeneratorVersion accepts floors of this generator version only, for games whose towers must not change: store what
// [Client.ServerInfo] returned when a tower was made, and send it with every call for the tower. A balancer can route by it. A
// server of another version answers with [connect.CodeFailedPrecondition], whose message has both versions; no retry
// helps.
func GeneratorVersion(version uint32) CallOption {
	return func(header http.Header) {
		header.Set(versionHeader, strconv.FormatUint(uint64(version), 10))
	}
}

func (s *settings) connectOptions() []connect.ClientOption {
	options := []connect.ClientOption{
		connect.WithCodec(checkedCodec{}),
		connect.WithReadMaxBytes(maxMessage),
		// The server compresses nothing, so a compressed answer is not its own.
		connect.WithAcceptCompression("gzip", nil, nil),
	}
	switch s.protocol {
	case GRPC:
		options = append(options, connect.WithGRPC())
	case GRPCWeb:
		options = append(options, connect.WithGRPCWeb())
	}
	if s.get {
		options = append(options, connect.WithHTTPGet())
	}
	if s.token != "" {
		options = append(options, connect.WithInterceptors(bearer("Bearer "+s.token)))
	}
	return options
}
