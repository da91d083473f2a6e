package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// fault is one deliberate mistake: why it is one, and what to change.
type fault struct {
	name    string
	prose   string
	tests   string // that find it; empty: those that the command line says
	changes []change
}

// change replaces whole lines of a file, which must be there exactly once.
type change struct {
	file     string // from the root of the module, with slashes
	old, new string
}

const (
	fileMark  = "file: "
	testsMark = "tests: "
	fence     = "-----"
)

// readFaults reads every fault of a directory, in the order of their names.
func readFaults(dir string) (faults []fault, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		f, err := parseFault(strings.TrimSuffix(filepath.Base(path), ".txt"), string(raw))
		if err != nil {
			return nil, err
		}
		faults = append(faults, f)
	}
	return faults, nil
}

// parseFault reads the prose, and behind it the changes.
func parseFault(name, text string) (fault, error) {
	f := fault{name: name}
	lines := strings.SplitAfter(text, "\n")
	wrong := func(at int, why string) (fault, error) { return f, fmt.Errorf("%s.txt:%d: %s", name, at+1, why) }
	at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, fileMark) })
	if at < 0 {
		return wrong(0, "it changes nothing")
	}
	prose := lines[:at]
	if n := slices.IndexFunc(prose, func(l string) bool { return strings.HasPrefix(l, testsMark) }); n >= 0 {
		f.tests = strings.TrimSpace(strings.TrimPrefix(prose[n], testsMark))
		prose = slices.Concat(prose[:n], prose[n+1:])
	}
	if f.prose = strings.TrimSpace(strings.Join(prose, "")); f.prose == "" {
		return wrong(0, "it does not say what is wrong with it")
	}
	for at < len(lines) {
		if strings.TrimSpace(lines[at]) == "" {
			at++
			continue
		}
		c, next, err := parseChange(lines, at)
		if err != nil {
			return wrong(next, err.Error())
		}
		f.changes, at = append(f.changes, c), next
	}
	return f, nil
}

// parseChange reads one change; next is the line behind it, or that of the error.
func parseChange(lines []string, at int) (c change, next int, err error) {
	file, ok := strings.CutPrefix(strings.TrimRight(lines[at], "\n"), fileMark)
	switch {
	case !ok:
		return c, at, fmt.Errorf("%q is expected here", fileMark)
	case !filepath.IsLocal(file) || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
		return c, at, fmt.Errorf("%s is no file to plant a fault in", file)
	}
	c.file = file
	if next = at + 1; !isFence(lines, next) {
		return c, min(next, len(lines)-1), errors.New("the old text is expected here, between two fences")
	}
	if c.old, next, err = upToFence(lines, next+1); err != nil {
		return c, next, err
	}
	if strings.TrimSpace(c.old) == "" {
		return c, at, errors.New("the old text is empty")
	}
	if c.new, next, err = upToFence(lines, next); err != nil {
		return c, next, err
	}
	if c.old == c.new {
		return c, at, errors.New("the new text is the old one")
	}
	return c, next, nil
}

func isFence(lines []string, at int) bool {
	return at < len(lines) && strings.TrimRight(lines[at], "\n") == fence
}

func upToFence(lines []string, at int) (text string, next int, err error) {
	for next = at; next < len(lines); next++ {
		if isFence(lines, next) {
			return strings.Join(lines[at:next], ""), next + 1, nil
		}
	}
	return "", at - 1, errors.New("nothing closes this fence")
}

// errMoved: the fault was written for other code.
var errMoved = errors.New("the code has moved on: adapt this fault")

// plant returns the changed files by their names. Changes of one file are made one after the other.
func (f fault) plant(read func(file string) (string, error)) (changed map[string]string, err error) {
	changed = map[string]string{}
	for _, c := range f.changes {
		text, again := changed[c.file]
		if !again {
			if text, err = read(c.file); err != nil {
				return nil, fmt.Errorf("%w (%w)", errMoved, err)
			}
		}
		if changed[c.file], err = c.apply(text); err != nil {
			return nil, err
		}
	}
	return changed, nil
}

// apply replaces the old text. It is whole lines, so that "x := 1" is not found in "xx := 11".
func (c change) apply(text string) (string, error) {
	text = "\n" + text
	switch n := strings.Count(text, "\n"+c.old); n {
	case 0:
		return "", fmt.Errorf("%w (the old text is not in %s)", errMoved, c.file)
	case 1:
		return strings.Replace(text, "\n"+c.old, "\n"+c.new, 1)[1:], nil
	default:
		return "", fmt.Errorf("%w (the old text is %d times in %s)", errMoved, n, c.file)
	}
}
