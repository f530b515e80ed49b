package floors

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"connectrpc.com/connect"
)

const (
	// handshakeTimeout limits the handshake of TLS, and firstTime what comes before it.
	handshakeTimeout = 5 * time.Second
	// A connection that is silent for pingAfter is tested; one that does not answer within pingTimeout is closed.
	pingAfter   = 10 * time.Second
	pingTimeout = 5 * time.Second
)

// transport returns the HTTP client and the URL of the server without a trailing slash.
func (s *settings) transport(server string) (connect.HTTPClient, string, error) {
	base, err := address(server)
	if err != nil {
		return nil, "", err
	}
	plain := base.Scheme == "http"
	if s.token != "" && plain && !s.tokenOverPlain && !isLoopback(base.Hostname()) {
		return nil, "", fmt.Errorf("a token is sent to %s by https only; WithTokenOverPlainHTTP allows http", base.Host)
	}
	if strings.ContainsFunc(s.token, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return nil, "", fmt.Errorf("the token has a character that a header cannot carry, such as a space or a line break")
	}
	if s.get && s.protocol != Connect {
		return nil, "", fmt.Errorf("WithGet needs WithProtocol(Connect): gRPC has no GET")
	}
	client := s.http
	if client == nil {
		client = newHTTPClient(s, plain)
	}
	if s.get {
		client = versionInURL{client}
	}
	return client, strings.TrimSuffix(base.String(), "/"), nil
}

// address parses the URL of a server. An error shows no password.
func address(server string) (*url.URL, error) {
	if strings.Contains(server, "@") {
		return nil, errors.New("the address may not have a user: write http://host:port, and give a token")
	}
	base, err := url.Parse(server)
	isForeign := func(c rune) bool { return !unicode.IsPrint(c) }
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") || strings.ContainsFunc(server, isForeign) {
		// What cannot be parsed may hold a password.
		return nil, errors.New("the address is no server address: write http://host:port or https://host:port")
	}
	if base.RawQuery != "" || base.Fragment != "" {
		return nil, errors.New("the address may not have a query or a fragment: write http://host:port")
	}
	if port := base.Port(); port != "" {
		if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
			return nil, errors.New("the address is no server address: a port is a number from 1 to 65535")
		}
	}
	return base, nil
}

func newHTTPClient(s *settings, plain bool) *http.Client {
	protocols := new(http.Protocols)
	// HTTP/2 without TLS is used only when HTTP/1.1 is not allowed as well.
	protocols.SetUnencryptedHTTP2(plain)
	protocols.SetHTTP2(!plain)
	protocols.SetHTTP1(!plain && s.protocol != GRPC)
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: firstTime}).DialContext,
		TLSHandshakeTimeout: handshakeTimeout,
		TLSClientConfig:     s.tls.Clone(),
		Protocols:           protocols,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
	}
	return &http.Client{
		Transport: transport,
		// A call goes to the server that was named, and so does the token.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// versionInURL moves the generator version of a GET into its URL: caches do not compare headers.
type versionInURL struct{ connect.HTTPClient }

func (c versionInURL) Do(request *http.Request) (*http.Response, error) {
	if version := request.Header.Get(versionHeader); version != "" && request.Method == http.MethodGet {
		request.Header.Del(versionHeader)
		request.URL.RawQuery += "&generator_version=" + version
	}
	return c.HTTPClient.Do(request)
}

func isLoopback(host string) bool {
	if address, err := netip.ParseAddr(host); err == nil {
		return address.IsLoopback()
	}
	return host == "localhost"
}

// bearer adds a token to calls.
type bearer string

func (b bearer) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		request.Header().Set("Authorization", string(b))
		return next(ctx, request)
	}
}

func (b bearer) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		conn.RequestHeader().Set("Authorization", string(b))
		return conn
	}
}

func (b bearer) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}
