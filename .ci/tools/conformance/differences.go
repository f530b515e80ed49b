package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// differences is the list of known differences.
type differences struct {
	// failing are the cases that the server fails, by their names in the runner.
	failing []string
	// inapplicable are the cases that are not replayed; a name that ends in /** stands for all that begin with it. The
	// value is whether a case has it.
	inapplicable map[string]bool
	skipped      int
	problems     []string
}

// inapplicableMark is the mark of a case that is not replayed.
const inapplicableMark = "inapplicable "

// readDifferences reads a list in which each case is a line, and the indented lines after it give the reason.
func readDifferences(path string) (*differences, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	known := &differences{inapplicable: map[string]bool{}}
	// Cases that follow each other share the reason after them.
	last, explained := "", true
	for line := range strings.Lines(string(text)) {
		switch content := strings.TrimSpace(line); {
		case content == "" || strings.HasPrefix(content, "#"):
			if !explained {
				return nil, fmt.Errorf("%s: %s: has no reason", path, last)
			}
		case line[0] == ' ':
			explained = true
		default:
			last, explained = content, false
			if name, ok := strings.CutPrefix(content, inapplicableMark); ok {
				known.inapplicable[name] = false
			} else {
				known.failing = append(known.failing, content)
			}
		}
	}
	if !explained {
		return nil, fmt.Errorf("%s: %s: has no reason", path, last)
	}
	return known, nil
}

// skip notes that a case is not replayed.
func (known *differences) skip(name string) {
	known.skipped++
	for pattern := range known.inapplicable {
		prefix, isPrefix := strings.CutSuffix(pattern, "**")
		if name == pattern || isPrefix && strings.HasPrefix(name, prefix) {
			known.inapplicable[pattern] = true
			return
		}
	}
	known.problems = append(known.problems, "is not replayed, and is not listed: "+name)
}

func (known *differences) unused() []string {
	var names []string
	for name, used := range known.inapplicable {
		if !used {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
