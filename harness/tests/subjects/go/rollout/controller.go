package rollout

import (
	"cmp"
	"context"
	"math"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Reconciler brings the ReplicaSets of a Deployment towards its spec.
type Reconciler struct {
	Client client.Client
	Events record.EventRecorder
}

// A rollout is one look at one Deployment and its ReplicaSets.
type rollout struct {
	*Reconciler
	deployment *appsv1.Deployment
	replicas   int32
	current    *appsv1.ReplicaSet   // of the present template; nil before it is created
	old        []*appsv1.ReplicaSet // all others, oldest first
}

// Reconcile decides from what the cache shows. A write that is refused, because the cache was behind, is tried again.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var d appsv1.Deployment
	if err := r.Client.Get(ctx, request.NamespacedName, &d); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := d.DeepCopy()
	o := &rollout{Reconciler: r, deployment: &d, replicas: *d.Spec.Replicas}
	if err := o.find(ctx); err != nil {
		return ctrl.Result{}, err
	}
	judged, err := o.act(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	o.report(judged)
	if !equality.Semantic.DeepEqual(before.Status, d.Status) || before.Annotations[revision] != d.Annotations[revision] {
		return ctrl.Result{}, r.Client.Status().Update(ctx, &d)
	}
	return ctrl.Result{RequeueAfter: o.untilDeadline()}, nil
}

// act does what is next, and says whether the progress is to be judged.
func (o *rollout) act(ctx context.Context) (judged bool, err error) {
	spec := &o.deployment.Spec
	if o.deployment.DeletionTimestamp != nil {
		return false, nil
	}
	o.notePause()
	scaled := slices.ContainsFunc(active(o.all()), func(set *appsv1.ReplicaSet) bool {
		size, ok := count(set, desired)
		return ok && size != o.replicas
	})
	switch {
	case spec.Paused || scaled:
		if err = o.refresh(ctx); err == nil {
			err = o.scale(ctx)
		}
		if err == nil && spec.Paused {
			err = o.cleanUp(ctx)
		}
		return false, err
	case spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
		return true, o.recreate(ctx)
	default:
		return true, o.roll(ctx)
	}
}

// roll adds new pods as far as maxSurge allows, and removes old ones as far as maxUnavailable does.
func (o *rollout) roll(ctx context.Context) error {
	if err := o.refreshOrCreate(ctx); err != nil {
		return err
	}
	size := o.replicas
	if now := *o.current.Spec.Replicas; now < size {
		size = o.newSize(now)
	}
	moved, err := o.resize(ctx, o.current, size)
	if err != nil || moved {
		return err
	}
	if moved, err = o.reduceOld(ctx); err != nil || moved {
		return err
	}
	if o.complete(&o.deployment.Status) {
		return o.cleanUp(ctx)
	}
	return nil
}

// newSize is the size to which the current ReplicaSet may grow at once.
func (o *rollout) newSize(now int32) int32 {
	if o.deployment.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return o.replicas
	}
	room := max(0, o.replicas+o.maxSurge()-wanted(o.all()))
	return now + min(room, o.replicas-now)
}

// reduceOld removes pods that do not run first: that costs no availability.
func (o *rollout) reduceOld(ctx context.Context) (moved bool, err error) {
	sets, least := active(o.old), o.replicas-o.maxUnavailable()
	unready := *o.current.Spec.Replicas - o.current.Status.AvailableReplicas
	budget := wanted(o.all()) - least - unready
	for _, set := range sets {
		unhealthy := *set.Spec.Replicas - set.Status.AvailableReplicas
		if unhealthy < 0 && budget > 0 {
			return moved, nil // its status is behind its last cut
		}
		if cut := min(unhealthy, budget); cut > 0 {
			budget -= cut
			if _, err = o.resize(ctx, set, *set.Spec.Replicas-cut); err != nil {
				return moved, err
			}
			moved = true
		}
	}
	budget = min(budget, available(o.all())-least)
	for _, set := range sets {
		if cut := min(*set.Spec.Replicas, budget); cut > 0 {
			budget -= cut
			if _, err = o.resize(ctx, set, *set.Spec.Replicas-cut); err != nil {
				return moved, err
			}
			moved = true
		}
	}
	return moved, nil
}

// recreate waits for the last old pod before the first new one.
func (o *rollout) recreate(ctx context.Context) error {
	if err := o.refresh(ctx); err != nil {
		return err
	}
	if old := active(o.old); len(old) > 0 {
		for _, set := range old {
			if _, err := o.resize(ctx, set, 0); err != nil {
				return err
			}
		}
		return nil
	}
	if runs, err := o.oldPodsRun(ctx); err != nil || runs {
		return err
	}
	if err := o.refreshOrCreate(ctx); err != nil {
		return err
	}
	if _, err := o.resize(ctx, o.current, o.replicas); err != nil {
		return err
	}
	if o.complete(&o.deployment.Status) {
		return o.cleanUp(ctx)
	}
	return nil
}

