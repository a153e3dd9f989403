//! A controller that is wrong on purpose: the real one with one rule changed, to prove that a judge
//! can say no.
//!
//! `mutant NAME` runs until SIGTERM or SIGINT, against the API server that KUBECONFIG names.

use std::process::ExitCode;
use std::sync::Arc;

use jiff::Timestamp;
use kube::{Client, Config};
use rollout_controller::deployment::{DeploymentAction, DeploymentPlan, FailurePolicy, PlanStep, ReplicaSetChange};
use rollout_controller::model::Deployment;
use rollout_controller::{ObservedDeployment, Planner, RuleSettings, Settings, check, plan, run_with};

/// One way of being wrong.
type Mutation = fn(&ObservedDeployment, Timestamp, &RuleSettings) -> DeploymentPlan;

const MUTATIONS: [(&str, Mutation, &str); 5] = [
    ("surge-ignored", surge_ignored, "takes maxSurge for 0, and maxUnavailable for at least 1 so that it still moves"),
    ("wrong-status", wrong_status, "counts one ready replica too few"),
    ("restless", restless, "never stops writing: bumps an annotation of a ReplicaSet at every sync"),
    ("idle", idle, "connects and does nothing"),
    ("eager-old", eager_old, "takes old pods down before new ones are available"),
];

#[tokio::main]
async fn main() -> ExitCode {
    let name = std::env::args().nth(1).unwrap_or_default();
    let Some((_, mutation, _)) = MUTATIONS.iter().find(|(known, ..)| *known == name) else {
        eprintln!("usage: mutant NAME, where NAME is one of");
        for (known, _, what) in MUTATIONS {
            eprintln!("  {known:<14} {what}");
        }
        return ExitCode::from(64);
    };
    match start(Arc::new(*mutation)).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn start(planner: Planner) -> anyhow::Result<()> {
    let mut config = Config::infer().await?;
    config.default_retry = false;
    let client = Client::try_from(config)?;
    check(&client).await?;
    run_with(client, Settings::default(), planner, asked_to_stop()).await?;
    Ok(())
}

async fn asked_to_stop() {
    use tokio::signal::unix::{SignalKind, signal};
    let (terminate, interrupt) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    if let (Ok(mut terminate), Ok(mut interrupt)) = (terminate, interrupt) {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    }
}

/// Plans as if maxSurge were 0. Only specs are edited, and no write of this controller but a
/// rollback carries those.
fn surge_ignored(observed: &ObservedDeployment, now: Timestamp, settings: &RuleSettings) -> DeploymentPlan {
    let mut raw = observed.deployment.raw();
    if let Some(bounds) = raw.pointer_mut("/spec/strategy/rollingUpdate") {
        bounds["maxSurge"] = 0.into();
        if bounds["maxUnavailable"] == 0 || bounds["maxUnavailable"] == "0%" {
            bounds["maxUnavailable"] = 1.into();
        }
    }
    let mut seen = observed.clone();
    if let Ok(deployment) = Deployment::read(raw) {
        seen.deployment = Arc::new(deployment);
    }
    plan(&seen, now, settings)
}

/// Decides rightly, but reports one ready pod less (and so, where need be, one available pod less:
/// the API server wants that available ones are ready).
fn wrong_status(observed: &ObservedDeployment, now: Timestamp, settings: &RuleSettings) -> DeploymentPlan {
    let mut seen = observed.clone();
    let uid = &observed.deployment.meta.uid;
    let mut own = seen.replica_sets.iter_mut().filter(|rs| rs.meta.controller().is_some_and(|owner| owner.uid == *uid));
    if let Some(rs) = own.find(|rs| rs.status.ready_replicas > 0) {
        let status = &mut Arc::make_mut(rs).status;
        status.ready_replicas -= 1;
        status.available_replicas = status.available_replicas.min(status.ready_replicas);
    }
    deciding_and_reporting(plan(observed, now, settings), plan(&seen, now, settings))
}

/// The decisions of one plan, the status of another.
fn deciding_and_reporting(mut decisions: DeploymentPlan, report: DeploymentPlan) -> DeploymentPlan {
    let is_report = |step: &PlanStep| matches!(step.action, DeploymentAction::UpdateStatus(_));
    decisions.steps.retain(|step| !is_report(step));
    decisions.steps.extend(report.steps.into_iter().filter(is_report));
    decisions.requeue = report.requeue;
    decisions
}

fn restless(observed: &ObservedDeployment, now: Timestamp, settings: &RuleSettings) -> DeploymentPlan {
    let mut plan = plan(observed, now, settings);
    let uid = &observed.deployment.meta.uid;
    let mut own = observed.replica_sets.iter().filter(|rs| rs.meta.controller().is_some_and(|owner| owner.uid == *uid));
    if let Some(rs) = own.next_back()
        && plan.is_idle()
    {
        let annotations = [("example.com/restless".to_owned(), now.to_string())].into();
        let change = ReplicaSetChange { name: rs.meta.name.clone(), annotations, ..Default::default() };
        plan.steps.push(PlanStep { action: DeploymentAction::UpdateReplicaSet(change), on_error: FailurePolicy::Fail });
    }
    plan
}

fn idle(_: &ObservedDeployment, _: Timestamp, _: &RuleSettings) -> DeploymentPlan {
    DeploymentPlan::default()
}

/// Believes every pod of every ReplicaSet to be available, and so takes old ones down at once; the
/// status it writes is honest.
fn eager_old(observed: &ObservedDeployment, now: Timestamp, settings: &RuleSettings) -> DeploymentPlan {
    let mut seen = observed.clone();
    for rs in &mut seen.replica_sets {
        let rs = Arc::make_mut(rs);
        rs.status.available_replicas = rs.spec.replicas;
    }
    deciding_and_reporting(plan(&seen, now, settings), plan(observed, now, settings))
}
