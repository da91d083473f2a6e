//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

var dbos = peer{name: "dbos", title: "DBOS Python", version: pinned("requirements.txt", "dbos=="),
	install: [][]string{
		{"python3 -m venv venv && venv/bin/python -m pip install -q -r requirements.txt"},
		{`command -v initdb || ls /usr/lib/postgresql/*/bin/initdb || { echo "install the package postgresql"; exit 1; }`}},
	start: startDBOS}

// nobody is the user of Postgres, which refuses to work for root.
const nobody = 65534

func startDBOS(ctx context.Context, w *world) (caller, error) {
	database, program := freeAddr(), freeAddr()
	_, databasePort, _ := net.SplitHostPort(database)
	_, programPort, _ := net.SplitHostPort(program)
	if err := startPostgres(w, databasePort); err != nil {
		return nil, err
	}
	if err := alivePort(ctx, database); err != nil {
		return nil, err
	}
	env := []string{"PORT=" + programPort, "DATABASE_URL=postgresql://dbos@" + database + "/bench"}
	if err := w.spawn(nil, env, filepath.Join(w.home, "venv/bin/python"), filepath.Join(w.home, "main.py")); err != nil {
		return nil, err
	}
	return plainCaller{"http://" + program, false}, alive(ctx, "http://"+program)
}

// startPostgres serves a new database with the settings that it comes with.
func startPostgres(w *world, port string) error {
	dir := filepath.Join(w.dir, "postgres")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	var user *syscall.Credential
	if os.Getuid() == 0 {
		user = &syscall.Credential{Uid: nobody, Gid: nobody}
		if err := os.Chown(dir, nobody, nobody); err != nil {
			return err
		}
	}
	initdb, err := postgres("initdb")
	if err != nil {
		return err
	}
	cmd := exec.Command(initdb, "-D", dir, "-U", "dbos", "-A", "trust", "-E", "UTF8", "--no-locale")
	cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Credential: user}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	server, err := postgres("postgres")
	if err != nil {
		return err
	}
	return w.spawn(user, nil, server, "-D", dir, "-h", "127.0.0.1", "-p", port, "-k", "")
}

// postgres finds a program of Postgres where Debian puts it.
func postgres(name string) (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if path, err := exec.LookPath(name); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		return "", errors.New("postgres is not installed")
	}
	return found[0], nil
}

func alivePort(ctx context.Context, addr string) error {
	return until(ctx, func() error {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
		}
		return err
	})
}
