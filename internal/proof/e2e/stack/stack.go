// Package stack says in Go types what AWS would deploy from the real template: the table, the
// queues, the functions, what calls them. The SAM translator expands the template; package template
// reads and resolves it. The table and the queues are then created from exactly that on servers of
// this machine. Of roles, alarms and dashboards it only checks that every reference in them leads
// somewhere.
package stack

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/dormouse-dev/dormouse/internal/aws/template"
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

// Table is the one table. Attributes holds the type, S or N, of each attribute that is part of a
// key.
type Table struct {
	Name       string
	Attributes map[string]string
	Key        Key
	Indexes    []Index
	TTL        string // the attribute; "" for none
	Given      bool   // it is there already: the template makes none
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
	Name string
	// as AWS would have it; what Create returned stands in its place on a server
	URL        string
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

// Route leads from a method and a path to a function. Method ANY is every method; the path may have
// {name} and, at its end, {name+}.
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
var translator string

// Read reads, translates and resolves the template in file.
func Read(ctx context.Context, file string, o Options) (*Stack, error) {
	cloud, err := Translate(ctx, file, o)
	if err != nil {
		return nil, err
	}
	return Resolve(cloud, o)
}

// Translate returns what AWS makes of the template in file, as JSON: SAM resources are expanded,
// and everything else stays as it is.
func Translate(ctx context.Context, file string, o Options) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	t, err := template.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	cloud, err := translate(ctx, t, o)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("the SAM translator refuses %s:\n%s", file, strings.TrimSpace(string(exit.Stderr)))
	}
	return cloud, err
}

// translate returns what the SAM translator makes of a template.
func translate(ctx context.Context, t template.Template, o Options) ([]byte, error) {
	parameters := o.Parameters
	if parameters == nil {
		parameters = map[string]string{}
	}
	input, err := json.Marshal(map[string]any{"template": t.Get(), "parameters": parameters})
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, o.Python, "-W", "ignore", "-c", translator)
	cmd.Env = append(os.Environ(), "AWS_DEFAULT_REGION="+o.Region)
	cmd.Stdin = bytes.NewReader(input)
	return cmd.Output()
}
