package agents

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/tool/toolimport"
)

// longestDocument is the maximum size of an OpenAPI document.
const longestDocument = 20 << 20

func (a *app) toolsOpenAPICommand() *cobra.Command {
	var o toolimport.OpenAPIOptions
	cmd := &cobra.Command{
		Use:   "openapi FILE",
		Short: "Generate HTTP tools from an OpenAPI document",
		Long: `Print the operations of an OpenAPI document (3.0 or 3.1, JSON or YAML) as HTTP tools of an
agent file. Parameters and body properties become arguments. A security scheme becomes a
header or query parameter with {secret:NAME}, which the server that runs the agent
replaces with a value from its environment. Only references within the document are
resolved; nothing is fetched.

Operations that an agent file can't express are skipped and reported on stderr with the
reason. The exit code is 1 only if there is no tool to print.`,
		Example: `  dormouse tools openapi orders.yaml > part.yaml
  dormouse tools openapi orders.json --only listOrders,getOrder --server https://eu.orders.example.com/v2`,
		Args: cmdline.Takes(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := readAtMost(args[0], longestDocument)
			if err != nil {
				return err
			}
			f, err := toolimport.OpenAPI(text, o)
			if err != nil {
				return cmdline.Usagef("%s: %v", args[0], err)
			}
			f.Head = []string{"From " + args[0] + ". Remove the tools that the agent must not call."}
			return a.printFragment(f)
		},
	}
	cmd.Flags().StringSliceVar(&o.Only, "only", nil, "comma-separated `IDS` of the operations to print (default: all)")
	cmd.Flags().StringVar(&o.Server, "server", "", "base `URL` of the service (default: the first server in the document)")
	return cmd
}

// readAtMost reads a file up to a maximum size, because the named file may be the wrong one.
func readAtMost(name string, most int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, cmdline.Usagef("%v", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err != nil {
		return nil, cmdline.Usagef("%v", err)
	}
	if int64(len(text)) > most {
		return nil, cmdline.Usagef("%s is larger than the maximum of %s", name, fmt.Sprintf("%d MiB", most>>20))
	}
	return text, nil
}
