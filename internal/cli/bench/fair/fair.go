// Package fair measures how long the runs of a tenant take while another tenant floods the server:
// with starts, with decisions, or with waiting runs that are all due. The server is a separate
// process.
package fair

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/dormouse-dev/dormouse/internal/api/access"
	"github.com/dormouse-dev/dormouse/internal/cli/bench/measure"
	"github.com/dormouse-dev/dormouse/internal/cli/bench/served"
)

// Options are what is measured. Rounds, Runs, Hands and Program are required.
type Options struct {
	Starts, Decisions, Due int // of the large tenant, in each round

	Rounds int           // in each, the small tenant is measured alone and beside every flood
	Runs   int           // of the small tenant, at once
	Hands  int           // requests of the large tenant at once
	Model  time.Duration // how long the model takes
	Seed   uint64
	// on the disk to measure; the system's directory for temporary files if empty
	Dir     string
	Program []string // command of the server, without the flags of `dormouse dev`

	// Progress is called now and then with the measurements that are made.
	Progress func(done, of int)
}

// Report is what was measured. Times are in milliseconds.
type Report struct {
	Machine measure.Machine `json:"machine"`
	Seed    uint64          `json:"seed"`
	Rounds  int             `json:"rounds"`
	Runs    int             `json:"runs"`
	ModelMS int64           `json:"model_ms"`
	Cases   []Case          `json:"cases"`
}

// Case is the small tenant beside a flood. The first case has none.
type Case struct {
	Flood string `json:"flood"` // alone, starts, decisions or due
	Size  int    `json:"size"`

	// from the first start until all of the small tenant's runs have ended
	All measure.Range `json:"all_ms"`
	// requests of the large tenant that were answered meanwhile
	Answered measure.Range `json:"answered"`
	// as multiples of the time alone, in the same round
	Growth *measure.Range `json:"growth,omitempty"`
}

// Run measures. Its files are removed again.
func Run(ctx context.Context, o Options) (report Report, err error) {
	dir, err := os.MkdirTemp(o.Dir, "dormouse-fair")
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	m, err := startModel(o.Model)
	if err != nil {
		return report, err
	}
	defer m.close()
	b := &bench{Options: o, model: m, floods: floods(o)}
	times, answered := make([][]float64, len(b.floods)), make([][]float64, len(b.floods))
	for round := range o.Rounds {
		for k := range b.floods {
			i := (k + round) % len(b.floods) // none always comes after the same one
			took, n, err := b.visit(ctx, served.Place{Dir: filepath.Join(dir, fmt.Sprint(round, "-", i))}, b.floods[i])
			if err != nil {
				return report, fmt.Errorf("%s: %w", b.floods[i].name, err)
			}
			times[i], answered[i] = append(times[i], float64(took)/float64(time.Millisecond)), append(answered[i], float64(n))
			if o.Progress != nil {
				o.Progress(round*len(b.floods)+k+1, o.Rounds*len(b.floods))
			}
		}
	}
	return b.report(times, answered), nil
}

// bench is a measurement in progress.
type bench struct {
	Options
	model  *model
	floods []flood
}

func (b *bench) report(times, answered [][]float64) Report {
	r := Report{Machine: measure.ThisMachine(), Seed: b.Seed, Rounds: b.Rounds, Runs: b.Runs, ModelMS: b.Model.Milliseconds()}
	for i, f := range b.floods {
		c := Case{Flood: f.name, Size: f.size, All: measure.RangeOf(times[i]), Answered: measure.RangeOf(answered[i])}
		if i > 0 {
			var growth []float64
			for round, took := range times[i] {
				growth = append(growth, took/times[0][round])
			}
			more := measure.RangeOf(growth)
			c.Growth = &more
		}
		r.Cases = append(r.Cases, c)
	}
	return r
}

// tenant is one of the two; its token is that of an administrator.
type tenant struct{ name, token string }

var (
	large = tenant{"large", access.NewToken([access.TokenBytes]byte{1})}
	small = tenant{"small", access.NewToken([access.TokenBytes]byte{2})}
)

func (t tenant) grant() access.Grant {
	return access.Grant{Principal: access.Principal{Name: t.name, Tenant: t.name, Roles: []access.Role{access.Admin}}, Hash: access.HashOf(t.token)}
}
