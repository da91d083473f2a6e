package program

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dormouse-dev/dormouse/internal/agent/agentfile"
	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/hook"
	"github.com/dormouse-dev/dormouse/internal/machine"
	"github.com/dormouse-dev/dormouse/internal/store/sqlite"
)

// dirRig is a directory of agents, and a store that they are deployed to.
type dirRig struct {
	t      *testing.T
	dir    string
	stored Definitions
	agents *Agents
}

func newDirRig(t *testing.T, files map[string]string) *dirRig {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "dormouse.db"), sqlite.Options{Clock: machine.Clock{}, Random: machine.Random{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	r := &dirRig{t: t, dir: t.TempDir(), stored: db}
	r.write(files)
	r.restart(db)
	return r
}

// restart is another life of the program, which serves what is there.
func (r *dirRig) restart(stored Definitions) {
	r.t.Helper()
	r.agents = NewAgents(stored, Program{Tools: payer(r.t), Hooks: hook.NewRegistry(), Dir: r.dir, Home: access.Tenant, Clock: machine.Clock{}})
	if _, err := r.agents.Serve(r.t.Context(), access.Tenant, "acme"); err != nil {
		r.t.Fatal(err)
	}
}

// write puts files into the directory; one without a text is removed.
func (r *dirRig) write(files map[string]string) {
	r.t.Helper()
	for name, text := range files {
		path := filepath.Join(r.dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if text == "" {
			err = errors.Join(err, os.Remove(path))
		} else {
			err = errors.Join(err, os.WriteFile(path, []byte(text), 0o600))
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *dirRig) files() []agentfile.File {
	r.t.Helper()
	files, err := agentfile.ReadFiles(r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	return files
}

// reload reads the directory again, and returns what changed, a line for each agent.
func (r *dirRig) reload() []string {
	r.t.Helper()
	changes, err := r.agents.Reload(r.t.Context(), r.files(), access.Tenant, "acme")
	if err != nil {
		r.t.Fatal(err)
	}
	return r.lines(changes)
}

func (r *dirRig) lines(changes []Change) (lines []string) {
	for _, c := range changes {
		line := c.Name + " " + string(c.What)
		if c.Version == "" {
			line += " without a version"
		}
		for _, p := range c.Problems {
			line += fmt.Sprintf(" %s:%d", filepath.Base(p.File), p.Line)
		}
		lines = append(lines, line)
	}
	return lines
}

// version is what new runs of a tenant start with; "" if there is none, and "-" if it cannot be
// served.
func (r *dirRig) version(tenant, name string) string {
	r.t.Helper()
	digest, err := r.agents.Newest(r.t.Context(), tenant, name)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		r.t.Fatal(err)
	}
	if r.agents.Reasons()[name] != "" {
		return "-"
	}
	return digest
}

// saying is an agent that says one text.
func saying(text string) string {
	return "model: {provider: scripted, turns: [{say: " + text + "}]}\n"
}

const (
	// in its second line
	mistaken = "model: {provider: scripted, turns: [{say: x}]}\ntolls: []\n"
	noYAML   = "model: {{\n"

	// in its third line it calls an agent
	calling = "model: {provider: scripted, turns: [{say: x}]}\ntools:\n  - {name: ask, agent: helper, input: '{q}'}\n"
)

// Each step changes the directory after a start with one agent, desk, and says what a Reload tells
// and what new runs start with then: the digest of a text, "" for nothing, "-" for an agent that
// cannot be served.
func TestReload(t *testing.T) {
	type step struct {
		files map[string]string
		tells []string
		uses  map[string]string
	}
	one, two := saying("one"), saying("two")
	scripted := "model: {provider: scripted, script: scripts/desk.yaml}\n"
	for name, tt := range map[string]struct {
		start map[string]string
		steps []step
	}{
		"nothing changes": {nil, []step{{nil, nil, map[string]string{"desk": one}}}},
		"a change counts": {nil, []step{
			{map[string]string{"desk.yaml": two}, []string{"desk reloaded"}, map[string]string{"desk": two}},
			{nil, nil, map[string]string{"desk": two}},
		}},
		"other words are the same version": {nil, []step{
			{map[string]string{"desk.yaml": "# a comment\n" + one}, []string{"desk unchanged"}, map[string]string{"desk": one}},
			{nil, nil, nil},
		}},
		"a mistake leaves the version before, and is reported once": {nil, []step{
			{map[string]string{"desk.yaml": mistaken}, []string{"desk refused desk.yaml:2"}, map[string]string{"desk": one}},
			{map[string]string{"shop.yaml": two}, []string{"shop added"}, map[string]string{"desk": one, "shop": two}},
			{map[string]string{"desk.yaml": "\n" + mistaken}, []string{"desk refused desk.yaml:3"}, map[string]string{"desk": one}},
			{map[string]string{"desk.yaml": one}, []string{"desk corrected"}, map[string]string{"desk": one}},
			{map[string]string{"desk.yaml": noYAML}, []string{"desk refused desk.yaml:1"}, map[string]string{"desk": one}},
			{map[string]string{"desk.yaml": two}, []string{"desk reloaded"}, map[string]string{"desk": two}},
		}},
		"a function that the program does not have is a mistake in its line": {nil, []step{
			{map[string]string{"desk.yaml": one + "tools:\n  - {name: pay, go: pya}\n"}, []string{"desk refused desk.yaml:3"}, map[string]string{"desk": one}},
		}},
		"a secret that is not set is a mistake": {nil, []step{
			{map[string]string{"desk.yaml": one + "tools:\n  - {name: ask, http: {url: 'https://shop.example/', headers: {Authorization: '{secret:SHOP}'}}, parameters: {type: object}}\n"},
				[]string{"desk refused desk.yaml:1"}, map[string]string{"desk": one}},
		}},
		"a new agent with a mistake is not served": {nil, []step{
			{map[string]string{"shop.yaml": mistaken}, []string{"shop refused without a version shop.yaml:2"}, map[string]string{"desk": one, "shop": "-"}},
			{nil, nil, nil},
			{map[string]string{"shop.yaml": two}, []string{"shop reloaded"}, map[string]string{"desk": one, "shop": two}},
		}},
		"an agent that the start could not serve": {map[string]string{"desk.yaml": mistaken}, []step{
			{map[string]string{"shop.yaml": one}, []string{"shop added"}, map[string]string{"desk": "-", "shop": one}},
			{map[string]string{"desk.yaml": two}, []string{"desk reloaded"}, map[string]string{"desk": two}},
		}},
		"a file of an agent that was not served goes": {map[string]string{"shop.yaml": mistaken}, []step{
			{map[string]string{"shop.yaml": ""}, []string{"shop removed without a version"}, map[string]string{"desk": one, "shop": ""}},
		}},
		"an agent is removed, and comes back": {nil, []step{
			{map[string]string{"desk.yaml": ""}, []string{"desk removed without a version"}, map[string]string{"desk": ""}},
			{map[string]string{"desk.yaml": one}, []string{"desk added"}, map[string]string{"desk": one}},
		}},
		"a file is renamed": {map[string]string{"desk.yaml": "name: desk\n" + one}, []step{
			{map[string]string{"desk.yaml": "", "other.yaml": "name: desk\n" + one}, []string{"desk unchanged"}, map[string]string{"desk": one}},
		}},
		"an agent is renamed": {nil, []step{
			{map[string]string{"desk.yaml": "name: shop\n" + one}, []string{"desk removed without a version", "shop added"},
				map[string]string{"desk": "", "shop": "name: shop\n" + one}},
		}},
		"an agent is renamed with a mistake": {nil, []step{
			{map[string]string{"desk.yaml": "name: shop\n" + mistaken}, []string{"desk refused desk.yaml:3"}, map[string]string{"desk": one, "shop": ""}},
		}},
		"a file is renamed with a mistake": {nil, []step{
			{map[string]string{"desk.yaml": "", "other.yaml": noYAML}, []string{"desk refused other.yaml:1", "other refused without a version other.yaml:1"},
				map[string]string{"desk": one, "other": "-"}},
			{map[string]string{"shop.yaml": two}, []string{"shop added"}, map[string]string{"desk": one}},
			{map[string]string{"other.yaml": ""}, []string{"desk removed without a version", "other removed without a version"}, map[string]string{"desk": "", "other": ""}},
		}},
		"a file is copied before it is edited": {map[string]string{"desk.yaml": "name: desk\n" + one}, []step{
			{map[string]string{"copy.yaml": "name: desk\n" + one}, []string{"desk refused desk.yaml:1"}, map[string]string{"desk": one}},
			{map[string]string{"copy.yaml": "name: desk\n" + two}, []string{"desk refused desk.yaml:1"}, map[string]string{"desk": one}},
			{map[string]string{"copy.yaml": "name: copy\n" + two}, []string{"copy added", "desk corrected"},
				map[string]string{"desk": one, "copy": "name: copy\n" + two}},
		}},
		"a script is a part of its agent": {map[string]string{"desk.yaml": scripted, "scripts/desk.yaml": "- say: one\n"}, []step{
			{map[string]string{"scripts/desk.yaml": "- say: two\n"}, []string{"desk reloaded"}, map[string]string{"desk": two}},
			{map[string]string{"scripts/desk.yaml": "- say: two\n  sing: three\n"}, []string{"desk refused desk.yaml:2"}, map[string]string{"desk": two}},
			{map[string]string{"scripts/desk.yaml": ""}, []string{"desk refused desk.yaml:1"}, map[string]string{"desk": two}},
			{map[string]string{"scripts/desk.yaml": "- say: one\n"}, []string{"desk reloaded"}, map[string]string{"desk": one}},
		}},
		"an agent that is called appears later": {nil, []step{
			{map[string]string{"desk.yaml": calling}, []string{"desk reloaded", "desk incomplete desk.yaml:3"}, map[string]string{"desk": calling}},
			{map[string]string{"shop.yaml": two}, []string{"shop added"}, map[string]string{"shop": two}},
			{map[string]string{"helper.yaml": one}, []string{"helper added"}, map[string]string{"helper": one}},
			{map[string]string{"helper.yaml": ""}, []string{"desk incomplete desk.yaml:3", "helper removed without a version"}, map[string]string{"desk": calling}},
			{map[string]string{"desk.yaml": "# words\n" + calling}, []string{"desk unchanged"}, map[string]string{"desk": calling}},
			{map[string]string{"helper.yaml": mistaken}, []string{"helper refused without a version helper.yaml:2"}, map[string]string{"desk": calling}},
			{map[string]string{"helper.yaml": one + "tenants: [zoo]\n"}, []string{"desk incomplete desk.yaml:4", "helper reloaded"}, map[string]string{"desk": calling}},
		}},
		"an agent becomes another tenant's": {nil, []step{
			{map[string]string{"desk.yaml": one + "tenants: [zoo]\n"}, []string{"desk reloaded"}, map[string]string{"desk": ""}},
			{map[string]string{"desk.yaml": one}, []string{"desk reloaded"}, map[string]string{"desk": one}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"desk.yaml": one}
			maps.Copy(files, tt.start)
			r := newDirRig(t, files)
			for i, s := range tt.steps {
				r.write(s.files)
				if diff := cmp.Diff(s.tells, r.reload()); diff != "" {
					t.Errorf("step %d tells (-want +got):\n%s", i+1, diff)
				}
				for name, text := range s.uses {
					want := text
					if len(text) > 1 {
						want = digestOf(t, name, text)
					}
					if got := r.version(access.Tenant, name); got != want {
						t.Errorf("step %d: new runs of %s start with %q, want %q", i+1, name, got, want)
					}
				}
			}
		})
	}
}

// digestOf is the version of an agent whose file has this text.
func digestOf(t *testing.T, name, text string) string {
	t.Helper()
	d, err := agentfile.Parse(name+".yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return d.Digest()
}

// A version that a run is pinned to is there after reloads, and what the new version denies counts
// for the run.
func TestARunKeepsItsVersionAcrossReloads(t *testing.T) {
	r := newDirRig(t, map[string]string{"desk.yaml": asked})
	pin := engine.Pin{Tenant: access.Tenant, Name: "desk", Version: r.version(access.Tenant, "desk")}
	for _, text := range []string{allowed, desk + "  deny: [pay]\n", ""} {
		r.write(map[string]string{"desk.yaml": text})
		r.reload()
		if _, err := r.agents.Load(t.Context(), pin); err != nil {
			t.Fatalf("the run cannot go on beside %q: %v", text, err)
		}
	}
}

// failing is a store that cannot store, from some time on.
type failing struct {
	Definitions
	left int // writes that succeed; -1: all
}

func (f *failing) write() error {
	if f.left == 0 {
		return engine.ErrNoRoom
	}
	f.left--
	return nil
}

func (f *failing) PutDefinition(ctx context.Context, d engine.Definition) error {
	if err := f.write(); err != nil {
		return err
	}
	return f.Definitions.PutDefinition(ctx, d)
}

func (f *failing) Deploy(ctx context.Context, tenant, name, digest string) error {
	if err := f.write(); err != nil {
		return err
	}
	return f.Definitions.Deploy(ctx, tenant, name, digest)
}

func (f *failing) Undeploy(ctx context.Context, tenant, name string) error {
	if err := f.write(); err != nil {
		return err
	}
	return f.Definitions.Undeploy(ctx, tenant, name)
}

// Wherever a Reload fails, the next one brings all tenants to what the files say then: those of the
// change, or the ones before it.
func TestAReloadThatFailedIsFinishedByTheNext(t *testing.T) {
	everywhere := saying("one") + "tenants: ['*']\n"
	changed := saying("two") + "tenants: ['*']\n"
	for _, then := range []map[string]string{nil, {"desk.yaml": everywhere, "gone.yaml": everywhere, "new.yaml": ""}} {
		for left := range 10 {
			r := newDirRig(t, map[string]string{"desk.yaml": everywhere, "gone.yaml": everywhere})
			disk := &failing{Definitions: r.stored, left: -1}
			r.restart(disk)
			disk.left = left
			r.write(map[string]string{"desk.yaml": changed, "gone.yaml": "", "new.yaml": everywhere})
			_, err := r.agents.Reload(t.Context(), r.files(), access.Tenant, "acme")
			if !errors.Is(err, engine.ErrNoRoom) {
				t.Fatalf("with %d writes: %v", left, err)
			}
			disk.left = -1
			want := []string{"desk reloaded", "gone removed without a version", "new added"}
			if r.write(then); then != nil {
				want = nil
			}
			if diff := cmp.Diff(want, r.reload()); diff != "" {
				t.Errorf("with %d writes, the next tells (-want +got):\n%s", left, diff)
			}
			for _, tenant := range []string{access.Tenant, "acme"} {
				for name, text := range map[string]string{"desk": changed, "gone": "", "new": everywhere} {
					if then != nil {
						text = then[name+".yaml"]
					}
					want := ""
					if text != "" {
						want = digestOf(t, name, text)
					}
					if got := r.version(tenant, name); got != want {
						t.Errorf("with %d writes, %s of %s is %q, want %q", left, name, tenant, got, want)
					}
				}
			}
		}
	}
}

// A start on a full disk leaves out what it could not store, until a Reload can.
func TestAReloadStoresWhatTheStartCouldNot(t *testing.T) {
	r := newDirRig(t, map[string]string{"desk.yaml": saying("one") + "tenants: ['*']\n"})
	disk := &failing{Definitions: r.stored}
	text := saying("two") + "tenants: ['*']\n"
	r.write(map[string]string{"desk.yaml": text})
	r.restart(disk)
	if got := r.version(access.Tenant, "desk"); got != "-" || !r.agents.Unstored() {
		t.Fatalf("after a start on a full disk, new runs start with %q", got)
	}
	changes, err := r.agents.Reload(t.Context(), r.files(), access.Tenant, "acme")
	if !errors.Is(err, engine.ErrNoRoom) || !r.agents.Unstored() || changes != nil || r.version(access.Tenant, "desk") != "-" {
		t.Fatalf("on a disk that is full still: %v, %v", changes, err)
	}
	disk.left = -1
	for i := range 2 {
		r.reload()
		for _, tenant := range []string{access.Tenant, "acme"} {
			if got, want := r.version(tenant, "desk"), digestOf(t, "desk", text); got != want || r.agents.Unstored() {
				t.Errorf("reload %d: new runs of %s start with %q, want %q", i+1, tenant, got, want)
			}
		}
	}
}

// A tenant whose first token comes after a Reload gets what is in use then, and not what the start
// read or what has a mistake.
func TestATenantThatJoinsGetsWhatIsInUse(t *testing.T) {
	r := newDirRig(t, map[string]string{"desk.yaml": saying("one") + "tenants: ['*']\n", "shop.yaml": saying("one") + "tenants: ['*']\n"})
	r.write(map[string]string{"desk.yaml": saying("two") + "tenants: ['*']\n", "shop.yaml": mistaken})
	r.reload()
	if err := r.agents.Join(t.Context(), "late"); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"desk": saying("two"), "shop": saying("one")} {
		if got, want := r.version("late", name), digestOf(t, name, text+"tenants: ['*']\n"); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestATenantThatJoinsDuringAReloadGetsWhatIsInUseAfterIt(t *testing.T) {
	r := newDirRig(t, map[string]string{"desk.yaml": saying("one") + "tenants: ['*']\n"})
	for i := range 50 {
		text := fmt.Sprintf("%stenants: ['*']\n", saying(fmt.Sprint("text", i)))
		r.write(map[string]string{"desk.yaml": text})
		files, tenant := r.files(), fmt.Sprint("late", i)
		var both sync.WaitGroup
		both.Go(func() {
			if err := r.agents.Join(t.Context(), tenant); err != nil {
				t.Error(err)
			}
		})
		both.Go(func() {
			if _, err := r.agents.Reload(t.Context(), files); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		if got, want := r.version(tenant, "desk"), digestOf(t, "desk", text); got != want {
			t.Fatalf("%s has %q, want %q", tenant, got, want)
		}
	}
}

// What another server deployed on the same store is left alone where nothing changed here.
func TestAReloadTouchesOnlyWhatChanged(t *testing.T) {
	r := newDirRig(t, map[string]string{"desk.yaml": saying("one"), "shop.yaml": saying("one")})
	other := newDirRig(t, map[string]string{"desk.yaml": saying("other"), "own.yaml": saying("other")})
	other.agents = NewAgents(r.stored, other.agents.Program)
	// joins the tenant
	if _, err := other.agents.Reload(t.Context(), other.files(), access.Tenant); err != nil {
		t.Fatal(err)
	}
	theirs, _ := other.agents.Newest(t.Context(), access.Tenant, "desk")
	r.write(map[string]string{"shop.yaml": saying("two")})
	r.reload()
	if got := r.version(access.Tenant, "desk"); got != theirs || got == "" {
		t.Errorf("desk is %q, the other server deployed %q", got, theirs)
	}
	if got := r.version(access.Tenant, "own"); got == "" {
		t.Error("the other server's agent was taken away")
	}
}

// refusing is a store that can't store the agents of one tenant.
type refusing struct {
	Definitions
	tenant string
}

func (s *refusing) PutDefinition(ctx context.Context, d engine.Definition) error {
	if d.Tenant == s.tenant {
		return engine.ErrUnavailable
	}
	return s.Definitions.PutDefinition(ctx, d)
}

func TestATenantWhoseAgentsCannotBeStoredKeepsNoOtherOnAnOlderVersion(t *testing.T) {
	r := newDirRig(t, map[string]string{"desk.yaml": saying("one") + "tenants: ['*']\n"})
	bad := &refusing{Definitions: r.stored}
	r.restart(bad)
	before := r.version("acme", "desk")
	// by name, the one that fails comes first
	bad.tenant = min(access.Tenant, "acme")
	good := max(access.Tenant, "acme")
	r.write(map[string]string{"desk.yaml": saying("two") + "tenants: ['*']\n"})
	_, err := r.agents.Reload(t.Context(), r.files())
	if !errors.Is(err, engine.ErrUnavailable) || !strings.Contains(err.Error(), bad.tenant) {
		t.Errorf("got %v", err)
	}
	if now := r.version(good, "desk"); now == before {
		t.Error("the other tenant has the version from before")
	}
	bad.tenant = ""
	if got := r.reload(); len(got) != 1 || r.version("acme", "desk") == before {
		t.Errorf("after the store works again: %v", got)
	}
}
