package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// build compiles a program as the template has it built.
func build(ctx context.Context, pkg, out string) (string, error) {
	binary := filepath.Join(out, filepath.Base(pkg), "bootstrap")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags", "lambda.norpc", "-ldflags", "-s -w", "-o", binary, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", pkg, err, said)
	}
	return binary, nil
}

// process is one instance of a function, with a runtime API of its own.
type process struct {
	cmd     *exec.Cmd
	server  *http.Server
	events  chan []byte
	answers chan answer
	log     bytes.Buffer
	began   time.Time
	asked   time.Time
}

// answer is what the function said to an invocation, and when.
type answer struct {
	body string
	at   time.Time
	fail bool
}

// launch starts a function; its first event is there before it asks.
func launch(ctx context.Context, binary string, env map[string]string, first []byte) (*process, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &process{events: make(chan []byte, 1), answers: make(chan answer, 1)}
	p.events <- first
	p.server = &http.Server{Handler: p.routes(), ReadHeaderTimeout: time.Minute}
	go func() { _ = p.server.Serve(listener) }()
	p.cmd = exec.CommandContext(ctx, binary)
	p.cmd.Env = []string{"AWS_LAMBDA_RUNTIME_API=" + listener.Addr().String()}
	for name, value := range env {
		p.cmd.Env = append(p.cmd.Env, name+"="+value)
	}
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	p.began = time.Now()
	return p, p.cmd.Start()
}

func (p *process) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", func(w http.ResponseWriter, r *http.Request) {
		if p.asked.IsZero() {
			p.asked = time.Now()
		}
		select {
		case event := <-p.events:
			w.Header().Set("Lambda-Runtime-Aws-Request-Id", "8476a536-e9f4-11e8-9739-2dfe598c3fcd")
			w.Header().Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(time.Now().Add(5*time.Minute).UnixMilli()))
			w.Header().Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:eu-central-1:123456789012:function:step")
			_, _ = w.Write(event)
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("POST /2020-01-01/extension/register", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Lambda-Extension-Identifier", "1")
	})
	mux.HandleFunc("GET /2020-01-01/extension/event/next", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/{how}", func(w http.ResponseWriter, r *http.Request) {
		at := time.Now()
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
		p.answers <- answer{string(body), at, r.PathValue("how") != "response"}
	})
	return mux
}

// wait returns when the invocation was answered.
func (p *process) wait(ctx context.Context) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	select {
	case a := <-p.answers:
		if a.fail || !strings.Contains(a.body, `"batchItemFailures":[]`) {
			return a.at, fmt.Errorf("the function answered %s", a.body)
		}
		return a.at, nil
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	}
}

// usage is what the operating system counted of a process.
type usage struct {
	cpu    time.Duration
	faults int64
	peak   int64 // bytes of resident memory
}

var peakLine = regexp.MustCompile(`(?m)^VmHWM:\s+([0-9]+) kB$`)

// peak is the most memory that the process had. What is counted of a process that has ended
// includes its parent's, of the moment between fork and exec.
func (p *process) peak() int64 {
	// there is none if it has ended
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	found := peakLine.FindSubmatch(status)
	if found == nil {
		return 0
	}
	kib, _ := strconv.ParseInt(string(found[1]), 10, 64)
	return kib << 10
}

// end kills the process.
func (p *process) end() usage {
	u := usage{peak: p.peak()}
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // it was killed
	_ = p.server.Close()
	u.cpu = p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
	if r, ok := p.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		u.faults = r.Minflt
	}
	return u
}
