package browsertest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// leaf is a value that is neither a list nor an object, or an empty one, or one that lies too deep
// to be shown by value.
type leaf struct {
	path, value string
	own         bool // it is shown in words of the page
}

// deepest is where the page stops to show values one by one.
const deepest = 32

// leavesOf reads arguments with the standard library, which is not what the page reads them with.
func leavesOf(t *testing.T, arguments string) (leaves []leaf) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(arguments))
	dec.UseNumber()
	if err := readLeaves(dec, nil, &leaves); err != nil {
		t.Fatal(err)
	}
	return leaves
}

func readLeaves(dec *json.Decoder, path []string, leaves *[]leaf) error {
	if len(path) == deepest {
		var raw json.RawMessage
		err := dec.Decode(&raw)
		*leaves = append(*leaves, leaf{strings.Join(path, "\x00"), string(raw), false})
		return err
	}
	token, err := dec.Token()
	if err != nil {
		return err
	}
	add := func(value string, own bool) { *leaves = append(*leaves, leaf{strings.Join(path, "\x00"), value, own}) }
	switch v := token.(type) {
	case json.Delim:
		return readInside(dec, v == '{', path, leaves, add)
	case string:
		if v == "" {
			add("empty text", true)
			break
		}
		add(v, false)
	case json.Number:
		add(v.String(), false)
	case bool:
		add(map[bool]string{true: "Yes (true)", false: "No (false)"}[v], true)
	default:
		add("nothing (null)", true)
	}
	return nil
}

func readInside(dec *json.Decoder, object bool, path []string, leaves *[]leaf, add func(string, bool)) error {
	n := 0
	for ; dec.More(); n++ {
		step := fmt.Sprintf("#no. %d", n+1)
		if object {
			name, err := dec.Token()
			if err != nil {
				return err
			}
			step = name.(string)
		}
		if err := readLeaves(dec, append(path[:len(path):len(path)], step), leaves); err != nil {
			return err
		}
	}
	if n == 0 {
		add(map[bool]string{true: "nothing in it (empty object)", false: "nothing in it (empty list)"}[object], true)
	}
	_, err := dec.Token()
	return err
}

// sameJSON says whether both stand in the same place and are the same lists or objects, however
// they are written.
func sameJSON(got, want leaf) bool {
	var a, b any
	if got.path != want.path || json.Unmarshal([]byte(got.value), &a) != nil || json.Unmarshal([]byte(want.value), &b) != nil {
		return false
	}
	return strings.ContainsAny(want.value[:1], "[{") && reflect.DeepEqual(a, b)
}
