//go:debug default=go1.25
//go:debug randseednop=0

// Stakater's Reloader in virtual time.
//
// The program runs the project's controllers as they are, with only their network and their clock replaced. What it
// leaves out is what the project's start-up does beside them: ports, leader election, and the ConfigMap that describes
// the installation. It is compiled inside a copy of the project, whose packages are internal, and speaks the turn
// protocol on its standard input.
package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/parnurzeal/gorequest"
	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"github.com/stakater/Reloader/internal/pkg/controller"
	"github.com/stakater/Reloader/internal/pkg/metrics"
	"github.com/stakater/Reloader/internal/pkg/options"
	"github.com/stakater/Reloader/internal/pkg/util"
	"github.com/stakater/Reloader/pkg/common"
	"github.com/stakater/Reloader/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"lockstep/virtual"
	"lockstep/virtual/standalone"
)

// version is the project's own, set by scripts/reference-controllers.
var version string

// Package variables of the project that outlive a bubble.
var (
	//go:linkname secretsReady github.com/stakater/Reloader/internal/pkg/controller.secretControllerInitialized
	secretsReady atomic.Bool
	//go:linkname configMapsReady github.com/stakater/Reloader/internal/pkg/controller.configmapControllerInitialized
	configMapsReady atomic.Bool
	//go:linkname pauseTimers github.com/stakater/Reloader/internal/pkg/handler.activeTimers
	pauseTimers map[string]*time.Timer
)

func main() {
	// Messages to webhooks then go by http.DefaultTransport, the network of the case.
	gorequest.DisableTransportSwap = true
	standalone.Program{
		Name:        "reloader",
		Version:     version,
		Controllers: []string{"config-restart"},
		Run:         run,
	}.Main()
}

// configure sets the project's flags for one case: those that are not named get the project's defaults.
func configure(words []string) error {
	for _, list := range []*[]string{
		&options.ResourcesToIgnore, &options.WorkloadTypesToIgnore, &options.Namespaces,
		&options.NamespacesToIgnore, &options.NamespaceSelectors, &options.ResourceSelectors,
	} {
		*list = []string{} // the default of these is what they hold
	}
	command := &cobra.Command{}
	util.ConfigureReloaderFlags(command)
	// What the project reads of its environment, which is this process's for all its cases.
	for _, name := range []string{"ALERT_ON_RELOAD", "ALERT_SINK", "ALERT_WEBHOOK_URL"} {
		os.Unsetenv(name)
	}
	variables := command.PersistentFlags().StringArray("lockstep-environment", nil, "variables of the environment, NAME=VALUE")
	if err := command.ParseFlags(words); err != nil {
		return err
	}
	for _, variable := range *variables {
		name, value, _ := strings.Cut(variable, "=")
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	common.GetCommandLineOptions()
	level, err := logrus.ParseLevel(options.LogLevel)
	if err != nil {
		return err
	}
	logrus.SetLevel(level)
	return nil
}

// run runs the controllers until the context is done.
func run(ctx context.Context, start virtual.Start) error {
	virtual.FreshErrorLimit(utilruntime.ErrorHandlers)
	secretsReady.Store(false)
	configMapsReady.Store(false)
	clear(pauseTimers)
	if err := configure(start.Flags); err != nil {
		return err
	}
	client, err := kube.GetKubernetesClient()
	if err != nil {
		return err
	}
	ignored, err := util.GetIgnoredResourcesList()
	if err != nil {
		return err
	}
	namespaces, err := common.GetNamespaceLabelSelector(options.NamespaceSelectors)
	if err != nil {
		return err
	}
	resources, err := common.GetResourceLabelSelector(options.ResourceSelectors)
	if err != nil {
		return err
	}
	collectors := metrics.NewCollectors()
	stop := make(chan struct{})
	defer close(stop)
	for _, resource := range slices.Sorted(maps.Keys(kube.ResourceMap)) {
		switch {
		case ignored.Contains(resource), resource == "namespaces" && namespaces == "":
			continue
		case resource != "namespaces" && resource != "configmaps" && resource != "secrets":
			continue // secrets of a CSI driver, which is off by default
		}
		one, err := controller.NewController(client, resource, metav1.NamespaceAll, options.NamespacesToIgnore, namespaces, resources, collectors)
		if err != nil {
			return err
		}
		go one.Run(1, stop)
	}
	<-ctx.Done()
	return errors.New("the case is over")
}
