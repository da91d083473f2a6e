package lambdaapi

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/dormouse-dev/dormouse"
	"github.com/dormouse-dev/dormouse/internal/aws/awsapi"
	"github.com/dormouse-dev/dormouse/internal/aws/awsenv"
	"github.com/dormouse-dev/dormouse/internal/binding"
	"github.com/dormouse-dev/dormouse/internal/proof/awsapitest"
	"github.com/dormouse-dev/dormouse/internal/tool"
)

type night struct {
	Date string `json:"date" jsonschema:"the date of the night"`
}

var book = dormouse.Func("harbour.book", "Books a berth.", func(context.Context, dormouse.Call, night) (any, error) { return "B4", nil })

// settings are those of a function on a table of its own, to which the agents of testdata are
// deployed.
func settings(t *testing.T, p dormouse.Program) awsenv.Settings {
	t.Helper()
	tools := tool.NewRegistry(nil)
	if err := binding.New(p).Tools(tools, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	env := awsapitest.Environment(t, tools, "testdata/agents")
	s, err := awsenv.Read(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAnAgentIsDescribedByTheToolsOfTheProgram(t *testing.T) {
	p := dormouse.Program{Tools: []dormouse.Tool{book}}
	handler, err := assemble(p, settings(t, p), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/read-agent.json")
	var event events.APIGatewayV2HTTPRequest
	if err == nil {
		err = json.Unmarshal(text, &event)
	}
	if err != nil {
		t.Fatal(err)
	}
	answer, err := handler.(awsapi.Gateway)(t.Context(), event)
	if err != nil || answer.StatusCode != 200 || !strings.Contains(answer.Body, "the date of the night") {
		t.Errorf("%d %s, %v", answer.StatusCode, answer.Body, err)
	}
}

func TestAProgramThatIsWrongDoesNotStart(t *testing.T) {
	s := settings(t, dormouse.Program{Tools: []dormouse.Tool{book}})
	twice := dormouse.Program{Tools: []dormouse.Tool{book, book}}
	if _, err := assemble(twice, s, io.Discard); err == nil || !strings.Contains(err.Error(), "registered twice") {
		t.Errorf("two tools of one name: %v", err)
	}
}

func TestItStreamsWhereItIsToldTo(t *testing.T) {
	p := dormouse.Program{Tools: []dormouse.Tool{book}}
	s := settings(t, p)
	s.Access.Stream = true
	h, err := assemble(p, s, io.Discard)
	if _, streams := h.(awsapi.URL); !streams || err != nil {
		t.Errorf("it is a %T, %v", h, err)
	}
}

// TestNoFunctionLinksWhatALaptopNeeds: what is linked is loaded at every cold start.
func TestNoFunctionLinksWhatALaptopNeeds(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", "lambda.norpc,nethttpomithttp2", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, not := range []string{"internal/store/sqlite", "internal/cli", "internal/local", "internal/model/bedrock",
		"internal/model/openai", "internal/tool/mcptool", "internal/tool/a2atool", "spf13/cobra", "modernc.org/sqlite"} {
		if strings.Contains(string(out), not+"\n") {
			t.Errorf("%s is linked", not)
		}
	}
}
