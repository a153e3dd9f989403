package rollout

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Annotations that a Deployment and its ReplicaSets do not share: each has its own.
const (
	revision  = "deployment.kubernetes.io/revision"
	history   = "deployment.kubernetes.io/revision-history"
	desired   = "deployment.kubernetes.io/desired-replicas"
	maximum   = "deployment.kubernetes.io/max-replicas"
	rollback  = "deprecated.deployment.rollback.to"
	hashLabel = appsv1.DefaultDeploymentUniqueLabelKey
)

var notCopied = []string{corev1.LastAppliedConfigAnnotation, revision, history, desired, maximum, rollback}

// find reads the ReplicaSets that the Deployment owns.
func (o *rollout) find(ctx context.Context) error {
	selector, err := metav1.LabelSelectorAsSelector(o.deployment.Spec.Selector)
	if err != nil {
		return err
	}
	var sets appsv1.ReplicaSetList
	err = o.Client.List(ctx, &sets, client.InNamespace(o.deployment.Namespace), client.MatchingLabelsSelector{Selector: selector})
	if err != nil {
		return err
	}
	for i := range sets.Items {
		if set := &sets.Items[i]; metav1.IsControlledBy(set, o.deployment) {
			o.old = append(o.old, set)
		}
	}
	slices.SortFunc(o.old, byAge)
	isCurrent := func(set *appsv1.ReplicaSet) bool {
		return sameTemplate(&set.Spec.Template, &o.deployment.Spec.Template)
	}
	if i := slices.IndexFunc(o.old, isCurrent); i >= 0 {
		o.current = o.old[i]
		o.old = slices.Delete(o.old, i, i+1)
	}
	return nil
}

// sameTemplate compares two templates without the hash.
func sameTemplate(a, b *corev1.PodTemplateSpec) bool {
	a, b = a.DeepCopy(), b.DeepCopy()
	delete(a.Labels, hashLabel)
	delete(b.Labels, hashLabel)
	return equality.Semantic.DeepEqual(a, b)
}

func (o *rollout) refreshOrCreate(ctx context.Context) error {
	if o.current == nil {
		return o.create(ctx)
	}
	return o.refresh(ctx)
}

// refresh brings what the current ReplicaSet takes from the Deployment up to date, but for its size.
func (o *rollout) refresh(ctx context.Context) error {
	if o.current == nil {
		return nil
	}
	changed := o.annotate(o.current)
	if o.current.Spec.MinReadySeconds != o.deployment.Spec.MinReadySeconds {
		o.current.Spec.MinReadySeconds, changed = o.deployment.Spec.MinReadySeconds, true
	}
	if changed {
		if err := o.Client.Update(ctx, o.current); err != nil {
			return err
		}
	}
	metav1.SetMetaDataAnnotation(&o.deployment.ObjectMeta, revision, o.current.Annotations[revision])
	o.noteFirst("FoundNewReplicaSet", fmt.Sprintf("Found new replica set %q", o.current.Name))
	return nil
}

// annotate copies the Deployment's annotations, and gives the ReplicaSet the highest revision.
func (o *rollout) annotate(set *appsv1.ReplicaSet) (changed bool) {
	before := maps.Clone(set.Annotations)
	for key, value := range o.deployment.Annotations {
		if !slices.Contains(notCopied, key) {
			metav1.SetMetaDataAnnotation(&set.ObjectMeta, key, value)
		}
	}
	next := int64(1)
	for _, old := range o.old {
		next = max(next, revisionOf(old)+1)
	}
	was, has := before[revision]
	if number, err := strconv.ParseInt(was, 10, 64); has && err != nil {
		return false // somebody else's; upstream leaves such a ReplicaSet alone as well
	} else if number < next {
		metav1.SetMetaDataAnnotation(&set.ObjectMeta, revision, strconv.FormatInt(next, 10))
		if has {
			past := strings.Split(before[history], ",")
			past = append(slices.DeleteFunc(past, func(s string) bool { return s == "" }), was)
			metav1.SetMetaDataAnnotation(&set.ObjectMeta, history, strings.Join(past, ","))
		}
	}
	return !maps.Equal(before, set.Annotations)
}

// create makes the ReplicaSet of the present template. Its name is made of the template, so that a controller whose
// cache does not show it yet creates no second one.
func (o *rollout) create(ctx context.Context) error {
	d := o.deployment
	hash := hashOf(&d.Spec.Template, d.Status.CollisionCount)
	template, selector := d.Spec.Template.DeepCopy(), d.Spec.Selector.DeepCopy()
	metav1.SetMetaDataLabel(&template.ObjectMeta, hashLabel, hash)
	selector = metav1.AddLabelToSelector(selector, hashLabel, hash)
	size := o.newSize(0)
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       d.Namespace,
			Name:            d.Name[:min(len(d.Name), 252-len(hash))] + "-" + hash,
			Labels:          template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &size, MinReadySeconds: d.Spec.MinReadySeconds, Selector: selector, Template: *template,
		},
	}
	o.annotate(set)
	o.noteSizes(set)
	if err := o.Client.Create(ctx, set); err != nil {
		if !errors.IsAlreadyExists(err) { // else the cache is behind, and shows it soon
			o.Events.Eventf(d, corev1.EventTypeWarning, "ReplicaSetCreateError",
				"Failed to create new replica set %q: %v", set.Name, err)
		}
		return err
	}
	o.current = set
	if size > 0 {
		o.event(set, "up", 0, size)
	}
	metav1.SetMetaDataAnnotation(&d.ObjectMeta, revision, set.Annotations[revision])
	o.noteProgress("NewReplicaSetCreated", fmt.Sprintf("Created new replica set %q", set.Name))
	return nil
}