func (o *rollout) oldPodsRun(ctx context.Context) (bool, error) {
	var pods corev1.PodList
	if err := o.Client.List(ctx, &pods, client.InNamespace(o.deployment.Namespace)); err != nil {
		return false, err
	}
	return slices.ContainsFunc(o.old, func(set *appsv1.ReplicaSet) bool {
		return set.Status.Replicas > 0 || slices.ContainsFunc(pods.Items, func(pod corev1.Pod) bool {
			ended := pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
			return !ended && metav1.IsControlledBy(&pod, set)
		})
	}), nil
}

// scale brings the sizes to a new number of replicas: of the only active ReplicaSet, or of each in proportion.
func (o *rollout) scale(ctx context.Context) error {
	sets, current := active(o.all()), o.current
	switch {
	case len(sets) == 1:
		return o.resizeTo(ctx, sets[0], o.replicas)
	case len(sets) == 0 && current != nil:
		return o.resizeTo(ctx, current, o.replicas)
	case len(sets) == 0 && len(o.old) > 0:
		return o.resizeTo(ctx, o.old[len(o.old)-1], o.replicas)
	case len(sets) == 0:
		return nil
	}
	if current != nil && *current.Spec.Replicas == o.replicas && current.Status.AvailableReplicas == o.replicas &&
		current.Annotations[desired] == str(o.replicas) {
		for _, set := range active(o.old) {
			if err := o.resizeTo(ctx, set, 0); err != nil {
				return err
			}
		}
		return nil
	}
	if o.deployment.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return nil
	}
	return o.scaleInProportion(ctx, sets)
}

// scaleInProportion begins with the largest; among equals the newest grows first, and the oldest shrinks first.
func (o *rollout) scaleInProportion(ctx context.Context, sets []*appsv1.ReplicaSet) error {
	most := int32(0)
	if o.replicas > 0 {
		most = o.replicas + o.maxSurge()
	}
	left := most - wanted(sets)
	grows := left > 0
	slices.SortStableFunc(sets, func(a, b *appsv1.ReplicaSet) int {
		if *a.Spec.Replicas != *b.Spec.Replicas {
			return cmp.Compare(*b.Spec.Replicas, *a.Spec.Replicas)
		}
		if grows {
			a, b = b, a
		}
		return byAge(a, b)
	})
	sizes := make([]int32, len(sets))
	for i, set := range sets {
		share := o.share(set)
		if grows {
			share = min(share, left)
		} else {
			share = max(share, left)
		}
		left -= share
		sizes[i] = *set.Spec.Replicas + share
	}
	sizes[0] = max(0, sizes[0]+left) // what rounding leaves over
	for i, set := range sets {
		if _, err := o.resizeAndNote(ctx, set, sizes[i]); err != nil {
			return err
		}
	}
	return nil
}

// share is by how much a ReplicaSet grows or shrinks, before anything limits it.
func (o *rollout) share(set *appsv1.ReplicaSet) int32 {
	if o.replicas == 0 {
		return -*set.Spec.Replicas
	}
	before, ok := count(set, maximum)
	if !ok || before == 0 {
		before = o.deployment.Status.Replicas
	}
	if before == 0 {
		return 0
	}
	size := float64(*set.Spec.Replicas) * float64(o.replicas+o.maxSurge()) / float64(before)
	return int32(math.Round(size)) - *set.Spec.Replicas
}

// cleanUp deletes old ReplicaSets beyond the history limit, the lowest revision first.
func (o *rollout) cleanUp(ctx context.Context) error {
	limit := o.deployment.Spec.RevisionHistoryLimit
	sets := slices.DeleteFunc(slices.Clone(o.old), func(set *appsv1.ReplicaSet) bool { return set.DeletionTimestamp != nil })
	if limit == nil || *limit == math.MaxInt32 || len(sets) <= int(*limit) {
		return nil
	}
	slices.SortStableFunc(sets, func(a, b *appsv1.ReplicaSet) int { return cmp.Compare(revisionOf(a), revisionOf(b)) })
	for _, set := range sets[:len(sets)-int(*limit)] {
		if *set.Spec.Replicas > 0 || set.Status.Replicas > 0 || set.Generation > set.Status.ObservedGeneration {
			continue // its pods have not all gone
		}
		if err := o.Client.Delete(ctx, set); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}
