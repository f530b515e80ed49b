package main

import "strings"

// replays are the suites that stand for suite: one with its raw requests, and one for each protocol with its calls, since
// a raw request is written in one protocol.
func replays(suite object, known *differences) []object {
	of := map[string]object{}
	var made []object
	add := func(protocol string, replayed object) {
		replay := of[protocol]
		if replay == nil {
			replay = object{
				"name":                 strings.TrimSpace(suite["name"].(string) + " " + shortNames[protocol]),
				"mode":                 "TEST_MODE_SERVER",
				"relevantProtocols":    list(suite["relevantProtocols"]),
				"relevantCodecs":       []any{"CODEC_PROTO"},
				"relevantCompressions": []any{"COMPRESSION_IDENTITY"},
			}
			if protocol != "" {
				replay["relevantProtocols"] = []any{protocol}
			}
			of[protocol] = replay
			made = append(made, replay)
		}
		replay["testCases"] = append(list(replay["testCases"]), replayed)
	}
	for _, node := range list(suite["testCases"]) {
		testCase := node.(object)
		request := testCase["request"].(object)
		name := suite["name"].(string) + "/" + request["testName"].(string)
		if request["rawRequest"] != nil {
			add("", replayRaw(testCase))
			continue
		}
		replayed := false
		for _, protocol := range protocols(suite) {
			if raw, expected := replayCall(name, protocol); raw != nil {
				replayed = true
				add(protocol, withRequest(testCase, raw, expected))
			}
		}
		if !replayed {
			known.skip(name)
		}
	}
	return made
}

const (
	connect = "PROTOCOL_CONNECT"
	grpc    = "PROTOCOL_GRPC"
	grpcWeb = "PROTOCOL_GRPC_WEB"
)

var shortNames = map[string]string{connect: "(Connect)", grpc: "(gRPC)", grpcWeb: "(gRPC-Web)"}

func protocols(suite object) []string {
	var names []string
	for _, name := range list(suite["relevantProtocols"]) {
		names = append(names, name.(string))
	}
	if len(names) == 0 {
		names = []string{connect, grpc, grpcWeb}
	}
	return names
}

// replayRaw is a case with a raw request, sent to the service.
func replayRaw(testCase object) object {
	request := testCase["request"].(object)
	raw := request["rawRequest"].(object)
	message := spec
	if path, ok := paths[raw["uri"].(string)]; ok {
		raw["uri"] = path
		if path == serverStream {
			message = twoFloors
		}
	}
	replaceMessages(raw, message)
	replaceMessages(list(request["requestMessages"]), nil)
	if testCase["expectedResponse"] == nil {
		testCase["expectedResponse"] = unaryAnswer()
	}
	return testCase
}

// replaceMessages replaces the messages in a raw request by message, and removes from others what the suites' service
// would answer.
func replaceMessages(node any, message []byte) {
	switch node := node.(type) {
	case []any:
		for _, item := range node {
			replaceMessages(item, message)
		}
	case object:
		for _, name := range []string{"binary_message", "binaryMessage"} {
			if node[name] != nil {
				delete(node, name)
				node["binary"] = encoded(message)
			}
		}
		delete(node, "responseDefinition")
		for _, child := range node {
			replaceMessages(child, message)
		}
	}
}

// withRequest is a case with another request and response.
func withRequest(testCase, raw, expected object) object {
	request := testCase["request"].(object)
	messages := list(request["requestMessages"])
	replaceMessages(messages, nil)
	replayed := object{
		"testName":        request["testName"],
		"streamType":      request["streamType"],
		"requestMessages": messages[:1],
		"rawRequest":      raw,
	}
	for _, name := range []string{"service", "method"} {
		if request[name] != nil {
			replayed[name] = request[name]
		}
	}
	return object{"request": replayed, "expectedResponse": expected}
}
