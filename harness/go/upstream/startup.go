//go:build since_1_16

package main

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"lockstep/virtual"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
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

// run is what upstream's command does between its flags and its end, with the network replaced.
func run(ctx context.Context, start virtual.Start, network *virtual.Network) error {
	forget()
	restore, err := gates(utilfeature.DefaultMutableFeatureGate, start.Gates)
	if err != nil {
		return err
	}
	defer restore()
	s, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		return err
	}
	if err := parse(s, flags(start)); err != nil {
		return err
	}
	restclient.SetDefaultWarningHandler(restclient.NoWarnings{})
	if err := setLog(start.Verbosity); err != nil {
		return err
	}
	s.Master = "http://" + program + ".invalid"
	c, err := configure(ctx, s)
	if err != nil {
		return err
	}
	c.Kubeconfig.Transport = network
	c.Client, err = kubernetes.NewForConfig(restclient.AddUserAgent(c.Kubeconfig, options.KubeControllerManagerUserAgent))
	if err != nil {
		return err
	}
	return app.Run(ctx, c.Complete())
}

func parse(s *options.KubeControllerManagerOptions, flags []string) error {
	set := pflag.NewFlagSet(program, pflag.ContinueOnError)
	set.SetOutput(io.Discard) // for each case: a flag is deprecated in some versions
	sets := s.Flags(app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases())
	for _, f := range sets.FlagSets {
		set.AddFlagSet(f)
	}
	return set.Parse(flags)
}

// configure calls the options' Config, which takes a context in newer versions.
func configure(ctx context.Context, s *options.KubeControllerManagerOptions) (*config.Config, error) {
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
