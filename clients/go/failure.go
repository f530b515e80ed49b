package floors

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"connectrpc.com/connect"
)

// isRefused says whether nothing accepted the connection.
func isRefused(err error) bool {
	var dial *net.OpError
	var lookup *net.DNSError
	return errors.As(err, &dial) && dial.Op == "dial" && !errors.As(err, &lookup)
}

// isTLSMistake says whether a certificate is not trusted, or the server has no TLS. No retry helps.
func isTLSMistake(err error) bool {
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &certificate) || errors.Is(err, http.ErrSchemeMismatch)
}

// failed returns the error for a call, with the reason if the connection failed by a mistake. An [*InvalidError] with
// which the codec rejected an answer is returned as it is: the RPC library reports it as INVALID_ARGUMENT, which would
// blame the request.
func (c *Client) failed(err error) error {
	var rejected *InvalidError
	if !connect.IsWireError(err) && errors.As(err, &rejected) {
		return rejected
	}
	if reason := c.mistake(err); reason != "" {
		return connect.NewError(connect.CodeUnavailable, fmt.Errorf("%s: %w", reason, err))
	}
	return err
}

func (c *Client) mistake(err error) string {
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	switch {
	case errors.As(err, &authority):
		return "the certificate of the server is of an authority that is not trusted (name it by WithTLS)"
	case errors.As(err, &name):
		return "the certificate of the server is for another name"
	case errors.Is(err, http.ErrSchemeMismatch):
		return "the server does not speak TLS (write http://)"
	// Calls that waited for the connection get an error that net/http exports no name for.
	case c.plain && (errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), "client conn could not be established")):
		return "the server ended the connection without an answer: it closes, or it speaks TLS (then write https://)"
	case isRefused(err):
		return "no server accepts connections at this address (is it running, and on this port?)"
	default:
		return ""
	}
}
