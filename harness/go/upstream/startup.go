package main

import (
	"context"
	"io"

	"github.com/spf13/pflag"
	"lockstep/virtual"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
)

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
	return control(ctx, c)
}

func parse(s *options.KubeControllerManagerOptions, flags []string) error {
	set := pflag.NewFlagSet(program, pflag.ContinueOnError)
	set.SetOutput(io.Discard) // for each case: a flag is deprecated in some versions
	for _, f := range flagSets(s) {
		set.AddFlagSet(f)
	}
	return set.Parse(flags)
}
