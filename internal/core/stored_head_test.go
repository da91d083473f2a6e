package core

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

const storedHeads = "testdata/heads.jsonl"

// TestStoredHeads holds the stored form of a head to heads that were stored: each line is read and
// written again as the same JSON value. The first two are an empty head and one with every member
// set. The order of members is not part of the form: stores read heads by name and compare none as
// text.
func TestStoredHeads(t *testing.T) {
	if *update {
		writeStoredHeads(t)
	}
	raw, err := os.ReadFile(storedHeads)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(raw), []byte("\n"))
	for i, want := range append(lines[:0:0], lines...) {
		var h Head
		if err := json.Unmarshal(want, &h); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		if got, _ := Canonical(Encode(h)); !bytes.Equal(got, want) {
			t.Errorf("line %d is written as\n%s\nwant\n%s", i+1, got, want)
		}
	}
	for i, h := range []Head{{}, fullHead()} {
		if got, _ := Canonical(Encode(h)); !bytes.Equal(got, lines[i]) {
			t.Errorf("line %d is written as\n%s\nwant\n%s", i+1, got, lines[i])
		}
	}
}

// writeStoredHeads writes the first two lines anew and keeps the others, which a simulation stored.
func writeStoredHeads(t *testing.T) {
	t.Helper()
	raw, _ := os.ReadFile(storedHeads)
	var out bytes.Buffer
	for _, h := range []Head{{}, fullHead()} {
		line, _ := Canonical(Encode(h))
		out.Write(append(line, '\n'))
	}
	if lines := bytes.SplitAfterN(raw, []byte("\n"), 3); len(lines) == 3 {
		out.Write(lines[2])
	}
	if err := os.WriteFile(storedHeads, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// fullHead has a value in every member, which follows from the member's name in JSON alone.
func fullHead() (h Head) {
	fill(reflect.ValueOf(&h).Elem(), "head")
	return h
}

func fill(v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			fill(v.Field(i), tag)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), name)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		member := reflect.New(v.Type().Elem()).Elem()
		fill(member, name)
		v.SetMapIndex(reflect.ValueOf(name+"/key").Convert(v.Type().Key()), member)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes(fmt.Appendf(nil, `{"of":%q}`, name))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), name)
	case reflect.String:
		v.SetString(name)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8: // an enum
		v.SetUint(2)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(Digest([]byte(name))[0])*1000 + int64(len(name)))
	default:
		panic("no value for a " + v.Kind().String())
	}
}
