//! Switches for being wrong on purpose: a bank of controllers each of which has one rule flipped, to prove that cases can say no.
//!
//! A rule that can be flipped reads `flip!("name", right, wrong)`. In every ordinary build that is `right`, and nothing of the other
//! side is compiled. Only with the cargo feature `mutants` is it a question, answered for the thread that asks: one mutant a thread, on
//! a cluster that is simulated on that thread.
//!
//! A name that the bank does not list does not compile. A mutant that nothing asks about survives every case, which `lockstep mutants`
//! takes for a failure.

/// The first value, save in a build with switches where this one is on: then the second.
macro_rules! flip {
    ($name:literal, $right:expr, $wrong:expr $(,)?) => {{
        #[cfg(not(feature = "mutants"))]
        {
            $right
        }
        #[cfg(feature = "mutants")]
        {
            const { crate::mutants::must_be_listed($name) };
            if crate::mutants::is_on($name) { $wrong } else { $right }
        }
    }};
}

#[cfg(feature = "mutants")]
pub use switches::{BANK, Mutant, with};
#[cfg(feature = "mutants")]
pub(crate) use switches::{is_on, must_be_listed};

#[cfg(feature = "mutants")]
mod switches {
    use std::cell::Cell;

    use crate::ControllerName::{ConfigRestart, Deployment, ReplicaSet};
    use crate::settings::ControllerName;

