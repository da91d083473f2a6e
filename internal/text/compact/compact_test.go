package compact_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/text/compact"
)

const thread = "thr_bvsts7lgkwuaqamqu7uc2s2h"

// segment is what a commit stores of a call that waits for an approval.
var segment = strings.ReplaceAll(`{"run":"run_~_0","thread":"thr_~","at":1795799770874,"ev":5,"turn":1,"step":1,"messages":[{"role":"assistant","parts":[{"type":"text","text":"I refund the lamp."}],"tool_calls":[{"id":"call_1","name":"refund","arguments":{"amount":129.5,"order":"A-20419"}}]},{"role":"tool","parts":[{"type":"text","text":"This call waits for an answer; its result will follow."}],"call_id":"call_1","tool":"refund","pending":true}],"events":[{"type":"step.started","data":{"asked_at":1795799770872,"latency_ms":2,"usage":{"input_tokens":300,"output_tokens":60}}},{"type":"call.ready","data":{"call_id":"call_1"},"m":1},{"type":"run.status","data":{"id":"run_~_0","status":"waiting","done_reason":null,"updated_at":1795799770874}}]}`, "~", strings.TrimPrefix(thread, "thr_"))

// texts are bodies of several kinds and lengths.
func texts() map[string]string {
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 3000)
	for i := range noise {
		noise[i] = byte(' ' + random.IntN(224))
	}
	words := strings.Fields("order customer refund returned the lamp is broken and nothing was paid für Größe 退款 заказ")
	var prose strings.Builder
	for prose.Len() < 40_000 {
		prose.WriteString(words[random.IntN(len(words))] + " ")
	}
	return map[string]string{"": "", "{}": "{}", "a segment": segment, "the same again": strings.Repeat(segment, 40), "one byte": strings.Repeat("x", 5000),
		"noise": `{"` + string(noise), "a long text": prose.String(), "a text": prose.String()[:4000], "other letters": `{"text":"` + strings.Repeat("退款申请已经批准。", 200) + `"}`}
}

func TestATextComesBackAsItWas(t *testing.T) {
	for name, text := range texts() {
		for _, thread := range []string{thread, "thr_a", ""} {
			packed := compact.Pack([]byte(text), thread)
			back, err := compact.Unpack(packed, thread)
			if err != nil || string(back) != text || len(packed) > len(text) {
				t.Errorf("%s: %d bytes, packed in %d, came back as %d (%v)", name, len(text), len(packed), len(back), err)
			}
		}
	}
}

// A segment of about 800 bytes takes a fifth.
func TestASegmentTakesAFifth(t *testing.T) {
	if packed := compact.Pack([]byte(segment), thread); 5*len(packed) > len(segment) {
		t.Errorf("%d bytes take %d", len(segment), len(packed))
	}
}

// stored are bodies as released programs wrote them. They are read forever.
var stored = []string{
	"015ad9194fcb058bc3f5b8e3798e435dc756e18db095b34900828030a7804472921aad743e3c179b458d588fa2a3adad33d3337847c1d6d6d6d736ba26b5998738bffbc74361b35453dfd82f87f4abae2c733e666b130ba0353515a0a08787a75406b22374816745e9d1164908",
	"01d279d73aa32acf9464be3f7ddff7fda3affcee3ffec46ff893aff9963ffc96afffe3eff8983ffab06ffbc30ff9e0df7fdff7ffffdfebff7fafffffbdfefff7faffdfebff7fafffffbdfefff7faffdfebff7fafffffbdfefff7faffdfebff7fafffffbdfefff7faffdfebff7fafffffbdfefff7fa3fd96bed10",
}

func TestBodiesOfEarlierProgramsAreRead(t *testing.T) {
	for i, want := range []string{segment, texts()["other letters"]} {
		raw, bad := hex.DecodeString(stored[i])
		back, err := compact.Unpack(raw, thread)
		if bad != nil || err != nil || string(back) != want {
			t.Errorf("body %d came back as %q (%v); now it would be stored as\n%x", i, back, err, compact.Pack([]byte(want), thread))
		}
	}
	if back, err := compact.Unpack([]byte(segment), thread); err != nil || string(back) != segment {
		t.Errorf("a body that was not packed came back as %q (%v)", back, err)
	}
}

// Any change of one byte, and any end that is missing, is noticed: no text that was not stored is
// ever read. A few bits may be written in two ways.
func TestDamageIsNoticed(t *testing.T) {
	for name, text := range texts() {
		packed := compact.Pack([]byte(text), thread)
		if len(packed) == len(text) {
			continue
		}
		for at := range min(len(packed), 300) {
			for _, damaged := range [][]byte{changed(packed, at, 1), changed(packed, at, 0x80), packed[:at]} {
				if at == 0 {
					continue // another code
				}
				if back, err := compact.Unpack(damaged, thread); !errors.Is(err, compact.ErrDamaged) && string(back) != text {
					t.Fatalf("%s: byte %d of %d was changed, and %d bytes were read (%v)", name, at, len(packed), len(back), err)
				}
			}
		}
	}
	packed := compact.Pack([]byte(segment), thread)
	if _, err := compact.Unpack(append(bytes.Clone(packed), 0), thread); !errors.Is(err, compact.ErrDamaged) {
		t.Errorf("a byte was added: %v", err)
	}
	if _, err := compact.Unpack(packed, "thr_another234567890"); !errors.Is(err, compact.ErrDamaged) {
		t.Errorf("as a segment of another thread: %v", err)
	}
}

func changed(packed []byte, at int, by byte) []byte {
	other := bytes.Clone(packed)
	other[at] ^= by
	return other
}

func TestManyPackAtOnce(t *testing.T) {
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			for range 50 {
				TestATextComesBackAsItWas(t)
			}
		})
	}
}
