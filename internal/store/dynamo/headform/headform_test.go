package headform

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/core"
)

const (
	above = "thr_kqx3x6ysvpmwzg7hdzaqmhcbta"
	own   = "thr_ewuibbrzogybp3m2aylul3cr"
)

func TestParentsComeBackAsTheyWere(t *testing.T) {
	fresh := core.SuspensionID(above, 40, strings.Repeat("x7", 13))
	for _, p := range []core.Parent{
		{},
		{Thread: above, Run: core.RunID(above, 41), Call: "toolu_01A09q90qw90lq917835lq9", Sus: fresh, Depth: 2, Deepest: 4, Final: true},
		{Thread: "thr_", Run: "run__0", Sus: "sus_1_x_", Depth: 1},
		{Thread: "!", Run: "!", Sus: "!", Call: "!"},
		{Thread: "thr_!x", Run: "run_!x_1", Sus: "sus_!x"},
		{Thread: above, Run: "run_", Sus: "sus_"},
		{Thread: above, Run: core.RunID(above, 41) + "_", Sus: "sus_1_x_"},
		{Thread: above, Run: "run_kqx3x6ysvpmwzg7hdzaqmhcbta_01", Sus: fresh + "_"},
		{Thread: above, Run: "run_kqx3x6ysvpmwzg7hdzaqmhcbta_+1", Sus: core.SuspensionID(own, 1, "x")},
	} {
		if got := ShortParent(&p).Long(); *got != p {
			t.Errorf("%+v came back as %+v", p, *got)
		}
	}
	if ShortParent(nil) != nil || (*Parent)(nil).Long() != nil {
		t.Error("no parent became one")
	}
	if n := reflect.TypeFor[core.Parent]().NumField(); n != 7 {
		t.Errorf("a parent has %d members, and 7 are stored", n)
	}
	p := ShortParent(&core.Parent{Thread: above, Run: core.RunID(above, 41), Sus: fresh})
	if want := (Parent{Thread: "kqx3x6ysvpmwzg7hdzaqmhcbta", Run: "15", Sus: "14_" + strings.Repeat("x7", 13) + "_"}); *p != want {
		t.Errorf("stored as %+v", *p)
	}
}

func TestOutboxesComeBackAsTheyWere(t *testing.T) {
	sus := core.SuspensionID(own, 1, "abc")
	out := map[string]core.Out{
		core.LaunchKey(sus):  {Kind: core.OutLaunch},
		core.CancelKey(sus):  {Kind: core.OutCancel},
		core.PauseKey(sus):   {Kind: core.OutInterrupt, ID: core.SuspensionID(own, 9, "abc")},
		core.GoOnKey(sus):    {Kind: core.OutContinue, ID: core.SuspensionID(above, 9, "abc")},
		core.NoticeKey(sus):  {Kind: core.OutNotify, Call: "c1", Sus: sus},
		core.OutboxTell:      {Kind: core.OutTell},
		core.CancelKey("s_"): {Kind: core.OutCancel},
	}
	short := ShortOutbox(own, out)
	for key := range short {
		if strings.Contains(key, "ewuibbrzogybp3m2aylul3cr") {
			t.Errorf("the key %s names its thread", key)
		}
	}
	if diff := cmp.Diff(out, LongOutbox(own, short)); diff != "" {
		t.Errorf("(-was +came back)\n%s", diff)
	}
}

// TestWordsKeepTheirBytes: a word that moves would change heads that are stored. New ones go to the
// end of the list, and this test says what is new.
func TestWordsKeepTheirBytes(t *testing.T) {
	const known, digest = 119, "a3065a936290f7dde540349852f4dc47893d3bce9101aa296272712530e0f74c"
	if len(words) < known || len(words) > 128+31 || core.Digest([]byte(strings.Join(words[:known], "\n"))) != digest {
		t.Errorf("%d words, the first %d have the digest %s", len(words), known, core.Digest([]byte(strings.Join(words[:min(known, len(words))], "\n"))))
	}
	seen := map[string]bool{}
	for _, word := range words {
		if len(word) < 2 || seen[word] {
			t.Errorf("the word %q is useless", word)
		}
		seen[word] = true
	}
}

func TestWhatHeadsRepeatIsShort(t *testing.T) {
	for text, most := range map[string]int{
		`{"kind":"approval","dl":1777723207000,"n":1,"gr":"pay *","ask":"1c83a1135bbe","ct":true,"pl":true}`: 41,
		`{"kind":"child","mode":"use_decision_as_tool_result","n":1,"ct":true,"pl":true}`:                    8,
		`{"round":15,"step":7,"turn":2,"acts":7,"res":1,"tin":22400,"tout":595,"tc":7,"sc":1,"wr":true}`:     30,
		`"l:sus_f_phes6teo5bvvwnejr43fen4sdi_":{"k":"launch"}`:                                               34,
	} {
		if got := len(Pack(text)); got > most {
			t.Errorf("%s: packed into %d of %d bytes, want at most %d", text, got, len(text), most)
		}
	}
}

func FuzzPackedTextComesBack(f *testing.F) {
	for _, word := range words {
		f.Add(word + word[1:])
	}
	for b := range 256 {
		f.Add(fmt.Sprintf("a%cb", b) + string([]byte{byte(b), 0, byte(b)}))
	}
	f.Add(`{"meta":{"city":"Zürich 東京"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		if got := Unpack(Pack(text)); got != text {
			t.Errorf("%q came back as %q", text, got)
		}
	})
}
