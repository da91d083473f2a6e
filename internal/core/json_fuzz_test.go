package core_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/core"
)

// Canonical text is its own canonical form, and means what it was made of; white space and the
// order of members leave it as it is.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"b":1,"a":[1.50,-0,1E+2,12345678901234567890123]}`, `{"a":1,"a":2}`, `"\u2028<\ud800>"`, ` null `, `[] []`, `{"":{"":[]}}`,
		"\"\xff\"", `{"\ud800":1,"\ud801":2}`, `1e999`, strings.Repeat("[", 40) + strings.Repeat("]", 40)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		canonical, err := core.Canonical(raw)
		if (err == nil) != json.Valid(raw) {
			t.Fatalf("valid is %v, and the error %v", json.Valid(raw), err)
		}
		if err != nil {
			return
		}
		if again, err := core.Canonical(canonical); err != nil || !bytes.Equal(again, canonical) {
			t.Fatalf("%s became %s (%v)", canonical, again, err)
		}
		var spaced bytes.Buffer
		if err := json.Indent(&spaced, raw, "\t", "  "); err != nil {
			t.Fatal(err)
		}
		if other, err := core.Canonical(spaced.Bytes()); err != nil || core.Digest(other) != core.Digest(canonical) {
			t.Fatalf("with white space %s became %s (%v)", canonical, other, err)
		}
		if backwards := reversed(canonical); backwards != nil {
			if other, err := core.Canonical(backwards); err != nil || !bytes.Equal(other, canonical) {
				t.Fatalf("in another order %s became %s (%v)", canonical, other, err)
			}
		}
	})
}

// reversed is an object with its members in the other order; nil if it is none.
func reversed(object json.RawMessage) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(object))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	out := ""
	for dec.More() {
		var value json.RawMessage
		name, _ := dec.Token()
		if dec.Decode(&value) != nil {
			return nil
		}
		out = "," + string(core.Encode(name)) + ":" + string(value) + out
	}
	return json.RawMessage("{" + strings.TrimPrefix(out, ",") + "}")
}

// Ids carry what they are made of, and what is none is refused.
func FuzzIDs(f *testing.F) {
	for _, seed := range []string{"sus_4_lt3l2msrmzhpnsyu", "sus_0_a", "sus_-1_a", "sus_zzzzzzzzzzzzzzzz_a", "sus_+4_a", "run_abc_0", "run__0", "run_a_b_1y", "thr_a", "", "run_"} {
		f.Add(seed, int64(4), "ewuibbrzogybp3m2")
	}
	f.Fuzz(func(t *testing.T, id string, number int64, random string) {
		if seq, ok := core.SuspensionSeq(core.SuspensionID("thr_a", number, random)); ok != (number > 0) || ok && seq != number {
			t.Fatalf("suspension %d came back as %d, %v", number, seq, ok)
		}
		if seq, ok := core.SuspensionSeq(id); ok && (seq < 1 || !strings.HasPrefix(id, "sus_")) {
			t.Fatalf("%q is of segment %d", id, seq)
		}
		of := core.ThreadID(random)
		if thread, ok := core.ThreadOf(core.RunID(of, number)); ok != (random != "") || ok && thread != of {
			t.Fatalf("thread %q came back as %q, %v", of, thread, ok)
		}
		if thread, ok := core.ThreadOf(id); ok && !strings.HasPrefix(id, "run_"+strings.TrimPrefix(thread, "thr_")+"_") {
			t.Fatalf("%q is of thread %q", id, thread)
		}
	})
}
