// Package rollout is a small Deployment controller.
//
// run.go starts it, controller.go decides which ReplicaSet has which size, replicasets.go creates and resizes them,
// status.go reports. It neither adopts nor releases ReplicaSets, and knows no rollback by annotation.
package rollout

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Run runs the controller until the context is done. It serves no metrics: several run side by side on one machine, so
// no fixed port is taken.
func Run(ctx context.Context, config *rest.Config, options ctrl.Options) error {
	options.Metrics = metrics.Options{BindAddress: "0"}
	manager, err := ctrl.NewManager(config, options)
	if err != nil {
		return err
	}
	//lint:ignore SA1019 as upstream: Events of core/v1 have a count
	r := &Reconciler{Client: manager.GetClient(), Events: manager.GetEventRecorderFor("deployment-controller")}
	if err := r.SetupWithManager(manager); err != nil {
		return err
	}
	return manager.Start(ctx)
}

// SetupWithManager adds the controller to a manager.
func (r *Reconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).
		For(&appsv1.Deployment{}).
		Owns(&appsv1.ReplicaSet{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.deploymentOfPod)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 5}).
		Complete(r)
}

// deploymentOfPod finds whose rollout a pod may hold up: strategy Recreate waits for the last old pod.
func (r *Reconciler) deploymentOfPod(ctx context.Context, pod client.Object) []reconcile.Request {
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != "ReplicaSet" {
		return nil
	}
	var set appsv1.ReplicaSet
	if err := r.Client.Get(ctx, types.NamespacedName{Namespace: pod.GetNamespace(), Name: owner.Name}, &set); err != nil {
		return nil
	}
	if owner = metav1.GetControllerOf(&set); owner == nil || owner.Kind != "Deployment" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: owner.Name}}}
}
