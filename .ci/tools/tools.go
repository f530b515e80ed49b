//go:build tools

// Package tools names the Go programs that .ci runs, so that go.mod and go.sum pin them and what they are built from.
package tools

import _ "github.com/summerwind/h2spec/cmd/h2spec"
