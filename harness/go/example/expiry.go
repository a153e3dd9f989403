// Package expiry is a small controller, and an example of a test in virtual time: expiry_test.go runs it for days, in
// milliseconds. Nothing in this file knows of that.
//
// The controller deletes ConfigMaps that are older than their annotation example.com/ttl says.
package expiry

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TTL is the annotation with the time that a ConfigMap lives, such as 36h.
const TTL = "example.com/ttl"

// Reconciler deletes ConfigMaps that have expired.
type Reconciler struct {
	Client client.Client
}

// SetupWithManager adds the controller to a manager.
func (r *Reconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).Named("expiry").For(&corev1.ConfigMap{}).Complete(r)
}

// Reconcile deletes one ConfigMap if its time has come, and comes back when it has.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var config corev1.ConfigMap
	if err := r.Client.Get(ctx, request.NamespacedName, &config); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	text, ok := config.Annotations[TTL]
	if !ok {
		return ctrl.Result{}, nil
	}
	ttl, err := time.ParseDuration(text)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("annotation %s: %w", TTL, err)
	}
	if left := time.Until(config.CreationTimestamp.Add(ttl)); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(r.Client.Delete(ctx, &config))
}
