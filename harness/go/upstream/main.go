//go:debug default=go1.25
//go:debug randseednop=0

// Upstream's kube-controller-manager in virtual time.
//
// This program runs the start-up code of upstream's kube-controller-manager as it is, with only its network replaced:
// the requests go through package virtual to whoever started the program, and time is the bubble's. Client limits,
// worker counts, resync periods, clients' names and the order of start are upstream's own for that reason; the flags
// are those that Lockstep gives to the real program. It speaks the turn protocol on its standard input.
//
// One source builds against each upstream minor. What differs is in the files with a build constraint: the script sets
// the tag since_1_N for each N up to the minor that it builds.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"lockstep/virtual"
	"lockstep/virtual/bubble"
)

// program is what the real one is called; its clients' User-Agents begin with it.
const program = "kube-controller-manager"

func main() {
	version := flag.Bool("version", false, "print the version of Kubernetes")
	protocol := flag.Bool("protocol", false, "print the version of the turn protocol")
	flag.Parse()
	switch {
	case *version:
		fmt.Println("Kubernetes", gitVersion())
		return
	case *protocol:
		fmt.Println(virtual.Protocol)
		return
	}
	os.Args = []string{program}
	if err := serve(); err != nil {
		fmt.Fprintf(os.Stderr, "%s-virtual: %v\n", program, err)
		os.Exit(1)
	}
}

func serve() error {
	info, err := os.Stdin.Stat()
	if err != nil || info.Mode()&os.ModeSocket == 0 {
		return errors.New("standard input must be a Unix stream socket that speaks the turn protocol")
	}
	conn := virtual.NewConn(os.Stdin)
	if err := bubble.Check(); err != nil {
		return errors.Join(err, conn.Send(virtual.Frame{Failed: &virtual.Failed{Message: err.Error()}}))
	}
	reportPanics(func(message string) {
		_ = conn.Send(virtual.Frame{Failed: &virtual.Failed{Message: message}}) // the panic goes on in any case
	})
	return virtual.Program{
		Hello: virtual.Hello{
			Program:     program,
			Version:     gitVersion(),
			Controllers: []string{"deployment", "replicaset", "garbagecollector"},
		},
		Bubble: bubble.Run,
		Next:   bubble.Next,
		Run:    run,
	}.Serve(conn)
}
