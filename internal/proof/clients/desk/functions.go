package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/dormouse-dev/dormouse/internal/proof/clients/functions"
)

// serveFunctions serves the agents of a directory as the functions of a stack do: the API and the
// streams have addresses of their own. A request without a token is let in as one of an admin. It
// prints the address of the API, and ends at a signal.
func serveFunctions(root, agents string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, err := functions.Start(ctx, functions.Options{Root: root, Program: program(), Agents: agents, Open: true, Out: os.Stderr})
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Printf("{\"url\":%q}\n", s.API)
	<-ctx.Done()
	return nil
}
