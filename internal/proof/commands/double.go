package commands

import (
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/dormouse-dev/dormouse/internal/cli/cmdline"
	"github.com/dormouse-dev/dormouse/internal/proof/awsdouble"
)

func (a *app) doubleCommand() *cobra.Command {
	addr := ""
	cmd := &cobra.Command{
		Use:   "double",
		Short: "Serve DynamoDB and SQS from memory",
		Long: `Serve the parts of DynamoDB and SQS that Dormouse uses, from memory, until SIGINT (Ctrl-C)
or SIGTERM. It counts units as DynamoDB bills them, and accepts any credentials.`,
		Example: `  dormouse-proof double --addr 127.0.0.1:8000`,
		Args:    cmdline.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			listener, err := net.Listen("tcp", addr)
			if err != nil {
				return err
			}
			server := &http.Server{Handler: awsdouble.New(awsdouble.Options{}), ReadHeaderTimeout: 10 * time.Second}
			go func() {
				<-cmd.Context().Done()
				_ = server.Close()
			}()
			url := "http://" + listener.Addr().String()
			if a.JSON {
				err = a.PrintJSON(map[string]string{"url": url})
			} else {
				err = a.Printf("serving DynamoDB and SQS at %s; Ctrl-C stops\n", url)
			}
			if served := server.Serve(listener); err == nil && served != http.ErrServerClosed {
				err = served
			}
			return err
		},
	}
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:8000", "listen on this `HOST:PORT`; port 0 picks a free port")
	return cmd
}
