// Command deployment-controller is a small Deployment controller: controller-runtime's manager with its default client,
// which speaks protobuf for built-in kinds. Nothing in it knows of the harness that judges it.
//
//	go build -o deployment-controller .
//	lockstep run cases/rolling --subject "command:./deployment-controller"
//
// Package rollout is the controller. The module in virtual plays the same package in virtual time.
package main

import (
	"os"

	"lockstep/subjects/deployment/rollout"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

func main() {
	ctrl.SetLogger(zap.New())
	config, err := ctrl.GetConfig() // $KUBECONFIG, a pod's service account, or ~/.kube/config
	if err == nil {
		err = rollout.Run(ctrl.SetupSignalHandler(), config, ctrl.Options{})
	}
	if err != nil {
		ctrl.Log.Error(err, "the controller ended")
		os.Exit(1)
	}
}
