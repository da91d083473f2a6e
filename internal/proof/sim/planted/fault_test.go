package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// one is a fault's text with one change in it.
func one(file, old, new string) string {
	return fmt.Sprintf("It is wrong. I-1.\n\nfile: %s\n-----\n%s-----\n%s-----\n", file, old, new)
}

func source(files map[string]string) func(string) (string, error) {
	return func(file string) (string, error) {
		text, ok := files[file]
		if !ok {
			return "", os.ErrNotExist
		}
		return text, nil
	}
}

func TestAFaultReplacesWholeLines(t *testing.T) {
	for name, c := range map[string]struct{ text, before, after string }{
		"one line":            {one("a.go", "\tx := 1\n", "\tx := 2\n"), "{\n\tx := 1\n}\n", "{\n\tx := 2\n}\n"},
		"the first line":      {one("a.go", "a\n", "b\n"), "a\nc\n", "b\nc\n"},
		"several lines":       {one("a.go", "a\nb\n", "c\n"), "z\na\nb\n", "z\nc\n"},
		"lines go away":       {one("a.go", "a\n", ""), "a\nb\n", "b\n"},
		"no part of a line":   {one("a.go", "x := 1\n", "x := 2\n"), "xx := 1\nx := 1\nx := 11\n", "xx := 1\nx := 2\nx := 11\n"},
		"one after another":   {one("a.go", "a\n", "b\n") + "file: a.go\n-----\nb\n-----\nc\n-----\n", "a\n", "c\n"},
		"an empty line stays": {one("a.go", "a\n\nb\n", "a\n"), "a\n\nb\n", "a\n"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := parseFault("01-x", c.text)
			if err != nil {
				t.Fatal(err)
			}
			changed, err := f.plant(source(map[string]string{"a.go": c.before}))
			if err != nil || changed["a.go"] != c.after || len(changed) != 1 {
				t.Fatalf("planting %q in %q came to %q, %v", c.text, c.before, changed, err)
			}
		})
	}
}

func TestAFaultForOtherCodeFailsLoudly(t *testing.T) {
	for name, before := range map[string]map[string]string{
		"the old text is missing":        {"a.go": "b\n"},
		"the old text is there twice":    {"a.go": "a\nb\na\n"},
		"the old text is part of a line": {"a.go": "ab\n"},
		"the file is missing":            {"b.go": "a\n"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := parseFault("01-x", one("a.go", "a\n", "c\n"))
			if err != nil {
				t.Fatal(err)
			}
			if changed, err := f.plant(source(before)); !errors.Is(err, errMoved) || changed != nil {
				t.Fatalf("planting in %q came to %q, %v", before, changed, err)
			}
		})
	}
}

func TestAFaultThatCannotBeReadIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, why string }{
		"no change":             {"It is wrong.\n", "01-x.txt:1: it changes nothing"},
		"no prose":              {"file: a.go\n-----\na\n-----\nb\n-----\n", "01-x.txt:1: it does not say what is wrong with it"},
		"no fence":              {"Wrong.\nfile: a.go\na\n-----\nb\n-----\n", "01-x.txt:3: the old text is expected here, between two fences"},
		"nothing behind a file": {"Wrong.\nfile: a.go", "01-x.txt:2: the old text is expected here, between two fences"},
		"no end of the old":     {"Wrong.\nfile: a.go\n-----\na\n", "01-x.txt:3: nothing closes this fence"},
		"no end of the new":     {"Wrong.\nfile: a.go\n-----\na\n-----\nb\n", "01-x.txt:5: nothing closes this fence"},
		"no old text":           {"Wrong.\nfile: a.go\n-----\n-----\nb\n-----\n", "01-x.txt:2: the old text is empty"},
		"nothing changes":       {"Wrong.\nfile: a.go\n-----\na\n-----\na\n-----\n", "01-x.txt:2: the new text is the old one"},
		"a test":                {"Wrong.\n" + one("a_test.go", "a\n", "b\n"), "01-x.txt:4: a_test.go is no file to plant a fault in"},
		"another tree":          {"Wrong.\n" + one("../a.go", "a\n", "b\n"), "01-x.txt:4: ../a.go is no file to plant a fault in"},
		"something else":        {one("a.go", "a\n", "b\n") + "and more\n", `01-x.txt:9: "file: " is expected here`},
	} {
		t.Run(name, func(t *testing.T) {
			if f, err := parseFault("01-x", c.text); err == nil || err.Error() != c.why {
				t.Fatalf("%q was read as %+v, %v; want %q", c.text, f, err, c.why)
			}
		})
	}
}

func TestAFaultMayNameTheTestsThatFindIt(t *testing.T) {
	f, err := parseFault("01-x", "It is wrong.\n\ntests: ^TestTrees$\n\n"+one("a.go", "a\n", "b\n"))
	if err != nil || f.tests != "^TestTrees$" || strings.Contains(f.prose, "tests:") {
		t.Fatalf("read as %+v, %v", f, err)
	}
	if f, err = parseFault("01-x", one("a.go", "a\n", "b\n")); err != nil || f.tests != "" {
		t.Fatalf("read as %+v, %v", f, err)
	}
}

var promise = regexp.MustCompile(`\b(H\d+|I-\d|[RQN]D-\d|CH-\d|UN-\d|SU-\d|[Rr]ule [A-Z])\b`)

func TestEveryPlantedFaultFitsTheCodeAndNamesWhatItBreaks(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..")
	faults, err := readFaults(filepath.Join("..", "testdata", "planted"))
	if err != nil {
		t.Fatal(err)
	}
	if len(faults) < 24 {
		t.Errorf("%d faults are planted", len(faults))
	}
	for _, f := range faults {
		changed, err := f.plant(func(file string) (string, error) {
			raw, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
			return string(raw), err
		})
		if err != nil || len(changed) == 0 {
			t.Errorf("%s: %v", f.name, err)
		}
		if !promise.MatchString(f.prose) {
			t.Errorf("%s: it names no hole, no rule and no invariant:\n%s", f.name, f.prose)
		}
		if !strings.Contains(f.name, "-") {
			t.Errorf("%s: a fault is called by a number and a name", f.name)
		}
	}
}
