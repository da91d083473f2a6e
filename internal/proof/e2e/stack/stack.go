// Package stack reads the real template as AWS would: it lets the SAM translator expand it, resolves what CloudFormation resolves, and
// says in Go types what would be deployed: the table, the queues, the functions, what calls them. Then it makes table and queues on servers
// of this machine from exactly that. It does not look at roles, alarms and dashboards, beyond that every reference in them leads somewhere.
package stack

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Stack is what a template says, with all references resolved. Maps go by logical id.
type Stack struct {
	Name      string
	Table     Table
	Queues    map[string]Queue
	Functions map[string]Function
	Mappings  []Mapping
	API       API
	URLs      []FunctionURL
	Schedules []Schedule
}

// Table is the one table. Attributes holds the type, S or N, of each attribute that is part of a key.
type Table struct {
	Name       string
	Attributes map[string]string
	Key        Key
	Indexes    []Index
	TTL        string // the attribute; "" for none
}

// Key names a partition key and, if there is one, a sort key.
type Key struct{ Partition, Sort string }

// Index is a global secondary index.
type Index struct {
	Name       string
	Key        Key
	Projection string
}

// Queue is a queue, its attributes as SQS wants them.
type Queue struct {
	Name       string
	URL        string // as AWS would have it; what Create returned stands in its place on a server
	ARN        string
	Attributes map[string]string
	DeadARN    string // "" for none
}

// Function is a function before it runs.
type Function struct {
	ID          string
	Name        string
	Code        string // the directory it is built from, in the repository
	Environment map[string]string
	Timeout     time.Duration
	Memory      int // MB
}

// Mapping says which queue calls which function, and how.
type Mapping struct {
	ID, Queue, Function string // logical ids
	BatchSize           int
	ReportItemFailures  bool
	MaximumConcurrency  int // 0 is not said
	Enabled             bool
}

// API is the HTTP API. Routes are in the order of their keys.
type API struct {
	ID          string
	Routes      []Route
	Authorizers map[string]Authorizer
	CORS        *CORS
}

// IAM is the authorizer that every API has: the caller's signature.
const IAM = "AWS_IAM"

// Route leads from a method and a path to a function. Method ANY is every method; the path may have {name} and, at its end, {name+}.
type Route struct {
	Method, Path, Function string
	Authorizer             string // its name, or IAM; "" if everybody may come in
	Timeout                time.Duration
}

// Key is how the event names the route.
func (r Route) Key() string {
	if r.Path == "" {
		return "$default"
	}
	return r.Method + " " + r.Path
}

// Authorizer lets callers in by a JWT.
type Authorizer struct {
	Issuer   string
	Audience []string
}

// CORS is what the gateway itself answers to a browser's question.
type CORS struct {
	AllowOrigins, AllowMethods, AllowHeaders, ExposeHeaders []string
	MaxAge                                                  int
	AllowCredentials                                        bool
}

// FunctionURL is the address of one function, without a gateway.
type FunctionURL struct {
	ID, Function string
	URL          string // as AWS would have it
	Stream       bool
	IAM          bool
	CORS         *CORS
}

// Schedule calls a function again and again.
type Schedule struct {
	ID, Function string
	Every        time.Duration
	Input        string // "" is the event that the schedule makes
}

// Options say how to read a template.
type Options struct {
	Name       string // of the stack
	Region     string
	Account    string
	Parameters map[string]string // beside the defaults in the template
	Python     string            // that has the SAM translator
}

//go:embed translate.py
var translator []byte

// Read translates and resolves the template in file.
func Read(ctx context.Context, file string, o Options) (*Stack, error) {
	cloud, err := translate(ctx, file, o)
	if err != nil {
		return nil, err
	}
	return Resolve(cloud, o)
}

func translate(ctx context.Context, file string, o Options) ([]byte, error) {
	dir, err := os.MkdirTemp("", "dormouse-translate-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	script := filepath.Join(dir, "translate.py")
	if err := os.WriteFile(script, translator, 0o600); err != nil {
		return nil, err
	}
	parameters := o.Parameters
	if parameters == nil {
		parameters = map[string]string{}
	}
	raw, err := json.Marshal(parameters)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, o.Python, "-W", "ignore", script, file, string(raw))
	cmd.Env = append(os.Environ(), "AWS_DEFAULT_REGION="+o.Region)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("the SAM translator refuses %s:\n%s", file, strings.TrimSpace(string(exit.Stderr)))
	}
	return out, err
}