    /// One way of being wrong.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Mutant {
        /// The switch.
        pub name: &'static str,
        /// Whose rule it flips.
        pub of: ControllerName,
        /// What the controller then does, after "it".
        pub does: &'static str,
    }

    const fn of_deployments(name: &'static str, does: &'static str) -> Mutant {
        Mutant { name, of: Deployment, does }
    }

    const fn of_replica_sets(name: &'static str, does: &'static str) -> Mutant {
        Mutant { name, of: ReplicaSet, does }
    }

    const fn of_restarts(name: &'static str, does: &'static str) -> Mutant {
        Mutant { name, of: ConfigRestart, does }
    }

    /// All of them.
    pub const BANK: &[Mutant] = &[
        // Sizes.
        of_deployments("unavailable-rounded-up", "rounds a percentage of maxUnavailable up"),
        of_deployments("surge-rounded-down", "rounds a percentage of maxSurge down where it sizes the new ReplicaSet"),
        of_deployments("max-replicas-without-surge", "leaves the surge out of max-replicas"),
        of_deployments("nothing-may-move", "leaves both bounds at 0 where rounding makes them so"),
        of_deployments("unavailable-beyond-replicas", "takes maxUnavailable for more pods than there are"),
        // Rolling.
        of_deployments("down-before-up", "takes old pods down before it brings new ones up"),
        of_deployments("spent-forgotten", "takes an old pod for a new one that is not available"),
        of_deployments("unhealthy-kept", "does not take unhealthy old pods first"),
        of_deployments("unhealthy-beyond-budget", "takes all unhealthy pods of an old ReplicaSet, whatever the bounds"),
        of_deployments("unhealthy-newest-first", "takes unhealthy pods of the newest old ReplicaSet first"),
        of_deployments("healthy-newest-first", "takes healthy pods of the newest old ReplicaSet first"),
        of_deployments("new-never-shrinks", "leaves a new ReplicaSet that is too large as it is"),
        of_deployments("lagging-status-ignored", "goes on where a status lags behind an earlier cut"),
        // History.
        of_deployments("clean-up-at-once", "cuts the history before the roll-out is complete"),
        of_deployments("clean-up-never", "never cuts the history"),
        of_deployments("history-in-creation-order", "deletes the oldest ReplicaSet rather than the lowest revision"),
        of_deployments("history-one-too-many", "keeps one old ReplicaSet more than the limit"),
        of_deployments("history-passes-over", "lets another take the place of one that has something to do"),
        of_deployments("history-deletes-busy", "deletes old ReplicaSets that still have pods"),
        // Scaling.
        of_deployments("leftover-to-last", "gives what rounding leaves over to the last ReplicaSet"),
        of_deployments("oldest-grows-first", "lets the oldest of equals grow first"),
        of_deployments("oldest-shrinks-last", "lets the newest of equals shrink first"),
        of_deployments("shares-rounded-down", "cuts the fraction off a share"),
        of_deployments("saturation-ignored", "scales in proportion where the new ReplicaSet is saturated"),
        of_deployments("scaling-unnoticed", "does not see that another number is asked for"),
        of_deployments("max-annotation-ignored", "takes the pods that there are for the old total"),
        of_deployments("sizes-not-annotated", "does not say what it sized a ReplicaSet for"),
        of_deployments("recreate-in-proportion", "scales in proportion whatever the strategy"),
        // Pause.
        of_deployments("pause-forgotten", "rolls out while paused"),
        of_deployments("pause-stops-scaling", "does not scale while paused"),
        of_deployments("pause-keeps-history", "does not cut the history while paused"),
        of_deployments("pause-unnoted", "says nothing of a pause in the conditions"),
        of_deployments("pause-hides-deadline", "covers a deadline that has passed with the word that it is paused"),
        // New, old, revisions.
        of_deployments("revision-not-raised", "leaves a template that comes back at its old revision"),
        of_deployments("revision-history-lost", "forgets the revisions that a ReplicaSet had"),
        of_deployments("revision-unread", "does not give the Deployment the revision of its ReplicaSet"),
        of_deployments("rollback-to-current", "takes the highest revision for the one before"),
        of_deployments("newest-twin-is-new", "takes the newest of equal templates for the new ReplicaSet"),
        of_deployments("annotations-not-copied", "keeps the user's annotations to the Deployment"),
        of_deployments("every-annotation-copied", "copies kubectl's annotation too"),
        of_deployments("min-ready-seconds-kept", "does not pass a changed minReadySeconds on"),
        of_deployments("created-at-full-size", "creates the new ReplicaSet at its full size"),
        of_deployments("created-without-hash", "leaves the hash out of the new selector"),
        of_deployments("collision-uncounted", "does not count a name that is taken"),
        // Ownership.
        of_deployments("release-forgotten", "keeps ReplicaSets whose labels match no more"),
        of_deployments("adoption-forgotten", "leaves orphans alone"),
        of_deployments("labels-ignored", "adopts orphans whose labels do not match"),
        of_deployments("orphan-sized-at-once", "sizes an orphan in the sync that adopts it"),
        // Recreate.
        of_deployments("recreate-does-not-wait", "creates new pods while old ones run"),
        of_deployments("recreate-waits-for-the-ended", "waits for pods that have ended"),
        of_deployments("recreate-forgets-terminating", "does not wait for pods that are on their way out"),
        // Rollback.
        of_deployments("rollback-keeps-annotations", "leaves the user's annotations as they are when it rolls back"),
        of_deployments("rollback-asks-again", "leaves the annotation that asks for a rollback"),
        // Status and progress.
        of_deployments("ready-of-new-only", "counts ready pods of the new ReplicaSet alone"),
        of_deployments("updated-is-all", "counts every pod as updated"),
        of_deployments("unavailable-of-desired", "counts unavailable pods from what the Deployment asks for"),
        of_deployments("availability-strict", "wants all pods available for the condition Available"),
        of_deployments("generation-late", "reports the generation one late"),
        of_deployments("terminating-unreported", "says nothing of terminating pods"),
        of_deployments("complete-too-soon", "takes a roll-out for complete whose pods are not available"),
        of_deployments("complete-with-old", "takes a roll-out for complete while old pods are there"),
        of_deployments("deadline-ignored", "never says that the deadline has passed"),
        of_deployments("deadline-not-renewed", "counts the deadline from the beginning, whatever progress is made"),
        of_deployments("stalled-gives-up", "stops rolling out when the deadline has passed"),
        of_deployments("failure-not-copied", "says nothing of a ReplicaSet that cannot make pods"),
        of_deployments("scaled-in-silence", "records no event when it scales"),
        // The order in which pods die.
        of_replica_sets("kill-order-without-node", "does not ask whether a pod has a node"),
        of_replica_sets("kill-order-without-phase", "does not ask for the phase"),
        of_replica_sets("kill-order-ready-reversed", "takes a pod that is ready first"),
        of_replica_sets("kill-order-restarts-reversed", "takes the pod with fewer restarts first"),
        of_replica_sets("kill-order-unknown-last", "takes a pod last of which nobody knows since when it is ready"),
        of_replica_sets("kill-order-future-is-old", "takes a ready time in the future for the oldest"),
        of_replica_sets("kill-order-cost-reversed", "takes the higher deletion cost first"),
        of_replica_sets("kill-order-without-rank", "does not ask how crowded a node is"),
        of_replica_sets("kill-order-without-ready-time", "does not ask since when a pod is ready"),
        of_replica_sets("kill-order-exact-times", "tells times apart that are on one step of the scale"),
        of_replica_sets("kill-order-scale-of-seconds", "takes the logarithm of seconds rather than of nanoseconds"),
        of_replica_sets("kill-order-uids-reversed", "takes the greater UID first where two times are alike"),
        of_replica_sets("kill-order-without-restarts", "does not ask for restarts"),
        of_replica_sets("kill-order-without-sidecars", "does not ask for restarts of sidecars"),
        of_replica_sets("kill-order-forgotten", "takes pods in the order of their names"),
        of_replica_sets("rank-of-ready-only", "counts only ready pods on a node"),
        of_replica_sets("rank-of-strangers", "counts pods on a node that no sibling selects"),
        // Pods.
        of_replica_sets("expectations-ignored", "acts before it has seen what its last requests led to"),
        of_replica_sets("selected-labels-only", "gives pods only the labels that it selects by"),
        of_replica_sets("failed-pods-count", "counts pods that have ended as replicas"),
        of_replica_sets("terminating-pods-count", "counts pods on their way out as replicas, and waits for them"),
        of_replica_sets("pod-labels-ignored", "adopts pods whose labels do not match"),
        of_replica_sets("terminating-pods-unreported", "reports no pods on their way out"),
        of_replica_sets("fully-labelled-is-all", "takes every pod for fully labelled"),
        of_replica_sets("pods-not-adopted", "leaves orphaned pods alone"),
        of_replica_sets("pods-not-released", "keeps pods whose labels match no more"),
        of_replica_sets("available-at-once", "takes a ready pod for available whatever minReadySeconds says"),
        of_replica_sets("failure-stays", "never takes the word back that it could not make pods"),
        // What a workload refers to.
        of_restarts("init-containers-unread", "does not look at init containers"),
        of_restarts("value-from-unread", "does not look at single variables"),
        of_restarts("secret-volumes-unread", "does not look at volumes of Secrets"),
        of_restarts("projected-unread", "does not look at projected volumes"),
        of_restarts("optional-unread", "takes every reference for one that pods wait for"),
        of_restarts("keys-unread", "takes all of a config for used where only some keys are"),
        of_restarts("any-word-opts-in", "takes any value of the annotation for enabled"),
        of_restarts("config-cannot-opt-out", "does not ask a config whether it restarts anything"),
        of_restarts("ignores-unread", "does not ask a workload which configs are not to restart it"),
        of_restarts("daemon-sets-unread", "does not restart DaemonSets"),
        of_restarts("held-unnoticed", "takes a paused workload's new template for new pods"),
        // What has changed.
        of_restarts("binary-data-unread", "leaves binary data out of the checksum"),
        of_restarts("labels-count-as-data", "takes a config's labels for data"),
        of_restarts("takeover-restarts", "restarts what xing's controller has annotated"),
        of_restarts("secrets-unkeyed", "writes checksums of Secrets that have no key"),
        of_restarts("unkeyed-restarts", "restarts what carries checksums without a key"),
        of_restarts("unknown-key-restarts", "restarts what carries checksums of a key that it has not"),
        of_restarts("adoption-restarts", "restarts a workload for being adopted"),
        of_restarts("rollout-unnoticed", "restarts pods that have been replaced since"),
        of_restarts("deletion-forgets", "forgets what pods have of a config that is gone"),
        of_restarts("strangers-kept", "keeps checksums of what is no longer referred to"),
        of_restarts("late-config-restarts", "restarts pods that have waited for their config"),
        of_restarts("unseen-change-missed", "misses what changed while nobody watched"),
        of_restarts("new-reference-is-current", "takes a config as it is for what the pods began with"),
        of_restarts("stale-view-believed", "believes a watch that is behind its own write"),
        // When.
        of_restarts("grace-period-unread", "does not wait for more changes"),
        of_restarts("window-does-not-slide", "acts a grace period after the first change, whatever follows"),
        of_restarts("window-without-end", "waits as long as changes come"),
        of_restarts("budget-ignored", "restarts as often as configs change"),
        of_restarts("budget-forgets", "forgets earlier restarts when it writes down one more"),
        of_restarts("one-config-at-a-time", "restarts once for each config"),
        of_restarts("failure-given-up", "does not try a failed write again"),
        // What is written.
        of_restarts("change-not-noted", "does not write down what the pods had before it waits"),
        of_restarts("trigger-is-the-time", "writes another trigger each time it tries"),
        of_restarts("restart-and-record-apart", "does not record what it restarts for in the same write"),
        of_restarts("change-only-noted", "writes down what has changed, and restarts nothing"),
        // xing's choices.
        of_restarts("xing-change-only-noted", "writes down in xing's profile what has changed, and restarts nothing"),
        of_restarts("xing-adoption-restarts", "restarts in xing's profile for being adopted"),
        of_restarts("xing-counts-nothing", "restarts in xing's profile for nothing that was never applied"),
        of_restarts("xing-strangers-kept", "keeps in xing's profile checksums of what is no longer referred to"),
        of_restarts("xing-knows-daemon-sets", "restarts DaemonSets in xing's profile"),
        of_restarts("xing-knows-every-reference", "finds in xing's profile what that controller does not"),
        of_restarts(
            "xing-restarts-for-one",
            "restarts in xing's profile for the first change of what was never applied",
        ),
        of_restarts("xing-keeps-deleted", "goes on with a deleted config in xing's profile"),
    ];

    /// Questions after which a controller that is wrong is taken for one that never rests: in virtual time a loop without a pause
    /// would never end.
    const PATIENCE: u32 = 150_000;

    thread_local! {
        static ON: Cell<Option<&'static str>> = const { Cell::new(None) };
        static ASKED: Cell<u32> = const { Cell::new(0) };
    }

    /// Does something with a mutant's switch on, on this thread alone.
    pub fn with<T>(mutant: &Mutant, something: impl FnOnce() -> T) -> T {
        ON.set(Some(mutant.name));
        ASKED.set(0);
        let result = something();
        ON.set(None);
        result
    }

    /// Whether a switch is on.
    pub(crate) fn is_on(name: &str) -> bool {
        let asked = ASKED.get() + 1;
        ASKED.set(asked);
        assert!(ON.get().is_none() || asked < PATIENCE, "a mutant that never rests");
        ON.get() == Some(name)
    }

    /// Does not compile for a name that the bank does not list.
    pub(crate) const fn must_be_listed(name: &str) {
        let mut at = 0;
        while at < BANK.len() {
            if same(BANK[at].name.as_bytes(), name.as_bytes()) {
                return;
            }
            at += 1;
        }
        panic!("the bank lists no such mutant");
    }

    const fn same(left: &[u8], right: &[u8]) -> bool {
        let mut at = 0;
        while at < left.len() && at < right.len() && left[at] == right[at] {
            at += 1;
        }
        at == left.len() && at == right.len()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn each_name_is_there_once_and_each_is_one_thread_s() {
            let names: std::collections::BTreeSet<_> = BANK.iter().map(|mutant| mutant.name).collect();
            assert_eq!(names.len(), BANK.len());
            let flipped = || flip!("pause-forgotten", "right", "wrong");
            let pause = BANK.iter().find(|mutant| mutant.name == "pause-forgotten").unwrap();
            assert_eq!(with(pause, flipped), "wrong");
            assert_eq!(with(pause, || std::thread::spawn(flipped).join().unwrap()), "right");
            assert_eq!(with(&BANK[0], flipped), "right");
            assert_eq!(flipped(), "right");
        }
    }
}
