//go:debug default=go1.25
//go:debug randseednop=0

// xing's kubernetes-deployment-restart-controller in virtual time.
//
// The program runs the project's controller package as it is, with only its network and its clock replaced. What it
// leaves out is the project's main function: the metrics server, whose port is fixed, and the signals. It speaks the
// turn protocol on its standard input.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/xing/kubernetes-deployment-restart-controller/src/controller"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"lockstep/virtual"
	"lockstep/virtual/standalone"
)

// version is the project's own, set by scripts/reference-controllers.
var version string

func main() {
	_ = flag.Set("logtostderr", "true") // glog's flags are there in any case
	_ = flag.Set("v", "1")
	standalone.Program{
		Name:        "kubernetes-deployment-restart-controller",
		Version:     version,
		Controllers: []string{"config-restart"},
		Run:         run,
	}.Main()
}

// settings are the project's flags, with its defaults.
type settings struct {
	check, grace int
	ignored      []string
}

func read(words []string) (settings, error) {
	s := settings{check: 500, grace: 5}
	flags := flag.NewFlagSet("xing", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&s.check, "restart-check-period", s.check, "milliseconds")
	flags.IntVar(&s.grace, "restart-grace-period", s.grace, "seconds")
	flags.Func("ignored-errors", "a part of an error", func(text string) error {
		s.ignored = append(s.ignored, text)
		return nil
	})
	return s, flags.Parse(words)
}

// run runs the controller until the context is done. A case ends it as a crash does: its network is gone by then.
func run(ctx context.Context, start virtual.Start) error {
	virtual.FreshErrorLimit(utilruntime.ErrorHandlers)
	s, err := read(start.Flags)
	if err != nil {
		return err
	}
	c := controller.NewDeploymentConfigController(time.Duration(s.check)*time.Millisecond, time.Duration(s.grace)*time.Second, s.ignored)
	ended := make(chan error, 1)
	go func() { ended <- c.Run() }()
	select {
	case err := <-ended:
		return fmt.Errorf("the controller terminated: %w", err)
	case <-ctx.Done():
	}
	select {
	case c.Stop <- struct{}{}:
	case <-ended:
	}
	return nil
}
