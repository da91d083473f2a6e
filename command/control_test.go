package command_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/client"
	"github.com/dormouse-dev/dormouse/command"
	"github.com/dormouse-dev/dormouse/internal/api/wire"
)

func TestTheControlOfTheProgramReachesTheServer(t *testing.T) {
	agents := t.TempDir()
	if err := os.WriteFile(filepath.Join(agents, "desk.yaml"), []byte("model: {provider: scripted, turns: [{say: Done.}]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	about := make(chan dormouse.RunRef, 1)
	p := dormouse.Program{Control: dormouse.RunControl{IsCancelled: func(_ context.Context, run dormouse.RunRef) (bool, error) {
		select {
		case about <- run:
		default:
		}
		return true, nil
	}}}
	url := served(t, p, agents)
	api := client.New(url, client.WithRetries(0))
	run, err := api.StartRun(t.Context(), wire.StartRequest{Agent: "desk", Input: json.RawMessage(`"hi"`)}, "")
	if err != nil {
		t.Fatal(err)
	}
	for run.Status != "done" {
		if run, err = api.PollRun(t.Context(), run.ID, 10*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if got := <-about; *run.Reason != "cancelled" || got.ID != run.ID || got.Agent != "desk" {
		t.Errorf("asked about %+v; the run is %+v", got, run)
	}
}

// served is where the program's server listens, until the test is over.
func served(t *testing.T, p dormouse.Program, agents string) (url string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	out, in := io.Pipe()
	ended := make(chan int, 1)
	var wrong strings.Builder
	go func() {
		ended <- command.Run(ctx, p, []string{"dev", "--json", "--addr", "127.0.0.1:0", "--data", t.TempDir(), "--agents", agents}, strings.NewReader(""), in, &wrong)
		in.Close()
	}()
	t.Cleanup(func() {
		stop()
		go io.Copy(io.Discard, out)
		if code := <-ended; code != 0 {
			t.Errorf("exit code %d: %s", code, &wrong)
		}
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var said struct {
		URL string `json:"url"`
	}
	if err != nil || json.Unmarshal(line, &said) != nil || said.URL == "" {
		t.Fatalf("the server said %s, %v", line, err)
	}
	return said.URL
}
