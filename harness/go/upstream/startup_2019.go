//go:build !since_1_16

package main

import (
	"context"
	"flag"
	"io"
	"net/http"
	"strconv"

	"github.com/spf13/pflag"
	"lockstep/virtual"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/component-base/featuregate"
	"k8s.io/klog"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/version"
)

func gitVersion() string { return version.Get().GitVersion }

// run does what upstream's Run does without leader election and without a serving port. It cannot call it: Run never
// returns, so no case would end. The parts that it is made of are upstream's.
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
	set := pflag.NewFlagSet(program, pflag.ContinueOnError)
	set.SetOutput(io.Discard) // for each case: a flag is deprecated
	for _, f := range s.Flags(app.KnownControllers(), app.ControllersDisabledByDefault.List()).FlagSets {
		set.AddFlagSet(f)
	}
	if err := set.Parse(flags(start)); err != nil {
		return err
	}
	if err := setLog(start.Verbosity); err != nil {
		return err
	}
	s.Master = "http://" + program + ".invalid"
	config, err := s.Config(app.KnownControllers(), app.ControllersDisabledByDefault.List())
	if err != nil {
		return err
	}
	config.Kubeconfig.Transport = network
	config.Client, err = kubernetes.NewForConfig(restclient.AddUserAgent(config.Kubeconfig, options.KubeControllerManagerUserAgent))
	if err != nil {
		return err
	}
	clients := controller.SimpleControllerClientBuilder{ClientConfig: config.Kubeconfig}
	c, err := app.CreateControllerContext(config.Complete(), clients, clients, ctx.Done())
	if err != nil {
		return err
	}
	// The token controller needs a private key and is skipped without one, as here.
	noTokens := func(app.ControllerContext) (http.Handler, bool, error) { return nil, false, nil }
	if err := app.StartControllers(c, noTokens, app.NewControllerInitializers(c.LoopMode), nil); err != nil {
		return err
	}
	c.InformerFactory.Start(c.Stop)
	c.GenericInformerFactory.Start(c.Stop)
	close(c.InformersStarted)
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
