package command

import (
	"bytes"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse"
)

func TestAProgramIsCalledByItsName(t *testing.T) {
	for _, tt := range []struct{ name, args, out, errs string }{
		{"harbour", "version", "harbour v1.2.3\n", ""},
		{"", "version", "dormouse v1.2.3\n", ""},
		{"harbour", "decde", "", "harbour: unknown command \"decde\" for \"harbour\"; did you mean: decide; see: harbour help\n"},
		{"my harbour", "version", "", `dormouse: the program's Name is "my harbour"; make it one word of letters, digits, "-", "_" and "."` + "\n"},
		{"-v", "version", "", `dormouse: the program's Name is "-v"; make it one word of letters, digits, "-", "_" and "."` + "\n"},
	} {
		var out, errs bytes.Buffer
		code := Run(t.Context(), dormouse.Program{Name: tt.name, Version: "v1.2.3"}, []string{tt.args}, strings.NewReader(""), &out, &errs)
		if out.String() != tt.out || errs.String() != tt.errs || (code == 0) != (tt.errs == "") {
			t.Errorf("%q %s: exit code %d, %q and %q", tt.name, tt.args, code, out.String(), errs.String())
		}
	}
}

func TestAProgramWithoutANameIsCalledByItsFile(t *testing.T) {
	for file, want := range map[string]string{"/opt/harbour/bin/harbour": "harbour", "harbour-2.1": "harbour-2.1", "./harbour.exe": "harbour", "/opt/my harbour": "", "": ""} {
		if got := startedBy([]string{file}); got != want {
			t.Errorf("%q is called %q, want %q", file, got, want)
		}
	}
	if got := startedBy(nil); got != "" {
		t.Errorf("nothing is called %q", got)
	}
}

// A command that is printed works when it is copied, also where the program isn't on the PATH.
func TestCommandsToCopyBeginAsThePersonTypedThem(t *testing.T) {
	for file, want := range map[string]string{"bin/dormouse": "bin/dormouse", "./parts": "./parts", "../my parts/desk": "'../my parts/desk'", "dormouse": "", "/tmp/go-build1/exe/desk": ""} {
		if got := typed([]string{file}); got != want {
			t.Errorf("%q is typed %q, want %q", file, got, want)
		}
	}
	var out, errs bytes.Buffer
	run(t.Context(), dormouse.Program{Name: "dormouse"}, "bin/dormouse", []string{"dev", "--agents", t.TempDir() + "/none", "--data", t.TempDir()}, strings.NewReader(""), &out, &errs)
	if !strings.HasPrefix(errs.String(), "dormouse: the directory ") || !strings.Contains(errs.String(), "create it with: bin/dormouse new NAME") {
		t.Errorf("the error is %q", errs.String())
	}
}

func TestTheVersionIsThatOfTheModuleIfTheProgramNamesNone(t *testing.T) {
	for _, tt := range []struct {
		info  *debug.BuildInfo
		ok    bool
		wants string
	}{
		{&debug.BuildInfo{Main: debug.Module{Version: "v0.9.0"}}, true, "v0.9.0"},
		{&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, true, ""},
		{&debug.BuildInfo{}, true, ""},
		{nil, false, ""},
	} {
		if got := builtVersion(tt.info, tt.ok); got != tt.wants {
			t.Errorf("%+v: %q, want %q", tt.info, got, tt.wants)
		}
	}
}
