//go:build since_1_36

package main

import (
	"context"
	"strconv"
	"sync"
	_ "unsafe" // for go:linkname

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"lockstep/virtual"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/configz"
	"k8s.io/component-base/featuregate"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // as upstream's main does
	_ "k8s.io/component-base/metrics/prometheus/version"  // as upstream's main does
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
)

func gitVersion() string { return version.Get().GitVersion }

// informerNames remembers each name of informers for good; a case is a program's whole life and starts without.
//
//go:linkname informerNames k8s.io/client-go/tools/cache.informerNameRegistry
var informerNames struct {
	sync.Mutex
	names map[string]*cache.InformerName
}

func forget() {
	informerNames.Lock()
	clear(informerNames.names)
	informerNames.Unlock()
	configz.Delete(app.ConfigzName)
	freshErrorLimit()
}

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
	for _, f := range s.Flags(app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases()).FlagSets {
		set.AddFlagSet(f)
	}
	if err := set.Parse(flags(start)); err != nil {
		return err
	}
	registered.Do(func() { err = s.ComponentGlobalsRegistry.Set() })
	if err != nil {
		return err
	}
	restclient.SetDefaultWarningHandler(restclient.NoWarnings{})
	log(start.Verbosity)
	s.Master = "http://" + program + ".invalid"
	c, err := s.Config(ctx, app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases())
	if err != nil {
		return err
	}
	c.Kubeconfig.Transport = network
	if c.Client, err = kubernetes.NewForConfig(restclient.AddUserAgent(c.Kubeconfig, options.KubeControllerManagerUserAgent)); err != nil {
		return err
	}
	return app.Run(ctx, c.Complete())
}

var registered sync.Once

func log(verbosity *int) {
	if verbosity == nil {
		klog.SetLogger(logr.Discard())
		return
	}
	klog.ClearLogger()
	var level klog.Level
	_ = level.Set(strconv.Itoa(*verbosity))
}

func enabled(gate mutableGate, name string) (on, known bool) {
	g := gate.(featuregate.MutableFeatureGate)
	_, known = g.GetAll()[featuregate.Feature(name)]
	return known && g.Enabled(featuregate.Feature(name)), known
}
