package main

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// container starts programs in an unpacked image, as a container engine does: with its files as the
// root, its user and its environment. A test that isn't root starts them where they lie.
type container struct {
	root   string
	config v1.Config
	addr   string // in place of the image's, whose port may be taken
}

func (c container) command(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(c.root, c.config.Entrypoint[0]), args...)
	cmd.Dir, cmd.Env = filepath.Join(c.root, c.config.WorkingDir), append(slices.Clone(c.config.Env), env...)
	if os.Geteuid() == 0 {
		cmd.Path, cmd.Dir = c.config.Entrypoint[0], c.config.WorkingDir
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: c.root, Credential: &syscall.Credential{Uid: user, Gid: user}}
	} else {
		t.Log("not root: the program is started outside of its root")
	}
	return cmd
}

// start runs the image's default command, and returns the environment that it tells callers to set.
func (c container) start(t *testing.T) (server *exec.Cmd, env []string) {
	t.Helper()
	server = c.command(t, nil, append(slices.Clone(c.config.Cmd[:len(c.config.Cmd)-1]), c.addr)...)
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	server.Stderr = &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = server.Process.Kill(), server.Wait() })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if m := regexp.MustCompile(`export (DORMOUSE_\w+=\S+)`).FindStringSubmatch(lines.Text()); m != nil {
			env = append(env, m[1])
		}
		if strings.HasPrefix(lines.Text(), "Edit ") {
			return server, append(env, "DORMOUSE_URL=http://"+c.addr)
		}
	}
	t.Fatalf("the server ended: %s", log.String())
	return nil, nil
}

// exec runs another command in the container, as docker exec does.
func (c container) exec(t *testing.T, env []string, args ...string) string {
	t.Helper()
	out, err := c.command(t, env, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("dormouse %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestARunIsApprovedInTheUnpackedImageAcrossAKill(t *testing.T) {
	image, config := pull(t, built(t))
	root, _ := unpack(t, image)
	free, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	free.Close()
	c := container{root, config.Config, "0.0.0.0:" + port}

	server, env := c.start(t)
	if !strings.HasPrefix(env[0], "DORMOUSE_TOKEN=dmt_") {
		t.Fatalf("callers are told %q; want a token", env)
	}
	id := regexp.MustCompile(`run_[a-z0-9]+_\d+`).FindString(c.exec(t, env, "run", "refunds", "Refund order A-2", "--wait"))
	if out, err := c.command(t, env[1:], "approvals").CombinedOutput(); err == nil {
		t.Errorf("without a token: %s", out)
	}
	_, _ = server.Process.Kill(), server.Wait()

	_, again := c.start(t)
	if again[0] != env[0] {
		t.Error("the token is another after a restart")
	}
	if out := c.exec(t, env, "approvals"); !strings.Contains(out, id) {
		t.Fatalf("the run %s doesn't wait after the kill:\n%s", id, out)
	}
	c.exec(t, env, "decide", id, "--approve")
	if out := c.exec(t, env, "watch", id); !strings.Contains(out, "done  natural_end") {
		t.Errorf("the run didn't end:\n%s", out)
	}
}
