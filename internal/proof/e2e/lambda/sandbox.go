package lambda

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// sandbox is one process and its own runtime API.
type sandbox struct {
	pool  *pool
	cmd   *exec.Cmd
	api   *http.Server
	gone  chan struct{}    // closed once the process has ended
	next  chan *invocation // taken by the process that asks for work
	ready chan struct{}    // one entry each time the process asks
	dying atomic.Bool      // a signal that ends it is on its way

	mu  sync.Mutex
	now *invocation // that the process works on
}

func startSandbox(p *pool) (*sandbox, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &sandbox{pool: p, gone: make(chan struct{}), next: make(chan *invocation), ready: make(chan struct{}, 1)}
	b.api = &http.Server{Handler: b.routes(), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = b.api.Serve(l) }() // ends when it is closed
	b.cmd = exec.Command(p.f.Binary)
	b.cmd.Dir = filepath.Dir(p.f.Binary)
	b.cmd.Stdout, b.cmd.Stderr = p.log, p.log
	b.cmd.Env = b.environment(l.Addr().String())
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := b.cmd.Start(); err != nil {
		_ = b.api.Close()
		return nil, fmt.Errorf("starting %s: %w", p.f.Name, err)
	}
	go func() {
		_ = b.cmd.Wait() // that it was killed is no news
		close(b.gone)
		_ = b.api.Close()
	}()
	return b, nil
}

// environment is what the template says and what Lambda sets, and nothing of this process's own.
func (b *sandbox) environment(api string) []string {
	f, region := b.pool.f, b.pool.service.o.Region
	env := map[string]string{"TZ": ":UTC", "LANG": "en_US.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin"}
	for name, value := range map[string]string{
		"AWS_REGION": region, "AWS_DEFAULT_REGION": region, "AWS_LAMBDA_RUNTIME_API": api, "_HANDLER": "bootstrap",
		"AWS_LAMBDA_FUNCTION_NAME": f.Name, "AWS_LAMBDA_FUNCTION_VERSION": "1", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": strconv.Itoa(f.Memory),
		"AWS_LAMBDA_LOG_GROUP_NAME": "/aws/lambda/" + f.Name, "AWS_LAMBDA_LOG_STREAM_NAME": "local", "AWS_LAMBDA_LOG_FORMAT": "JSON",
		"AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand", "AWS_EXECUTION_ENV": "AWS_Lambda_provided.al2023", "LAMBDA_TASK_ROOT": filepath.Dir(f.Binary),
	} {
		env[name] = value
	}
	for name, value := range f.Environment {
		env[name] = value
	}
	var out []string
	for name, value := range env {
		out = append(out, name+"="+value)
	}
	return out
}

// lives says whether the process can be given work: it runs and was not killed.
func (b *sandbox) lives() bool {
	select {
	case <-b.gone:
		return false
	default:
		return !b.dying.Load()
	}
}

// kill ends the process with nothing in between. From here on it lives no more, although it is gone
// only a moment later: a process that answers and is killed must not be free again in that moment.
func (b *sandbox) kill() {
	b.dying.Store(true)
	if err := b.cmd.Process.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		b.pool.service.o.Logger.Error("cannot kill", "function", b.pool.f.Name, "error", err)
	}
}

// run gives the invocation to the process and returns once that is over: answered and asked for
// more, or dead.
func (b *sandbox) run(inv *invocation) {
	defer inv.end(&Error{Type: "Runtime.ExitError", Message: "RequestId: " + inv.id + " Error: Runtime exited"})
	select {
	case <-b.ready:
	case <-b.gone:
		b.pool.service.counts.failed.Add(1)
		return
	case <-time.After(initLimit):
		b.pool.service.counts.timeouts.Add(1)
		b.kill()
		<-b.gone
		return
	}
	inv.deadline = time.Now().Add(b.pool.f.Timeout)
	timeout := time.NewTimer(b.pool.f.Timeout)
	defer timeout.Stop()
	var death <-chan time.Time
	if after, dies := b.pool.service.kills.fate(b.pool.f.Name); dies {
		timer := time.NewTimer(after)
		defer timer.Stop()
		death = timer.C
	}
	give := b.next
	for {
		select {
		case give <- inv:
			give = nil
		case <-inv.over:
			return
		case <-b.gone:
			b.pool.service.counts.failed.Add(1)
			return
		case <-death:
			b.pool.service.counts.killed.Add(1)
			b.kill()
			<-b.gone
			inv.end(&Error{Type: "Runtime.ExitError", Message: "RequestId: " + inv.id + " Error: Runtime exited with error: signal: killed"})
			return
		case <-timeout.C:
			b.pool.service.counts.timeouts.Add(1)
			b.kill()
			<-b.gone
			inv.end(&Error{Type: "Sandbox.Timedout", Message: fmt.Sprintf("RequestId: %s Error: Task timed out after %.2f seconds", inv.id, b.pool.f.Timeout.Seconds())})
			return
		}
	}
}

// initLimit is how long a process may take until it asks for its first invocation.
const initLimit = 10 * time.Second
