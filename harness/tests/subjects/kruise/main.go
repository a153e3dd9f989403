// Command deployment-controller is the advanced Deployment controller of OpenKruise Rollouts, alone: without its
// other controllers, its webhooks and its custom resources. kruise.yaml describes the Deployments that it acts on.
//
//	scripts/subjects --build kruise
package main

import (
	"context"
	"log"

	"github.com/openkruise/rollouts/pkg/controller/deployment"
	clientutil "github.com/openkruise/rollouts/pkg/util/client"
	utilfeature "github.com/openkruise/rollouts/pkg/util/feature"
	"github.com/openkruise/rollouts/pkg/webhook/util/configuration"
	admission "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	ctrl.SetLogger(klog.Background())
	config := ctrl.GetConfigOrDie() // $KUBECONFIG, a pod's service account, or ~/.kube/config
	config.UserAgent = "kruise-rollouts"
	if err := run(config); err != nil {
		log.Fatal(err)
	}
}

func run(config *rest.Config) error {
	ctx := ctrl.SetupSignalHandler()
	if err := installConfiguration(ctx, config); err != nil {
		return err
	}
	if err := clientutil.NewRegistry(config); err != nil {
		return err
	}
	if err := utilfeature.DefaultMutableFeatureGate.Set("AdvancedDeployment=true"); err != nil {
		return err
	}
	// Several of these programs may run at the same time, so none has a port for metrics.
	manager, err := ctrl.NewManager(config, ctrl.Options{MetricsBindAddress: "0"})
	if err != nil {
		return err
	}
	if err := deployment.Add(manager); err != nil {
		return err
	}
	return manager.Start(ctx)
}

// installConfiguration creates the configuration of OpenKruise's webhook, without a webhook. The controller hands
// every Deployment back to the native one if there is no such configuration.
func installConfiguration(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	object := &admission.MutatingWebhookConfiguration{
		ObjectMeta: meta.ObjectMeta{Name: configuration.MutatingWebhookConfigurationName},
	}
	_, err = client.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(ctx, object, meta.CreateOptions{})
	if errors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
