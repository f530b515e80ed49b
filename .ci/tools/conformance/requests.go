package main

import (
	"encoding/base64"
	"fmt"
	"strconv"
)

// post is the raw request of a call.
func post(protocol, path string, message []byte) object {
	raw := object{"verb": "POST", "uri": path}
	payload := object{"binary": encoded(message)}
	switch {
	case protocol == grpc:
		raw["headers"] = []any{header("content-type", "application/grpc"), header("te", "trailers")}
	case protocol == grpcWeb:
		raw["headers"] = []any{header("content-type", "application/grpc-web+proto")}
	case path == serverStream:
		raw["headers"] = []any{header("content-type", "application/connect+proto"), header("connect-protocol-version", "1")}
	default:
		raw["headers"] = []any{header("content-type", "application/proto"), header("connect-protocol-version", "1")}
		raw["unary"] = payload
		return raw
	}
	raw["stream"] = object{"items": []any{object{"payload": payload}}}
	return raw
}

// get is the raw request of a call by GET, with further parameters.
func get(parameters ...any) object {
	parameters = append(parameters, header("connect", "v1"), header("encoding", "proto"), header("base64", "1"))
	return object{
		"verb":               "GET",
		"uri":                unary,
		"rawQueryParams":     parameters,
		"encodedQueryParams": []any{object{"name": "message", "value": object{"binary": encoded(spec)}, "base64Encode": true}},
	}
}

// slow is a call whose timeout is shorter than what it takes to generate its floors: 16 of 512x512 cells.
func slow(protocol string) object {
	var specs []byte
	for number := range byte(16) {
		specs = append(specs, 10, 10, 8, 42, 16, number+1, 24, 128, 4, 32, 128, 4)
	}
	raw := withTimeout(post(protocol, unary, specs), protocol, 1)
	raw["headers"] = append(list(raw["headers"]), header("cache-control", "no-cache"))
	return raw
}

func withTimeout(raw object, protocol string, milliseconds int) object {
	timeout := header("grpc-timeout", fmt.Sprintf("%dm", milliseconds))
	if protocol == connect {
		timeout = header("connect-timeout-ms", strconv.Itoa(milliseconds))
	}
	raw["headers"] = append(list(raw["headers"]), timeout)
	return raw
}

// tooLarge is a call whose message has, by its prefix, ten bytes more than the server takes.
func tooLarge(protocol, path string) object {
	raw := post(protocol, path, nil)
	item := list(raw["stream"].(object)["items"])[0].(object)
	item["length"] = maxMessage + 10
	return raw
}

func header(name, value string) object { return object{"name": name, "value": []any{value}} }

func encoded(message []byte) string { return base64.StdEncoding.EncodeToString(message) }
