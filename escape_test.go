package dormouse_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// escapes are the files that may write JSON by json.Marshal, which turns &, < and > into escapes,
// and why no person and no model reads what they write. Everything else uses core.Encode or
// core.EncodeAny, or an encoder that does not escape.
var escapes = map[string]string{
	"internal/queue/sqsqueue/wakeup.go":          "a wake-up is for the step function",
	"internal/core/vote/policy.go":               "a policy is only digested",
	"internal/aws/emf/emf.go":                    "metrics are for CloudWatch",
	"internal/aws/xray/xray.go":                  "traces are for X-Ray",
	"internal/api/lambdahttp/buffered.go":        "the frame of an answer is for API Gateway, and problems hold fixed sentences",
	"internal/tool/mcptool/call.go":              "it is read again at once",
	"examples/refund-desk/refunddesk/ledger.go":  "a file that the example reads again",
	"examples/custom-binary/partsdesk/orders.go": "a file that the example reads again",
}

// proof are folders that only tests and their tools use.
var proof = []string{"internal/proof", "internal/aws/awstest", "internal/engine/enginetest", "internal/api/httpapi/httpapitest", "internal/frontend/frontendtest"}

func TestJSONIsNotEscapedForHTML(t *testing.T) {
	found := map[string]bool{}
	eachFile(t, 0, func(path string, f *ast.File) {
		if slices.ContainsFunc(proof, func(folder string) bool { return strings.HasPrefix(path, folder+"/") }) {
			return
		}
		for _, decl := range f.Decls {
			if call := escaping(decl); call != "" {
				found[path] = true
				if _, allowed := escapes[path]; !allowed {
					t.Errorf("%s calls %s, which writes & as \\u0026; use core.Encode or core.EncodeAny, or say in escapes why no person and no model reads it", path, call)
				}
			}
		}
	})
	for path := range escapes {
		if !found[path] {
			t.Errorf("%s may escape JSON and does not; take it out of escapes", path)
		}
	}
}

// escaping is the call in a declaration that writes JSON with escapes for HTML; empty if there is
// none.
func escaping(decl ast.Decl) (call string) {
	plain := false
	ast.Inspect(decl, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		switch of, _ := s.X.(*ast.Ident); {
		case s.Sel.Name == "SetEscapeHTML":
			plain = true
		case of != nil && of.Name == "json" && slices.Contains([]string{"Marshal", "MarshalIndent", "NewEncoder", "HTMLEscape"}, s.Sel.Name):
			if call != "json.Marshal" {
				call = "json." + s.Sel.Name
			}
		}
		return true
	})
	if call == "json.NewEncoder" && plain {
		return ""
	}
	return call
}
