//go:build noaws

package awscli

import (
	"errors"
	"testing"
	"time"

	"github.com/dormouse-dev/dormouse/internal/agent"
)

func TestEveryUseOfAWSSaysThatItWasLeftOut(t *testing.T) {
	account := NewAccount(nil, nil)
	_, noModel := account.Bedrock(agent.Definition{})
	_, noTool := account.Lambda(agent.Definition{}, agent.Tool{})
	_, noSigner := NewSigner(t.Context(), "eu-central-1", time.Now)
	_, noTable := OpenTable(t.Context(), "dormouse-prod", "eu-central-1")
	for use, err := range map[string]error{"model": noModel, "tool": noTool, "signer": noSigner, "table": noTable} {
		if p, ok := errors.AsType[*Problem](err); !ok || p.Kind != "no_aws" {
			t.Errorf("%s: got %v", use, err)
		}
	}
}
