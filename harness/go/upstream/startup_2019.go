//go:build !since_1_16

package main

import (
	"context"
	"flag"
	"io"
	"net/http"
	"strconv"

	"github.com/spf13/pflag"

	"k8s.io/component-base/featuregate"
	"k8s.io/klog"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/config"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/version"
)

func gitVersion() string { return version.Get().GitVersion }

func flagSets(s *options.KubeControllerManagerOptions) map[string]*pflag.FlagSet {
	return s.Flags(app.KnownControllers(), app.ControllersDisabledByDefault.List()).FlagSets
}

func configure(_ context.Context, s *options.KubeControllerManagerOptions) (*config.Config, error) {
	return s.Config(app.KnownControllers(), app.ControllersDisabledByDefault.List())
}

// control does what upstream's Run does without leader election and without a serving port. It cannot call it: Run never
// returns, so no case would end. The parts that it is made of are upstream's.
func control(ctx context.Context, c *config.Config) error {
	clients := controller.SimpleControllerClientBuilder{ClientConfig: c.Kubeconfig}
	all, err := app.CreateControllerContext(c.Complete(), clients, clients, ctx.Done())
	if err != nil {
		return err
	}
	// The token controller needs a private key and is skipped without one, as here.
	noTokens := func(app.ControllerContext) (http.Handler, bool, error) { return nil, false, nil }
	if err := app.StartControllers(all, noTokens, app.NewControllerInitializers(all.LoopMode), nil); err != nil {
		return err
	}
	all.InformerFactory.Start(all.Stop)
	all.GenericInformerFactory.Start(all.Stop)
	close(all.InformersStarted)
	<-ctx.Done()
	return nil
}

var klogFlags = func() *flag.FlagSet {
	set := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(set)
	return set
}()

// setLog sends upstream's log to standard error, or nowhere.
func setLog(verbosity *int) error {
	values := map[string]string{"logtostderr": "true", "v": "0"}
	if verbosity == nil {
		klog.SetOutput(io.Discard)
		values["logtostderr"], values["stderrthreshold"] = "false", "FATAL"
	} else {
		values["v"] = strconv.Itoa(*verbosity)
	}
	for name, value := range values {
		if err := klogFlags.Set(name, value); err != nil {
			return err
		}
	}
	return nil
}

func enabled(gate mutableGate, name string) (on, known bool) {
	g := gate.(featuregate.MutableFeatureGate)
	for _, feature := range g.KnownFeatures() {
		known = known || len(feature) > len(name) && feature[:len(name)+1] == name+"="
	}
	return known && g.Enabled(featuregate.Feature(name)), known
}
