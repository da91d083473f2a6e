package lambda

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

var (
	buildOnce sync.Once
	binary    string
	buildErr  error
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "dormouse-lambda-")
	if err != nil {
		panic(err)
	}
	echoDir = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

var echoDir string

// echo is the function of testdata, built once.
func echo(t *testing.T) string {
	t.Helper()
	buildOnce.Do(func() {
		module := filepath.Join("..", "..", "..", "..")
		binary, buildErr = Build(t.Context(), module, "internal/proof/e2e/lambda/testdata/echo", echoDir)
	})
	if buildErr != nil {
		t.Fatal(buildErr)
	}
	return binary
}

func service(t *testing.T, timeout time.Duration, concurrency int) *Service {
	t.Helper()
	s := New(Options{Logs: t.TempDir(), Region: "us-east-1", Seed: 7})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Add(Function{Name: "echo", ARN: "arn:aws:lambda:us-east-1:1:function:echo", Binary: echo(t), Timeout: timeout, Memory: 128,
		Concurrency: concurrency, Environment: map[string]string{"TABLE": "t"}}); err != nil {
		t.Fatal(err)
	}
	return s
}

type said struct {
	Calls, PID           int
	Seconds              float64
	ID, ARN, Table, Home string
}

func call(t *testing.T, s *Service, event string) (said, error) {
	t.Helper()
	reply, err := s.Invoke(t.Context(), "echo", []byte(event))
	if err != nil {
		return said{}, err
	}
	var answer said
	if err := json.NewDecoder(reply.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return answer, nil
}

// rested waits until so many processes are free: one is only once it has asked for more, a moment
// after its answer.
func rested(t *testing.T, s *Service, n int) {
	t.Helper()
	p := s.functions["echo"]
	deadline := time.Now().Add(10 * time.Second)
	for {
		p.mu.Lock()
		free := len(p.free)
		p.mu.Unlock()
		if free == n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d processes are free, not %d", free, n)
		}
		time.Sleep(time.Millisecond)
	}
}

func must(t *testing.T, s *Service, event string) said {
	t.Helper()
	answer, err := call(t, s, event)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestAProcessIsUsedAgainAndKnowsItsDeadline(t *testing.T) {
	s := service(t, 20*time.Second, 0)
	first := must(t, s, `{}`)
	rested(t, s, 1)
	second := must(t, s, `{}`)
	if first.PID != second.PID || second.Calls != 2 || first.ID == second.ID {
		t.Errorf("%+v, then %+v", first, second)
	}
	if first.Seconds > 20 || first.Seconds < 10 || first.ARN != "arn:aws:lambda:us-east-1:1:function:echo" || first.Table != "t" || first.Home != "" {
		t.Errorf("the function was told %+v", first)
	}
	if c := s.Counts(); c.Invocations != 2 || c.ColdStarts != 1 {
		t.Errorf("%+v", c)
	}
}

func TestSeveralWorkAtOnceUpToTheLimit(t *testing.T) {
	s := service(t, 20*time.Second, 2)
	pids := map[int]bool{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			answer, err := call(t, s, `{}`)
			mu.Lock()
			defer mu.Unlock()
			pids[answer.PID] = true
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(pids) > 2 || s.Counts().Invocations != 20 {
		t.Errorf("%d processes, %+v", len(pids), s.Counts())
	}
}

func failedWith(t *testing.T, err error, kind string) {
	t.Helper()
	if e, ok := errors.AsType[*Error](err); !ok || e.Type != kind {
		t.Errorf("the error is %v and should be %s", err, kind)
	}
}

func TestAnErrorOfTheFunctionIsAnErrorAndTheProcessLives(t *testing.T) {
	s := service(t, 20*time.Second, 0)
	before := must(t, s, `{}`)
	rested(t, s, 1)
	_, err := call(t, s, `{"Do":"fail"}`)
	failedWith(t, err, "errorString")
	rested(t, s, 1)
	if after := must(t, s, `{}`); after.PID != before.PID {
		t.Error("another process answers")
	}
}

func TestAProcessThatDiesFailsItsInvocationAlone(t *testing.T) {
	s := service(t, 20*time.Second, 0)
	before := must(t, s, `{}`)
	rested(t, s, 1)
	_, err := call(t, s, `{"Do":"die"}`)
	failedWith(t, err, "Runtime.ExitError")
	if after := must(t, s, `{}`); after.PID == before.PID || after.Calls != 1 {
		t.Errorf("%+v answers after %+v", after, before)
	}
}

func TestATimeoutKills(t *testing.T) {
	s := service(t, 300*time.Millisecond, 0)
	_, err := call(t, s, `{"Do":"hang"}`)
	failedWith(t, err, "Sandbox.Timedout")
	if c := s.Counts(); c.Timeouts != 1 || c.Kills != 0 {
		t.Errorf("%+v", c)
	}
}

func TestAKillInTheMiddleIsCounted(t *testing.T) {
	s := service(t, 20*time.Second, 0)
	s.KillAtRandom(1, time.Millisecond, "echo")
	_, err := call(t, s, `{"Do":"hang"}`)
	failedWith(t, err, "Runtime.ExitError")
	s.KillAtRandom(0, 0)
	must(t, s, `{}`)
	rested(t, s, 1)
	if s.Kill("echo") != 1 {
		t.Error("the idle process was not there to be killed")
	}
	if c := s.Counts(); c.Kills != 2 || c.ColdStarts != 2 {
		t.Errorf("%+v", c)
	}
}

func TestAStreamComesWithItsPrelude(t *testing.T) {
	s := service(t, 20*time.Second, 0)
	reply, err := s.Invoke(t.Context(), "echo", []byte(`{"Do":"stream"}`))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(reply.Body)
	if want := `{"statusCode":200}` + "\x00\x00\x00\x00\x00\x00\x00\x00one two"; err != nil || !reply.Streams || string(body) != want {
		t.Errorf("streams %v: %q, %v", reply.Streams, body, err)
	}
	must(t, s, `{}`)
}

func TestABatchResponseIsReadAsLambdaReadsIt(t *testing.T) {
	for body, want := range map[string]int{"": 0, "null": 0, "{}": 0, `{"batchItemFailures":[]}`: 0, `{"batchItemFailures":[{"itemIdentifier":"a"}]}`: 1} {
		if failed, err := itemFailures([]byte(body)); err != nil || len(failed) != want {
			t.Errorf("%q: %v, %v", body, failed, err)
		}
	}
	for _, body := range []string{`{"batchItemFailures":[{"itemIdentifier":""}]}`, `{"batchItemFailures":[{}]}`, `"text"`, `{`} {
		if failed, err := itemFailures([]byte(body)); err == nil {
			t.Errorf("%q is success with %v, and is a failure of all", body, failed)
		}
	}
}
