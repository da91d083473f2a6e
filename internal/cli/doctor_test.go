package cli_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/local"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
)

// storedData is a data directory with a store, as a server leaves it.
func storedData(t *testing.T) (data, file string) {
	t.Helper()
	data = t.TempDir()
	file = filepath.Join(data, "dormouse.db")
	db, err := sqlite.Open(t.Context(), file, sqlite.Options{Clock: machine.Clock{}, Random: machine.Random{}})
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return data, file
}

func TestDoctorTakesADirectoryThatIsNamedFromHere(t *testing.T) {
	data, _ := storedData(t)
	t.Chdir(filepath.Dir(data))
	if o := withEnv(t, nil, "doctor", "--data", filepath.Base(data)); o.exit != cmdline.ExitOK {
		t.Errorf("exit %d: %s%s", o.exit, o.stdout, o.stderr)
	}
}

// newerRun puts a run of a newer version into a store.
func newerRun(_, file string) error {
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return err
	}
	_, err = db.Exec(`INSERT INTO heads VALUES ('local', 'thr_newer', 'run_newer_0', 'a', 999, 1, 1, 1, 1, 0, 0, 0, 0, 0, '', 0, 0, 0, 0, 0, 0, 1, 0, '{}', '{}', '{"of":"later"}', 0, 0, 0)`)
	return errors.Join(err, db.Close())
}

func TestDoctorSaysWhatIsWrongAndWhatToDo(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(data, file string) error
		args []string
		exit int
		says []string
		code string
	}{
		"whole":       {func(string, string) error { return nil }, nil, cmdline.ExitOK, []string{"has no damage (checked 0 threads"}, ""},
		"rolled back": {newerRun, nil, cmdline.ExitFailed, []string{"head_newer", "thread thr_newer", "Start the newer version"}, local.Newer},
		"cut":         {func(_, file string) error { return os.Truncate(file, 20<<10) }, nil, cmdline.ExitFailed, []string{"database_malformed", "What to do:", "backup"}, local.Damaged},
		"missing":     {func(_, file string) error { return os.Remove(file) }, nil, cmdline.ExitFailed, []string{"database_missing", ".mark"}, local.Damaged},
		"no store":    {func(data, _ string) error { return os.RemoveAll(data) }, nil, cmdline.ExitUsage, nil, "usage"},
		"empty":       {func(_, file string) error { return errors.Join(os.Truncate(file, 0), os.Remove(file+".mark")) }, nil, cmdline.ExitUsage, nil, "usage"},
		"no time":     {func(string, string) error { return nil }, []string{"--for", "1ns"}, cmdline.ExitFailed, []string{"not_examined", "--for"}, local.Unfinished},
		"less than 0": {func(string, string) error { return nil }, []string{"--for", "-1s"}, cmdline.ExitUsage, nil, "usage"},
	} {
		t.Run(name, func(t *testing.T) {
			data, file := storedData(t)
			if err := c.harm(data, file); err != nil {
				t.Fatal(err)
			}
			o := withEnv(t, nil, append([]string{"doctor", "--data", data}, c.args...)...)
			if o.exit != c.exit {
				t.Errorf("exit %d: %s%s", o.exit, o.stdout, o.stderr)
			}
			for _, want := range c.says {
				if !strings.Contains(o.stdout, want) {
					t.Errorf("%q is not said: %s", want, o.stdout)
				}
			}
			o = withEnv(t, nil, append([]string{"doctor", "--json", "--data", data}, c.args...)...)
			var d local.Diagnosis
			if c.exit != cmdline.ExitUsage {
				if err := json.Unmarshal([]byte(o.stdout), &d); err != nil || (d.State == local.Whole) != (c.exit == cmdline.ExitOK) || (len(d.Advice) > 0) != (c.exit != cmdline.ExitOK) {
					t.Errorf("%s, %v", o.stdout, err)
				}
			}
			if c.code != "" && !strings.Contains(o.stderr, `"code":"`+c.code+`"`) {
				t.Errorf("%s", o.stderr)
			}
		})
	}
}
