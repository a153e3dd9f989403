//! Compares the operations of a case with kubectl: the same commands on two simulated clusters, one
//! by kubectl and one by the driver, make equal objects.
//!
//! Each row is one trial, `sim::kubectl::operation::<name>`. Whole objects are compared, with
//! `managedFields` and without UIDs, versions and times.

use std::path::Path;
use std::sync::Arc;

use lockstep_case::{self as case, Case};
use lockstep_cluster::{self as cluster, ClusterPlan, Site};
use lockstep_runner::driver::nodes::HarnessNodes;
use lockstep_runner::driver::{Driver, PodBackend};
use lockstep_runner::observe::WatchCache;
use serde_json::Value;

use super::KubectlResult;
use super::program::Kubectl;

/// A command on both clusters.
pub(crate) enum Command {
    /// Applies a manifest with these flags: an `apply` step.
    Apply(&'static str, String),
    /// A step in its short form, and the equivalent manifest.
    ShortForm(&'static str, String),
    /// A manifest that is rejected with this message.
    ApplyRefused(&'static str, String, &'static str),
    /// A command and the equivalent step.
    Run(&'static str, String),
    /// The same, rejected with this message; kubectl may succeed where it does nothing.
    Refused(&'static str, String, &'static str),
    /// A command with an input and without an equivalent step, run by kubectl on both clusters.
    /// `$UID` is the Deployment's.
    Both(&'static str, String),
}

/// A comparison of commands.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) commands: Vec<Command>,
    /// The objects to compare.
    pub(crate) objects: &'static [&'static str],
}

impl Command {
    /// The equivalent step of a case.
    fn step(&self) -> Option<String> {
        let apply = |flags: &str, manifest: &str| {
            let server_side = if flags.contains("--server-side") { "serverSide: true, " } else { "" };
            format!("apply: {{{server_side}{}", manifest.trim_start_matches('{'))
        };
        let refused = |step: &str, message: &str| format!("{step}\n  refused: {{message: {message:?}}}");
        match self {
            Self::Apply(flags, manifest) => Some(apply(flags, manifest)),
            Self::ApplyRefused(flags, manifest, message) => Some(refused(&apply(flags, manifest), message)),
            Self::Run(_, step) => Some(step.clone()),
            Self::Refused(_, step, message) => Some(refused(step, message)),
            Self::ShortForm(step, _) => Some((*step).to_owned()),
            Self::Both(..) => None,
        }
    }

    fn run(&self, kubectl: &Kubectl) -> KubectlResult {
        match self {
            Self::Apply(flags, manifest) => {
                drop(kubectl.run_with_input(&format!("apply {flags} -f -"), &as_sent(manifest)?)?);
            }
            Self::ShortForm(_, manifest) => drop(kubectl.run_with_input("apply -f -", &as_sent(manifest)?)?),
            Self::ApplyRefused(flags, manifest, message) => {
                kubectl.fails(&format!("apply {flags} -f -"), &as_sent(manifest)?, message)?;
            }
            Self::Run(line, _) => drop(kubectl.ok(line)?),
            Self::Refused(line, _, message) => {
                let words = shlex::split(line).ok_or("unbalanced quotes")?;
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                let (_, text) = kubectl.run(&words, "", &[])?;
                if !text.contains(message) {
                    return Err(format!("`kubectl {line}` did not print `{message}`:\n{text}").into());
                }
            }
            Self::Both(line, input) => {
                let mut input = if input.is_empty() { String::new() } else { as_json(input)?.to_string() };
                if input.contains("$UID") {
                    input = input.replace("$UID", &kubectl.field("deploy web", ".metadata.uid")?);
                }
                kubectl.run_with_input(line, &input)?;
            }
        }
        Ok(())
    }
}

/// A manifest as JSON: kubectl parses text that begins with a brace as JSON.
fn as_json(manifest: &str) -> KubectlResult<Value> {
    Ok(serde_yaml::from_str(manifest)?)
}

/// A manifest as the driver sends it, with the driver's scheduler.
fn as_sent(manifest: &str) -> KubectlResult<String> {
    let mut manifest = as_json(manifest)?;
    if let Some(pod) = manifest.pointer_mut("/spec/template/spec").and_then(Value::as_object_mut) {
        pod.insert("schedulerName".into(), "lockstep".into());
    }
    Ok(manifest.to_string())
}

/// Compares a row.
pub(crate) fn compare(program: &Path, row: &Row) -> KubectlResult {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let boot = || runtime.block_on(cluster::boot(&ClusterPlan::new(cluster::DEFAULT_VERSION).at(Site::Sim)));
    let (by_kubectl, by_driver) = (boot()?, boot()?);
    let one = Kubectl::to(program, by_kubectl.access())?;
    for command in &row.commands {
        command.run(&one).map_err(|error| format!("kubectl: {error}"))?;
    }
    let other = Kubectl::to(program, by_driver.access())?;
    let client = runtime.block_on(by_driver.client())?;
    let driver = Driver::new(
        by_driver.clone(),
        Arc::new(WatchCache::default()),
        HarnessNodes::new(client, false),
        "default",
        PodBackend::Held,
    );
    let case = case(row)?;
    let mut steps = case.steps.iter();
    for command in &row.commands {
        if let Command::Both(..) = command {
            command.run(&other)?;
            continue;
        }
        let step = steps.next().ok_or("every other command is a step")?;
        match (runtime.block_on(driver.perform(&step.operation)), &step.refused) {
            (Ok(()), None) => {}
            (Err(error), Some(message)) if error.to_string().contains(message) => {}
            (made, refused) => return Err(format!("line {}: {made:?}, refused: {refused:?}", step.line).into()),
        }
    }
    let mut differences = String::new();
    for object in row.objects {
        let (one, other) = (normal(&one, object)?, normal(&other, object)?);
        if one != other {
            let diff = similar::TextDiff::from_lines(&one, &other);
            differences += &format!("{object}, by kubectl (-) and by the operation (+):\n{}", diff.unified_diff());
        }
    }
    for cluster in [&by_kubectl, &by_driver] {
        let unsupported = runtime.block_on(cluster.unsupported_requests())?;
        if !unsupported.is_empty() {
            differences += &format!("refused as unsupported: {unsupported:#?}");
        }
    }
    if differences.is_empty() { Ok(()) } else { Err(differences.into()) }
}

/// The steps of a row as a case. Its `given` is not run; it only lets the steps refer to a
/// Deployment with a history.
fn case(row: &Row) -> KubectlResult<Case> {
    let mut text = String::from(
        "description: x\ngiven:\n- deployment: {name: web, image: 'app:1'}\n- set: {image: 'app:2'}\nsteps:\n- advance: 1s\n",
    );
    for step in row.commands.iter().filter_map(Command::step) {
        text += &format!("- {step}\n");
    }
    let mut case = case::parse("cases/a/b.yaml", "a/b", &text)?;
    case.steps.remove(0);
    Ok(case)
}

/// An object's text without the server's fields; empty if the object does not exist.
fn normal(kubectl: &Kubectl, object: &str) -> KubectlResult<String> {
    let mut words: Vec<&str> = object.split(' ').collect();
    words.insert(0, "get");
    words.extend(["-o", "json", "--show-managed-fields", "--ignore-not-found"]);
    let (_, text) = kubectl.run(&words, "", &[])?;
    if text.is_empty() {
        return Ok(text);
    }
    let mut value: Value = serde_json::from_str(&text).map_err(|_| text)?;
    clear(&mut value);
    // The server sorts them by time in seconds.
    if let Some(managers) = value.pointer_mut("/metadata/managedFields").and_then(Value::as_array_mut) {
        managers.sort_by_key(Value::to_string);
    }
    Ok(serde_json::to_string_pretty(&value)?)
}

fn clear(value: &mut Value) {
    const SERVER_FIELDS: [&str; 6] = [
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "deletionTimestamp",
        "time",
        "kubectl.kubernetes.io/restartedAt",
    ];
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if SERVER_FIELDS.contains(&name.as_str()) && value.is_string() {
                    *value = "…".into();
                } else {
                    clear(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(clear),
        _ => {}
    }
}
