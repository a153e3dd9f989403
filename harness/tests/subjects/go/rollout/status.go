package rollout

import (
	"fmt"
	"math"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reasons of the condition Progressing that decide what comes next.
const (
	done    = "NewReplicaSetAvailable"
	timeout = "ProgressDeadlineExceeded"
)

// report writes counters and conditions into the Deployment; Reconcile sends them if they have changed.
func (o *rollout) report(judged bool) {
	before, status, sets := o.deployment.Status, &o.deployment.Status, o.all()
	status.ObservedGeneration = o.deployment.Generation
	status.Replicas = sum(sets, func(set *appsv1.ReplicaSet) int32 { return set.Status.Replicas })
	status.ReadyReplicas = sum(sets, func(set *appsv1.ReplicaSet) int32 { return set.Status.ReadyReplicas })
	status.AvailableReplicas = available(sets)
	status.UnavailableReplicas = max(0, wanted(sets)-status.AvailableReplicas)
	status.UpdatedReplicas, status.TerminatingReplicas = 0, new(int32)
	if o.current != nil {
		status.UpdatedReplicas = o.current.Status.Replicas
	}
	for _, set := range sets {
		if n := set.Status.TerminatingReplicas; n != nil {
			*status.TerminatingReplicas += *n
		} else if set.Status.ObservedGeneration > 0 {
			status.TerminatingReplicas = nil // one that does not know its own
			break
		}
	}
	if status.AvailableReplicas >= o.replicas-o.maxUnavailable() {
		o.set(appsv1.DeploymentAvailable, corev1.ConditionTrue, "MinimumReplicasAvailable", "Deployment has minimum availability.")
	} else {
		o.set(appsv1.DeploymentAvailable, corev1.ConditionFalse, "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
	}
	if judged {
		o.judgeProgress(&before)
		o.reportFailure()
	}
}

// judgeProgress says whether the rollout is done, moves, or has stood still for longer than its deadline.
func (o *rollout) judgeProgress(before *appsv1.DeploymentStatus) {
	if !o.hasDeadline() {
		o.remove(appsv1.DeploymentProgressing)
		return
	}
	status, was := &o.deployment.Status, o.condition(appsv1.DeploymentProgressing)
	if was != nil && was.Reason == done && status.Replicas == status.UpdatedReplicas {
		return
	}
	subject := fmt.Sprintf("Deployment %q", o.deployment.Name)
	if o.current != nil {
		subject = fmt.Sprintf("ReplicaSet %q", o.current.Name)
	}
	moves := status.UpdatedReplicas > before.UpdatedReplicas || status.ReadyReplicas > before.ReadyReplicas ||
		status.AvailableReplicas > before.AvailableReplicas ||
		status.Replicas-status.UpdatedReplicas < before.Replicas-before.UpdatedReplicas
	switch {
	case o.complete(status):
		o.set(appsv1.DeploymentProgressing, corev1.ConditionTrue, done, subject+" has successfully progressed.")
	case moves:
		// Written anew each time, so that the deadline counts from here.
		if was != nil && was.Reason == "ReplicaSetUpdated" {
			was.LastUpdateTime = metav1.Now()
		}
		o.set(appsv1.DeploymentProgressing, corev1.ConditionTrue, "ReplicaSetUpdated", subject+" is progressing.")
	case was != nil && was.Reason != done && o.left(was) < 0:
		o.set(appsv1.DeploymentProgressing, corev1.ConditionFalse, timeout, subject+" has timed out progressing.")
	}
}

// reportFailure passes on that a ReplicaSet cannot create its pods.
func (o *rollout) reportFailure() {
	for _, set := range slices.Backward(o.all()) {
		for _, c := range set.Status.Conditions {
			if c.Type == appsv1.ReplicaSetReplicaFailure {
				o.set(appsv1.DeploymentReplicaFailure, c.Status, c.Reason, c.Message)
				return
			}
		}
	}
	o.remove(appsv1.DeploymentReplicaFailure)
}

// complete is whether all pods are new ones and available.
func (o *rollout) complete(status *appsv1.DeploymentStatus) bool {
	return status.UpdatedReplicas == o.replicas && status.Replicas == o.replicas &&
		status.AvailableReplicas == o.replicas && status.ObservedGeneration >= o.deployment.Generation
}

// notePause tells apart a rollout that is paused from one that is stuck.
func (o *rollout) notePause() {
	was := o.condition(appsv1.DeploymentProgressing)
	if !o.hasDeadline() || was != nil && was.Reason == timeout {
		return
	}
	paused := was != nil && was.Reason == "DeploymentPaused"
	if o.deployment.Spec.Paused && !paused {
		o.set(appsv1.DeploymentProgressing, corev1.ConditionUnknown, "DeploymentPaused", "Deployment is paused")
	} else if !o.deployment.Spec.Paused && paused {
		o.set(appsv1.DeploymentProgressing, corev1.ConditionUnknown, "DeploymentResumed", "Deployment is resumed")
	}
}

// noteProgress begins a rollout: the deadline counts from here.
func (o *rollout) noteProgress(reason, message string) {
	if o.hasDeadline() {
		o.set(appsv1.DeploymentProgressing, corev1.ConditionTrue, reason, message)
	}
}

func (o *rollout) noteFirst(reason, message string) {
	if o.condition(appsv1.DeploymentProgressing) == nil {
		o.noteProgress(reason, message)
	}
}

func (o *rollout) hasDeadline() bool {
	seconds := o.deployment.Spec.ProgressDeadlineSeconds
	return seconds != nil && *seconds != math.MaxInt32
}

// left is the time until a condition has stood for longer than the deadline.
func (o *rollout) left(c *appsv1.DeploymentCondition) time.Duration {
	return time.Until(c.LastUpdateTime.Add(time.Duration(*o.deployment.Spec.ProgressDeadlineSeconds) * time.Second))
}

// untilDeadline is when to look again, although nothing changes: no watch reports that time has passed.
func (o *rollout) untilDeadline() time.Duration {
	c := o.condition(appsv1.DeploymentProgressing)
	if c == nil || !o.hasDeadline() || c.Reason == done || c.Reason == timeout || o.complete(&o.deployment.Status) {
		return 0
	}
	return max(0, o.left(c)) + 50*time.Millisecond
}

func (o *rollout) condition(kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	conditions := o.deployment.Status.Conditions
	i := slices.IndexFunc(conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == kind })
	if i < 0 {
		return nil
	}
	return &conditions[i]
}

// set leaves a condition with this status and reason as it is.
func (o *rollout) set(kind appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason, message string) {
	was, now := o.condition(kind), metav1.Now()
	if was == nil {
		o.deployment.Status.Conditions = append(o.deployment.Status.Conditions, appsv1.DeploymentCondition{Type: kind})
		was = o.condition(kind)
	} else if was.Status == status && was.Reason == reason {
		return
	}
	if was.Status != status {
		was.LastTransitionTime = now
	}
	was.Status, was.Reason, was.Message, was.LastUpdateTime = status, reason, message, now
}

func (o *rollout) remove(kind appsv1.DeploymentConditionType) {
	o.deployment.Status.Conditions = slices.DeleteFunc(o.deployment.Status.Conditions,
		func(c appsv1.DeploymentCondition) bool { return c.Type == kind })
}
