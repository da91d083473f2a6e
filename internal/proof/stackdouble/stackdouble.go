// Package stackdouble is a server for tests that speaks the protocols by which a deployed stack is
// examined: CloudFormation, Lambda, CloudWatch, SNS and Bedrock. DynamoDB and SQS are those of
// package awsdouble. It knows only the operations that read a stack, and the stack's /healthz.
package stackdouble

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
)

// Account is what the services answer.
type Account struct {
	Now     time.Time // in the header Date
	Denied  map[string]bool
	Expired bool // signatures are refused, because of the clock

	Stack      string
	Status     string
	Parameters map[string]string
	Outputs    map[string]string
	Resources  []Resource

	Concurrency, Unreserved int
	Functions               map[string]Function
	Mappings                map[string]Mapping
	Alarms                  map[string]Alarm
	Oldest                  map[string]float64 // seconds, by queue
	Topics                  map[string]Topic
	Models                  map[string]Model
	Profiles                map[string][]string // ARNs of models
	Health                  string              // the answer of /healthz
}

// Resource is one of the stack.
type Resource struct{ ID, Type, Name string }

// Function is a function with or without the alias live.
type Function struct {
	Reserved int // 0 is none
	Stopped  bool
	Newest   Version
	Live     *Version
	Number   string // of the version of live
}

// Version is one of a function.
type Version struct {
	Code        string
	Environment map[string]string
}

// Mapping is an event source mapping.
type Mapping struct {
	State  string
	AtMost int
}

// Alarm is one of CloudWatch.
type Alarm struct {
	State string
	Since time.Time
	Topic string
}

// Topic is one of SNS.
type Topic struct{ Confirmed, Pending string }

// Model is one of Bedrock.
type Model struct{ Authorized, Entitled, InRegion, Agreed bool }

// Double is a server of one account.
type Double struct {
	data *awsdouble.Double

	mu      sync.Mutex
	account Account
	unknown []string
	asked   []string // models that were asked for an answer
}

// New returns a double with these tables and queues.
func New(account Account, data *awsdouble.Double) *Double {
	return &Double{account: account, data: data}
}

// Change changes what the services answer.
func (d *Double) Change(by func(*Account)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	by(&d.account)
}

// Unknown lists what was asked for that no operation here answers.
func (d *Double) Unknown() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append(d.data.Unknown(), d.unknown...)
}

// Asked lists the models that were asked for an answer.
func (d *Double) Asked() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string(nil), d.asked...)
}

// ServeHTTP answers one request of any service.
func (d *Double) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	w.Header().Set("Date", d.account.Now.UTC().Format(http.TimeFormat))
	if target := r.Header.Get("X-Amz-Target"); target != "" {
		denied := d.account.Denied[dataAction(target)]
		d.mu.Unlock()
		if denied {
			refuseJSON(w, "AccessDeniedException")
			return
		}
		d.data.ServeHTTP(w, r)
		return
	}
	defer d.mu.Unlock()
	switch {
	case r.URL.Path == "/healthz":
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(d.account.Health))
	case r.Header.Get("Smithy-Protocol") == "rpc-v2-cbor":
		d.cloudWatch(w, r)
	case strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded"):
		d.query(w, r)
	default:
		d.rest(w, r)
	}
}

// dataAction is the permission for an operation of DynamoDB or SQS.
func dataAction(target string) string {
	service, operation, _ := strings.Cut(target, ".")
	if service == "AmazonSQS" {
		return "sqs:" + operation
	}
	return "dynamodb:" + operation
}

func refuseJSON(w http.ResponseWriter, code string) {
	w.Header().Set("X-Amzn-ErrorType", code)
	w.Header().Set("Content-Type", "application/json")
	status := http.StatusBadRequest
	switch code {
	case "ResourceNotFoundException":
		status = http.StatusNotFound
	case "AccessDeniedException":
		status = http.StatusForbidden
	}
	w.WriteHeader(status)
	writeJSON(w, map[string]any{"__type": code, "message": code})
}

func writeJSON(w http.ResponseWriter, v any) {
	_ = json.NewEncoder(w).Encode(v) // a client that has gone
}
