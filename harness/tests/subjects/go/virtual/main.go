//go:debug randseednop=0

// Command deployment-controller-virtual is the Deployment controller of package rollout in virtual time: the same code
// with the same client, whose network and clock are those of the program that has it as a subject. Only the transport
// is replaced.
//
//	go build -ldflags=-checklinkname=0 -o deployment-controller-virtual .
//	lockstep run cases/rolling --cluster sim --subject virtual:./deployment-controller-virtual
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"lockstep/subjects/deployment/rollout"
	"lockstep/virtual"
	"lockstep/virtual/bubble"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

func main() {
	ctrl.SetLogger(zap.New())
	conn := virtual.NewConn(os.Stdin)
	err := bubble.Check()
	if err != nil {
		err = errors.Join(err, conn.Send(virtual.Frame{Failed: &virtual.Failed{Message: err.Error()}}))
	} else {
		err = virtual.Program{
			Hello: virtual.Hello{
				Program:     "deployment-controller",
				Version:     "v1.0.0",
				Controllers: []string{"deployment"},
			},
			Bubble: bubble.Run,
			Next:   bubble.Next,
			Run:    run,
		}.Serve(conn)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "deployment-controller-virtual:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, _ virtual.Start, network *virtual.Network) error {
	runtime.GOMAXPROCS(1) // fewer orders in which goroutines can run
	virtual.FreshErrorLimit(utilruntime.ErrorHandlers)
	// As GetConfig has it: no limit in the client.
	server := &rest.Config{Host: "http://virtual", Transport: network, QPS: -1}
	// One name in many bubbles.
	return rollout.Run(ctx, server, ctrl.Options{Controller: config.Controller{SkipNameValidation: new(true)}})
}
