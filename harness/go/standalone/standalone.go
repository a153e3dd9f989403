// Package standalone is what programs that run one project's controllers in virtual time have in common: the flags
// that lockstep asks them with, the turn protocol on standard input, and one bubble a case.
package standalone

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"

	"lockstep/virtual"
	"lockstep/virtual/bubble"
)

// Program is one project's controllers.
type Program struct {
	// Name is what the project's own program is called, and Version what it says of itself.
	Name, Version string
	// Controllers are those that a case can ask for.
	Controllers []string
	// Run runs them until the context is done. Clients that are made meanwhile, from a kubeconfig whose server is plain
	// HTTP, use [http.DefaultTransport], which is the network of the case.
	Run func(ctx context.Context, start virtual.Start) error
}

// Main reads the command line, serves the protocol and exits.
func (p Program) Main() {
	version := flag.Bool("version", false, "print the version of the project")
	protocol := flag.Bool("protocol", false, "print the version of the turn protocol")
	flag.Parse()
	switch {
	case *version:
		fmt.Println(p.Name, p.Version)
		return
	case *protocol:
		fmt.Println(virtual.Protocol)
		return
	}
	os.Args = []string{p.Name}
	if err := p.serve(); err != nil {
		fmt.Fprintf(os.Stderr, "%s-virtual: %v\n", p.Name, err)
		os.Exit(1)
	}
}

func (p Program) serve() error {
	info, err := os.Stdin.Stat()
	if err != nil || info.Mode()&os.ModeSocket == 0 {
		return errors.New("standard input must be a Unix stream socket that speaks the turn protocol")
	}
	conn := virtual.NewConn(os.Stdin)
	if err := bubble.Check(); err != nil {
		return errors.Join(err, conn.Send(virtual.Frame{Failed: &virtual.Failed{Message: err.Error()}}))
	}
	return virtual.Program{
		Hello:  virtual.Hello{Program: p.Name, Version: p.Version, Controllers: p.Controllers},
		Bubble: bubble.Run,
		Next:   bubble.Next,
		Run: func(ctx context.Context, start virtual.Start, network *virtual.Network) error {
			http.DefaultTransport = network
			return p.Run(ctx, start)
		},
	}.Serve(conn)
}
