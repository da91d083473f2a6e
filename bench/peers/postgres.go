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

// needsPostgres is a command that fails if Postgres isn't installed.
const needsPostgres = `command -v initdb || ls /usr/lib/postgresql/*/bin/initdb || { echo "install the package postgresql"; exit 1; }`

// nobody is the user of Postgres, which refuses to work for root.
const nobody = 65534

// startPostgres serves a new database with the settings that it comes with, and returns the address
// of the server.
func startPostgres(ctx context.Context, w *world) (string, error) {
	addr := freeAddr()
	_, port, _ := net.SplitHostPort(addr)
	dir := filepath.Join(w.dir, "postgres")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	var user *syscall.Credential
	if os.Getuid() == 0 {
		user = &syscall.Credential{Uid: nobody, Gid: nobody}
		if err := os.Chown(dir, nobody, nobody); err != nil {
			return "", err
		}
	}
	initdb, err := postgres("initdb")
	if err != nil {
		return "", err
	}
	cmd := exec.Command(initdb, "-D", dir, "-U", "bench", "-A", "trust", "-E", "UTF8", "--no-locale")
	cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Credential: user}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("initdb: %w: %s", err, out)
	}
	server, err := postgres("postgres")
	if err != nil {
		return "", err
	}
	if err := w.spawn(user, nil, server, "-D", dir, "-h", "127.0.0.1", "-p", port, "-k", ""); err != nil {
		return "", err
	}
	ready, err := postgres("pg_isready")
	if err != nil {
		return "", err
	}
	return addr, until(ctx, func() error {
		return exec.CommandContext(ctx, ready, "-q", "-h", "127.0.0.1", "-p", port).Run()
	})
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
