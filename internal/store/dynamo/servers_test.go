package dynamo_test

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dormouse-dev/dormouse/internal/core/notice"
	"github.com/dormouse-dev/dormouse/internal/engine"
	"github.com/dormouse-dev/dormouse/internal/engine/enginetest"
	"github.com/dormouse-dev/dormouse/internal/store/dynamo"
)

// serversVariable names servers that somebody else wrote: addresses, with commas between them.
const serversVariable = "DORMOUSE_TEST_DYNAMODB"

// server is something that speaks DynamoDB's protocol.
type server struct {
	name   string
	counts bool                    // it counts units as DynamoDB does
	client func() *dynamodb.Client // as a function has it
	url    func(*testing.T) string // for other processes
}

// eachServer runs a test on every server there is. One that is not named is said to be left out.
func eachServer(t *testing.T, test func(t *testing.T, s server)) {
	t.Helper()
	t.Run("double", func(t *testing.T) { test(t, onDouble(newDouble(t))) })
	given := os.Getenv(serversVariable)
	if given == "" {
		t.Run("others", func(t *testing.T) {
			t.Skipf("not run: 1 test on a server of another make; name one with %s=http://127.0.0.1:PORT", serversVariable)
		})
	}
	for i, url := range strings.Split(given, ",") {
		if url != "" {
			t.Run(fmt.Sprintf("other %d", i+1), func(t *testing.T) { test(t, at(url)) })
		}
	}
}

// at is the server at an address.
func at(url string) server {
	config := aws.Config{Region: "eu-central-1", BaseEndpoint: &url, Credentials: credentials.NewStaticCredentialsProvider("test", "test", "")}
	return server{name: url, url: func(*testing.T) string { return url },
		client: func() *dynamodb.Client { return dynamodb.NewFromConfig(config, dynamo.Retries()) }}
}

var tables atomic.Int64

// table makes an empty table and returns its name. It is taken away at the end of the test.
func (s server) table(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("dormouse-%d-%d", os.Getpid(), tables.Add(1))
	if _, err := s.client().CreateTable(t.Context(), dynamo.Schema(name)); err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	t.Cleanup(func() {
		if _, err := s.client().DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &name}); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return name
}

// wallClock is the machine's.
type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

func (wallClock) AfterFunc(d time.Duration, f func()) (stop func()) {
	t := time.AfterFunc(d, f)
	return func() { t.Stop() }
}

// standing is a clock that shows one time and whose timers run: a store waits only before a retry.
type standing struct {
	wallClock
	at *enginetest.Clock
}

func (c standing) Now() time.Time { return c.at.Now() }

// restless is a clock that shows one time and on which pauses pass at once.
type restless struct{ *enginetest.Clock }

func (restless) AfterFunc(_ time.Duration, f func()) (stop func()) {
	go f()
	return func() {}
}

// on is a store on a new table.
func (s server) on(t *testing.T, clock engine.Clock) *dynamo.Store {
	t.Helper()
	return s.store(t, s.client(), s.table(t), clock)
}

// bounded is a store on a new table whose delivery lines have a bound.
func (s server) bounded(t *testing.T, b notice.Bound) *dynamo.Store {
	t.Helper()
	return dynamo.New(s.client(), dynamo.Options{Table: s.table(t), Clock: standing{at: enginetest.AtMilli(1000)}, Random: enginetest.NewRandom(t, 1), Bound: b})
}

func (s server) store(t *testing.T, api dynamo.API, table string, clock engine.Clock) *dynamo.Store {
	if clock == nil {
		clock = standing{at: enginetest.AtMilli(1000)}
	}
	return dynamo.New(api, dynamo.Options{Table: table, Clock: clock, Random: enginetest.NewRandom(t, cmp.Or(*seed, 1))})
}
