//go:build noaws

package awscli

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/dormouse-dev/dormouse/internal/agent"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/program"
	"github.com/dormouse-dev/dormouse/internal/secret"
)

// errLeftOut is the answer to every use of AWS in a program that was built without it.
var errLeftOut = &Problem{Kind: "no_aws", What: "this program was built without AWS (-tags noaws); use one that was built with it"}

// LeftOut is that answer, for packages that use AWS beside this one.
func LeftOut() error { return errLeftOut }

// Account refuses the models and tools that need AWS.
type Account struct{}

// NewAccount ignores its arguments.
func NewAccount(*slog.Logger, func() secret.Values) *Account { return &Account{} }

// Bedrock returns a [Problem].
func (*Account) Bedrock(agent.Definition) (engine.Model, error) { return nil, errLeftOut }

// Lambda returns a [Problem].
func (*Account) Lambda(agent.Definition, agent.Tool) (engine.Tool, error) { return nil, errLeftOut }

// Signer cannot be made.
type Signer struct{}

// NewSigner returns a [Problem].
func NewSigner(context.Context, string, func() time.Time) (*Signer, error) { return nil, errLeftOut }

// Region is empty.
func (*Signer) Region() string { return "" }

// Sign returns a [Problem].
func (*Signer) Sign(context.Context, *http.Request, string) error { return errLeftOut }

// Table cannot be opened.
type Table struct {
	program.Definitions
	Hooks
}

// OpenTable returns a [Problem].
func OpenTable(context.Context, string, string) (*Table, error) { return nil, errLeftOut }

// Explain returns err.
func (*Table) Explain(err error, _ string) error { return err }

// Region is empty.
func (*Table) Region() string { return "" }
