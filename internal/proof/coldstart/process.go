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
	"time"
)

// build compiles a program as the template has it built.
func build(ctx context.Context, pkg, out string) (string, error) {
	binary := filepath.Join(out, filepath.Base(pkg), "bootstrap")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags", "lambda.norpc,nethttpomithttp2", "-ldflags", "-s -w", "-o", binary, pkg)
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
func launch(ctx context.Context, binary string, env map[string]string, first []byte, in share) (*process, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &process{events: make(chan []byte, 1), answers: make(chan answer, 1)}
	p.events <- first
	p.server = &http.Server{Handler: p.routes(), ReadHeaderTimeout: time.Minute}
	go func() { _ = p.server.Serve(listener) }()
	argv := in.command(binary)
	p.cmd = exec.CommandContext(ctx, argv[0], argv[1:]...)
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

// usage is what the operating system has counted of a process.
type usage struct {
	cpu    time.Duration
	faults int64
	peak   int64 // bytes of resident memory
}

// usage is that of the process up to now. What is counted of one that has ended includes its
// parent's memory, of the moment between fork and exec.
func (p *process) usage() usage { return usage{p.cpu(), p.faults(), p.peak()} }

// faults are the page faults that needed no disk.
func (p *process) faults() int64 {
	// there is none if it has ended
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 8 {
		return 0
	}
	n, _ := strconv.ParseInt(fields[7], 10, 64)
	return n
}

var peakLine = regexp.MustCompile(`(?m)^VmHWM:\s+([0-9]+) kB$`)

// peak is the most memory that the process had.
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

// cpu is the time that the process has computed.
func (p *process) cpu() (all time.Duration) {
	// the pattern is fine
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.cmd.Process.Pid))
	for _, task := range tasks {
		stat, _ := os.ReadFile(task) // none: the thread has ended
		ran, _, _ := strings.Cut(string(stat), " ")
		ns, _ := strconv.ParseInt(ran, 10, 64)
		all += time.Duration(ns)
	}
	return all
}

// end kills the process.
func (p *process) end() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // it was killed
	_ = p.server.Close()
}
