// Command eino is an agent as a graph of Eino, behind a small HTTP server. Eino stores a graph only
// when it interrupts it, so this program interrupts it after each node and resumes it at once.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
)

var words = strings.Fields("lamp chair parcel table invoice shelf cushion label rug box mirror clock blanket mug set receipt bag drawer handle frame")

func result(order int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Order %d:", order)
	for x := uint32(order); b.Len() < 2000; {
		x = (x*1103515245 + 12345) & 0x7fffffff
		b.WriteString(" " + words[(x>>16)%20])
	}
	return b.String()[:2000]
}

type conversation = []*schema.Message

func model(_ context.Context, all conversation) (conversation, error) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(map[string]any{"model": "scripted", "messages": all}); err != nil {
		return nil, err
	}
	response, err := http.Post(os.Getenv("MODEL_URL")+"/chat/completions", "application/json", &body)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer struct {
		Choices []struct{ Message *schema.Message }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, err
	}
	return append(all, answer.Choices[0].Message), nil
}

func tool(ctx context.Context, all conversation) (conversation, error) {
	if _, resumed, kept := compose.GetInterruptState[conversation](ctx); resumed {
		all = kept // Eino doesn't store the input of a node that is interrupted
	}
	call := all[len(all)-1].ToolCalls[0]
	if call.Function.Name == "refund" {
		if approved, _, _ := compose.GetResumeContext[bool](ctx); !approved {
			return nil, compose.StatefulInterrupt(ctx, call.ID, all)
		}
	}
	var arguments struct{ Order int }
	if err := json.Unmarshal([]byte(call.Function.Arguments), &arguments); err != nil {
		return nil, err
	}
	return append(all, schema.ToolMessage(result(arguments.Order), call.ID)), nil
}

func next(_ context.Context, all conversation) (string, error) {
	if len(all[len(all)-1].ToolCalls) == 0 {
		return compose.END, nil
	}
	return "tool", nil
}

func build(checkpoints compose.CheckPointStore) (compose.Runnable[conversation, conversation], error) {
	g := compose.NewGraph[conversation, conversation]()
	err := errors.Join(
		g.AddLambdaNode("model", compose.InvokableLambda(model)),
		g.AddLambdaNode("tool", compose.InvokableLambda(tool)),
		g.AddEdge(compose.START, "model"),
		g.AddBranch("model", compose.NewGraphBranch(next, map[string]bool{"tool": true, compose.END: true})),
		g.AddEdge("tool", "model"))
	if err != nil {
		return nil, err
	}
	return g.Compile(context.Background(), compose.WithCheckPointStore(checkpoints), compose.WithInterruptAfterNodes([]string{"model", "tool"}))
}

// files keeps each checkpoint in a file, and flushes the file and its folder.
type files struct{ dir string }

func (f files) Get(_ context.Context, id string) ([]byte, bool, error) {
	data, err := os.ReadFile(filepath.Join(f.dir, id))
	if errors.Is(err, os.ErrNotExist) {
		return nil, false, nil
	}
	return data, err == nil, err
}

func (f files) Set(_ context.Context, id string, data []byte) error {
	path := filepath.Join(f.dir, id)
	file, err := os.Create(path + ".new")
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err := errors.Join(err, file.Sync(), file.Close(), os.Rename(path+".new", path)); err != nil {
		return err
	}
	dir, err := os.Open(f.dir)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// run is a run until it waits or ends.
type run struct {
	settled chan struct{}
	waits   string // id of the interrupt
	err     error
}

type runs struct {
	graph compose.Runnable[conversation, conversation]
	all   sync.Map // by id
}

// resume continues a run, after an interrupt that was approved.
func (r *runs) resume(id, approved string, input conversation) {
	current := &run{settled: make(chan struct{})}
	r.all.Store(id, current)
	go func() {
		defer close(current.settled)
		ctx := context.Background()
		if approved != "" {
			ctx = compose.ResumeWithData(ctx, approved, true)
		}
		for {
			_, err := r.graph.Invoke(ctx, input, compose.WithCheckPointID(id))
			info, interrupted := compose.ExtractInterruptInfo(err)
			if !interrupted {
				if current.err = err; err != nil {
					log.Print(err)
				}
				return
			}
			for _, cause := range info.InterruptContexts {
				if len(info.RerunNodes) > 0 && cause.IsRootCause {
					current.waits = cause.ID
					return
				}
			}
			ctx, input = context.Background(), nil
		}
	}()
}

// settled returns a run once it waits or has ended.
func (r *runs) settled(id string) (*run, error) {
	found, ok := r.all.Load(id)
	if !ok {
		return nil, errors.New("there is no such run")
	}
	current := found.(*run)
	<-current.settled
	return current, current.err
}

func main() {
	graph, err := build(files{os.Getenv("DATA")})
	if err != nil {
		log.Fatal(err)
	}
	r := &runs{graph: graph}
	handle := func(pattern string, f func(id string) error) {
		http.HandleFunc(pattern, func(w http.ResponseWriter, request *http.Request) {
			if err := f(request.PathValue("run")); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		})
	}
	handle("POST /runs/{run}", func(id string) error {
		r.resume(id, "", conversation{schema.UserMessage("Settle the orders of this week.")})
		return nil
	})
	handle("GET /runs/{run}/settled", func(id string) error {
		_, err := r.settled(id)
		return err
	})
	handle("POST /runs/{run}/approve", func(id string) error {
		current, err := r.settled(id)
		if err == nil {
			r.resume(id, current.waits, nil)
		}
		return err
	})
	handle("GET /runs/{run}/done", func(id string) error {
		current, err := r.settled(id)
		if err == nil && current.waits != "" {
			err = errors.New("the run is not done")
		}
		return err
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
