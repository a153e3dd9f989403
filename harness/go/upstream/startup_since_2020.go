//go:build since_1_16

package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"

	restclient "k8s.io/client-go/rest"
	"k8s.io/component-base/configz"
	"k8s.io/component-base/featuregate"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // as upstream's main does
	_ "k8s.io/component-base/metrics/prometheus/version"  // as upstream's main does
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/config"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
)

func gitVersion() string { return version.Get().GitVersion }

// A second registration of a process's configuration is refused.
func init() { forgotten = append(forgotten, func() { configz.Delete(app.ConfigzName) }) }

func flagSets(s *options.KubeControllerManagerOptions) map[string]*pflag.FlagSet {
	return s.Flags(app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases()).FlagSets
}

// configure calls the options' Config, which takes a context in newer versions.
func configure(ctx context.Context, s *options.KubeControllerManagerOptions) (*config.Config, error) {
	restclient.SetDefaultWarningHandler(restclient.NoWarnings{})
	known, disabled, aliases := app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases()
	switch f := any(s.Config).(type) {
	case func(context.Context, []string, []string, map[string]string) (*config.Config, error):
		return f(ctx, known, disabled, aliases)
	case func([]string, []string, map[string]string) (*config.Config, error):
		return f(known, disabled, aliases)
	default:
		return nil, fmt.Errorf("the options of %s are configured in a way that this program does not know: %T", gitVersion(), f)
	}
}

// control runs the controllers until the context is done.
func control(ctx context.Context, c *config.Config) error { return app.Run(ctx, c.Complete()) }

func setLog(verbosity *int) error {
	if verbosity == nil {
		klog.SetLogger(logr.Discard())
		return nil
	}
	klog.ClearLogger()
	var level klog.Level
	return level.Set(strconv.Itoa(*verbosity))
}

func enabled(gate mutableGate, name string) (on, known bool) {
	g := gate.(featuregate.MutableFeatureGate)
	_, known = g.GetAll()[featuregate.Feature(name)]
	return known && g.Enabled(featuregate.Feature(name)), known
}
