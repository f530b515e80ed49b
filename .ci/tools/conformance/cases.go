package main

import "slices"

// The methods that stand for those of the suites. An answer to BatchGetFloors with one floor reads as one of the
// suites' answers whose data is the floor's spec, since field 1 of field 1 is bytes in both. Field 1 of what
// StreamFloors sends reads as data that is empty.
const (
	service      = "/floors.v1.FloorService/"
	unary        = service + "BatchGetFloors"
	serverStream = service + "StreamFloors"
)

var paths = map[string]string{
	"/connectrpc.conformance.v1.ConformanceService/Unary":        unary,
	"/connectrpc.conformance.v1.ConformanceService/ServerStream": serverStream,
	// The server has no streams of requests; what is wrong with these is wrong with every request.
	"/connectrpc.conformance.v1.ConformanceService/ClientStream": serverStream,
}

// What .ci/conformance asks for first, so that memory serves it.
var (
	// Both a BatchGetFloorsRequest with one spec and the `first` of a StreamFloorsRequest: seed 42, number 7, STANDARD.
	spec = []byte{10, 6, 8, 42, 16, 7, 40, 1}
	// The same as the server resolves it: 100x100 cells.
	resolvedSpec = []byte{8, 42, 16, 7, 24, 100, 32, 100, 40, 1}
	// As many floors as the suites' streams have answers.
	twoFloors = append(slices.Clone(spec), 16, 2)
)

// malformed is no message.
var malformed = []byte{10, 255}

// maxMessage is the server's limit for a message.
const maxMessage = 4 << 20

// replayCall is the raw request and the expected response of a call in a protocol, nil if the service has no such call.
func replayCall(name, protocol string) (raw, expected object) {
	failed := func(code string) object { return object{"error": object{"code": code}} }
	switch name {
	case "Basic/unary/success":
		return post(protocol, unary, spec), unaryAnswer()
	case "Basic/server-stream/success":
		return post(protocol, serverStream, twoFloors), streamAnswer()
	case "Basic/unimplemented":
		return post(protocol, service+"Unimplemented", nil), failed("CODE_UNIMPLEMENTED")
	case "Connect with GET/success":
		return get(), unaryAnswer()
	case "Deadline Propagation/unary/success":
		return withTimeout(post(protocol, unary, spec), protocol, 2000), unaryAnswer()
	case "Deadline Propagation/server-stream/success":
		return withTimeout(post(protocol, serverStream, twoFloors), protocol, 2000), streamAnswer()
	case "Timeouts/unary":
		return slow(protocol), failed("CODE_DEADLINE_EXCEEDED")
	case "Timeouts/server-stream":
		// A stream that has begun would answer floors first.
		return withTimeout(post(protocol, serverStream, twoFloors), protocol, 0), failed("CODE_DEADLINE_EXCEEDED")
	case "Connect to HTTP Code Mapping/unary/invalid-argument":
		return post(protocol, unary, malformed), withStatus(400, failed("CODE_INVALID_ARGUMENT"))
	case "Connect to HTTP Code Mapping/unary/failed-precondition-mapping":
		return get(header("generator_version", "0")), withStatus(400, failed("CODE_FAILED_PRECONDITION"))
	case "Connect to HTTP Code Mapping/unary/deadline-exceeded":
		return slow(protocol), withStatus(504, failed("CODE_DEADLINE_EXCEEDED"))
	case "Connect to HTTP Code Mapping/unary/unimplemented":
		raw := post(protocol, unary, spec)
		raw["headers"] = append(list(raw["headers"]), header("content-encoding", "gzip"))
		return raw, withStatus(501, failed("CODE_UNIMPLEMENTED"))
	case "Connect to HTTP Code Mapping/server-stream/error-returns-success-http-code":
		return post(protocol, serverStream, malformed), withStatus(200, failed("CODE_INVALID_ARGUMENT"))
	case "Server Message Size/unary/request-exceeds-server-limit":
		if protocol != connect {
			return tooLarge(protocol, unary), failed("CODE_RESOURCE_EXHAUSTED")
		}
	case "Server Message Size/server-stream/request-exceeds-server-limit":
		return tooLarge(protocol, serverStream), failed("CODE_RESOURCE_EXHAUSTED")
	}
	return nil, nil
}

// withStatus is a response that has this HTTP status too.
func withStatus(status int, expected object) object {
	expected["httpStatusCode"] = status
	return expected
}

// unaryAnswer is what the call for spec answers.
func unaryAnswer() object {
	return object{
		"payloads":        []any{object{"data": encoded(resolvedSpec)}},
		"responseHeaders": []any{header("floor-served-by", "lru=1")},
	}
}

// streamAnswer is what the call for twoFloors answers.
func streamAnswer() object {
	return object{
		"payloads":         []any{object{}, object{}},
		"responseTrailers": []any{header("floor-served-by", "lru=2")},
	}
}
