package local

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestAServerWhoseAddressIsInUseCreatesNoStore(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	data := filepath.Join(t.TempDir(), "data")
	_, err = Start(t.Context(), Options{Addr: taken.Addr().String(), Data: data, Agents: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	if !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("the server starts with %v", err)
	}
	if _, err := os.Stat(data); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a data directory: %v", err)
	}
}
