// Command conformance makes the suites of Connect's conformance runner fit the floor service, which is not the service
// that they are written for. .ci/conformance runs it.
//
//	conformance suites SUITES DIFFERENCES OUT   replays of the suites in the folder SUITES, and what may fail
//	conformance announce HOST PORT              the command that the runner starts in place of a server: names one
package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"go.yaml.in/yaml/v3"
)

func main() {
	var err error
	switch arguments := os.Args[1:]; {
	case len(arguments) == 4 && arguments[0] == "suites":
		err = writeSuites(arguments[1], arguments[2], arguments[3])
	case len(arguments) == 3 && arguments[0] == "announce":
		err = announce(arguments[1], arguments[2])
	default:
		err = errors.New("usage: conformance suites SUITES DIFFERENCES OUT | announce HOST PORT")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

// announce answers the runner with the address of a server that runs already, and ends when the runner stops it.
func announce(host, port string) error {
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	// ServerCompatResponse: 1 is the host, 2 the port.
	message := append([]byte{1<<3 | 2, byte(len(host))}, host...)
	message = binary.AppendUvarint(append(message, 2<<3), number)
	response := binary.BigEndian.AppendUint32(nil, uint32(len(message)))
	if _, err := os.Stdout.Write(append(response, message...)); err != nil {
		return err
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	<-stop
	return nil
}

// object is a node of a suite. Suites are YAML, and what is written is JSON, which is YAML too.
type object = map[string]any

// writeSuites writes to the folder out a suite for each one that is replayed, and the file known-failing for the runner.
func writeSuites(suites, differences, out string) error {
	known, err := readDifferences(differences)
	if err != nil {
		return err
	}
	paths, err := filepath.Glob(filepath.Join(suites, "*.yaml"))
	if err != nil || len(paths) == 0 {
		return errors.Join(err, fmt.Errorf("%s has no suites", suites))
	}
	cases := 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var suite object
		if err := yaml.Unmarshal(text, &suite); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if suite["mode"] == "TEST_MODE_CLIENT" {
			continue
		}
		cases += len(list(suite["testCases"]))
		for _, replay := range replays(suite, known) {
			text, err := json.MarshalIndent(replay, "", " ")
			if err != nil {
				return err
			}
			name := strings.ReplaceAll(replay["name"].(string), " ", "-") + ".yaml"
			if err := os.WriteFile(filepath.Join(out, name), text, 0o644); err != nil {
				return err
			}
		}
	}
	for _, name := range known.unused() {
		known.problems = append(known.problems, "no such case, or it can be replayed: "+name)
	}
	if len(known.problems) > 0 {
		return fmt.Errorf("%s:\n%s", differences, strings.Join(known.problems, "\n"))
	}
	fmt.Printf("the suites have %d cases for servers; %d are replayed, %d are not\n", cases, cases-known.skipped, known.skipped)
	return os.WriteFile(filepath.Join(out, "known-failing"), []byte(strings.Join(known.failing, "\n")+"\n"), 0o644)
}

// list is the items of a node that may be missing.
func list(node any) []any {
	if items, ok := node.([]any); ok {
		return items
	}
	return []any{}
}