func hashOf(template *corev1.PodTemplateSpec, collisions *int32) string {
	hash := fnv.New32a()
	_ = json.NewEncoder(hash).Encode(template) // a hash takes all that is written to it
	if collisions != nil {
		fmt.Fprint(hash, *collisions)
	}
	return rand.SafeEncodeString(strconv.FormatUint(uint64(hash.Sum32()), 10))
}

// resize sets the size and notes what it was decided by. It leaves a ReplicaSet of that size alone.
func (o *rollout) resize(ctx context.Context, set *appsv1.ReplicaSet, size int32) (moved bool, err error) {
	if *set.Spec.Replicas == size {
		return false, nil
	}
	return o.resizeAndNote(ctx, set, size)
}

func (o *rollout) resizeTo(ctx context.Context, set *appsv1.ReplicaSet, size int32) error {
	_, err := o.resize(ctx, set, size)
	return err
}

// resizeAndNote also writes where only the annotations are behind.
func (o *rollout) resizeAndNote(ctx context.Context, set *appsv1.ReplicaSet, size int32) (moved bool, err error) {
	before := *set.Spec.Replicas
	if noted := o.noteSizes(set); before == size && !noted {
		return false, nil
	}
	*set.Spec.Replicas = size
	if err := o.Client.Update(ctx, set); err != nil {
		return false, err
	}
	switch {
	case before < size:
		o.event(set, "up", before, size)
	case before > size:
		o.event(set, "down", before, size)
	}
	return before != size, nil
}

func (o *rollout) noteSizes(set *appsv1.ReplicaSet) (changed bool) {
	before := maps.Clone(set.Annotations)
	metav1.SetMetaDataAnnotation(&set.ObjectMeta, desired, str(o.replicas))
	metav1.SetMetaDataAnnotation(&set.ObjectMeta, maximum, str(o.replicas+o.maxSurge()))
	return !maps.Equal(before, set.Annotations)
}

func (o *rollout) event(set *appsv1.ReplicaSet, direction string, from, to int32) {
	o.Events.Eventf(o.deployment, corev1.EventTypeNormal, "ScalingReplicaSet",
		"Scaled %s replica set %s from %d to %d", direction, set.Name, from, to)
}

func (o *rollout) all() []*appsv1.ReplicaSet {
	if o.current == nil {
		return slices.Clone(o.old)
	}
	return append(slices.Clone(o.old), o.current)
}

func (o *rollout) maxSurge() int32 {
	return o.bound(func(u *appsv1.RollingUpdateDeployment) *intstr.IntOrString { return u.MaxSurge }, true)
}

// maxUnavailable is one where both bounds are zero after rounding: otherwise nothing could move.
func (o *rollout) maxUnavailable() int32 {
	if o.deployment.Spec.Strategy.RollingUpdate == nil || o.replicas == 0 {
		return 0
	}
	n := o.bound(func(u *appsv1.RollingUpdateDeployment) *intstr.IntOrString { return u.MaxUnavailable }, false)
	if n == 0 && o.maxSurge() == 0 {
		n = 1
	}
	return min(n, o.replicas)
}

func (o *rollout) bound(field func(*appsv1.RollingUpdateDeployment) *intstr.IntOrString, roundUp bool) int32 {
	update := o.deployment.Spec.Strategy.RollingUpdate
	if update == nil || field(update) == nil {
		return 0
	}
	n, _ := intstr.GetScaledValueFromIntOrPercent(field(update), int(o.replicas), roundUp) // the server has validated it
	return int32(n)
}

func active(sets []*appsv1.ReplicaSet) []*appsv1.ReplicaSet {
	return slices.DeleteFunc(slices.Clone(sets), func(set *appsv1.ReplicaSet) bool { return *set.Spec.Replicas == 0 })
}

func sum(sets []*appsv1.ReplicaSet, of func(*appsv1.ReplicaSet) int32) (n int32) {
	for _, set := range sets {
		n += of(set)
	}
	return n
}

func wanted(sets []*appsv1.ReplicaSet) int32 {
	return sum(sets, func(set *appsv1.ReplicaSet) int32 { return *set.Spec.Replicas })
}

func available(sets []*appsv1.ReplicaSet) int32 {
	return sum(sets, func(set *appsv1.ReplicaSet) int32 { return set.Status.AvailableReplicas })
}

func byAge(a, b *appsv1.ReplicaSet) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

func revisionOf(set *appsv1.ReplicaSet) int64 {
	n, _ := strconv.ParseInt(set.Annotations[revision], 10, 64)
	return n
}

// count reads a number of replicas from an annotation.
func count(set *appsv1.ReplicaSet, key string) (int32, bool) {
	n, err := strconv.ParseInt(set.Annotations[key], 10, 32)
	return int32(n), err == nil && n >= 0
}

func str(n int32) string { return strconv.Itoa(int(n)) }
