//! A step in the words of its case, for marks, timelines and messages. Pure.

use crate::case::masked;
use crate::case::model::{Case, Count, Life, Naming, Operation, Place, Pods, Readiness, Traits};
use crate::pointer::At;

/// What a step does, as a timeline shows it. Names of Deployments are left out where the case has only one.
pub fn label(case: &Case, operation: &Operation) -> String {
    let only = deployments(case) < 2;
    let name = |name: &str| if only { String::new() } else { format!(" {name}") };
    match operation {
        Operation::Apply(manifest) => apply(manifest),
        Operation::Patch { target, patch, .. } if target.kind == "secret" => {
            format!("patch {}/{} {}", target.kind, target.name, masked(patch))
        }
        Operation::Patch { target, patch, .. } => format!("patch {}/{} {patch}", target.kind, target.name),
        Operation::Delete { target, cascade } => match cascade {
            crate::case::model::Cascade::Background => format!("delete {}/{}", target.kind, target.name),
            other => format!("delete {}/{} cascade={}", target.kind, target.name, format!("{other:?}").to_lowercase()),
        },
        Operation::Set { deployment, container, image, env } => {
            let container = container.iter().map(|c| format!(" container={c}"));
            let image = image.iter().map(|i| format!(" image={i}"));
            let env = env.iter().map(|(key, value)| format!(" {key}={value}"));
            format!("set{}{}", name(deployment), container.chain(image).chain(env).collect::<String>())
        }
        Operation::Scale { target, replicas } if target.kind == "deployment" => {
            format!("scale{} {replicas}", name(&target.name))
        }
        Operation::Scale { target, replicas } => format!("scale {}/{} {replicas}", target.kind, target.name),
        Operation::Pause(deployment) => format!("pause{}", name(deployment)),
        Operation::Resume(deployment) => format!("resume{}", name(deployment)),
        Operation::Undo { deployment, to_revision: 0 } => format!("undo{}", name(deployment)),
        Operation::Undo { deployment, to_revision } => format!("undo{} to revision {to_revision}", name(deployment)),
        Operation::Restart(deployment) => format!("restart{}", name(deployment)),
        Operation::Ready(pods) => chosen("ready", pods),
        Operation::Unready(pods) => chosen("unready", pods),
        Operation::Fail(pods) => chosen("fail", pods),
        Operation::Succeed(pods) => chosen("succeed", pods),
        Operation::Terminate(pods) => chosen("terminate", pods),
        Operation::Name(naming) => named(naming),
        Operation::Advance(time) => format!("advance {}", humantime::format_duration(*time)),
        Operation::AdvanceTo { to, since } => format!("advance to {} since {since}", humantime::format_duration(*to)),
        Operation::Together(steps) => {
            let steps: Vec<_> = steps.iter().map(|step| label(case, &step.operation)).collect();
            format!("together {}", steps.join(", "))
        }
        Operation::Subject(Life::Stop) => "subject stop".to_owned(),
        Operation::Subject(Life::Start) => "subject start".to_owned(),
    }
}

fn apply(manifest: &serde_json::Value) -> String {
    let text = |pointer: &str| manifest.at(pointer).and_then(|value| value.as_str()).unwrap_or("?");
    let mut label = format!("{}/{}", text("/kind").to_lowercase(), text("/metadata/name"));
    let shown = [
        ("replicas", "/spec/replicas"),
        ("strategy", "/spec/strategy/type"),
        ("maxSurge", "/spec/strategy/rollingUpdate/maxSurge"),
        ("maxUnavailable", "/spec/strategy/rollingUpdate/maxUnavailable"),
        ("image", "/spec/template/spec/containers/0/image"),
    ];
    for (name, pointer) in shown {
        match manifest.at(pointer) {
            Some(serde_json::Value::String(text)) => label += &format!(" {name}={text}"),
            Some(value) => label += &format!(" {name}={value}"),
            None => {}
        }
    }
    label
}

fn chosen(verb: &str, pods: &Pods) -> String {
    let count = match pods.count {
        _ if !pods.names.is_empty() => pods.names.join(","),
        Count::All => "all".to_owned(),
        Count::Exactly(number) => number.to_string(),
    };
    let atomic = if pods.atomic { " atomic" } else { "" };
    format!("{verb} {count}{}{atomic}", whose(pods))
}

fn whose(pods: &Pods) -> String {
    let deployment = pods.deployment.iter().map(|name| format!(" of {name}"));
    let revision = pods.revision.iter().map(|revision| format!(" of revision {revision}"));
    let set = pods.replica_set.iter().map(|name| format!(" of {name}"));
    deployment.chain(revision).chain(set).collect()
}

/// `pods of revision 1: a node=n1 ready=-2h restarts=3, b node=none`.
fn named(naming: &Naming) -> String {
    let pod = |(name, traits): &(String, Traits)| {
        let seconds = |seconds: i64| {
            let time = humantime::format_duration(std::time::Duration::from_secs(seconds.unsigned_abs())).to_string();
            format!("{}{}", if seconds < 0 { "-" } else { "+" }, time.replace(' ', ""))
        };
        let node = traits.node.as_ref().map(|node| match node {
            Place::Nowhere => " node=none".to_owned(),
            Place::On(node) => format!(" node={node}"),
        });
        let ready = traits.ready.map(|ready| match ready {
            Readiness::No => " ready=no".to_owned(),
            Readiness::Since(0) => " ready=now".to_owned(),
            Readiness::Since(time) => format!(" ready={}", seconds(time)),
            Readiness::SinceUnknown => " ready=unknown".to_owned(),
        });
        let phase = traits.phase.map(|phase| format!(" phase={}", phase.as_str()));
        let cost = traits.deletion_cost.as_ref().map(|cost| format!(" deletionCost={}", serde_json::json!(cost)));
        let restarts = traits.restarts.map(|count| format!(" restarts={count}"));
        let sidecars = traits.sidecar_restarts.map(|count| format!(" sidecarRestarts={count}"));
        let traits = [node, phase, ready, cost, restarts, sidecars];
        name.clone() + &traits.into_iter().flatten().collect::<String>()
    };
    let all: Vec<_> = naming.names.iter().map(pod).collect();
    format!("pods{}: {}", whose(&naming.of), all.join(", "))
}

fn deployments(case: &Case) -> usize {
    let made = case.given.iter().chain(&case.steps);
    let made =
        made.filter(|step| matches!(&step.operation, Operation::Apply(manifest) if manifest["kind"] == "Deployment"));
    let names = made.filter_map(|step| match &step.operation {
        Operation::Apply(manifest) => manifest["metadata"]["name"].as_str(),
        _ => None,
    });
    names.collect::<std::collections::BTreeSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::label;
    use crate::case::parse;

    const ONE: &str = "- deployment: {name: web, replicas: 2, image: 'app:1', maxSurge: 25%}";
    const TWO: &str =
        "- deployment: {name: web, replicas: 2, image: 'app:1'}\n  - deployment: {name: api, image: 'api:1'}";

    #[rstest]
    #[case(ONE, "set: {image: 'app:2'}", "set image=app:2")]
    #[case(TWO, "set: {deployment: api, image: 'app:2'}", "set api image=app:2")]
    #[case(ONE, "scale: 12", "scale 12")]
    #[case(TWO, "scale: {deployment: web, replicas: 12}", "scale web 12")]
    #[case(ONE, "pause: web", "pause")]
    #[case(ONE, "set: {env: {A: b}}", "set A=b")]
    #[case(ONE, "ready: {of: {revision: 1}, pods: 2}", "ready 2 of revision 1")]
    #[case(ONE, "advance: 90s", "advance 1m 30s")]
    #[case(ONE, "together: [{scale: 3}, {pause: web}]", "together scale 3, pause")]
    #[case(ONE, "delete: deployment/web", "delete deployment/web")]
    fn a_step_in_the_words_of_its_case(#[case] given: &str, #[case] operation: &str, #[case] expected: &str) {
        let text = format!("description: x\ngiven:\n  {given}\nsteps:\n  - {operation}\n");
        let case = parse("cases/a/b.yaml", "a/b", &text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(label(&case, &case.steps[0].operation), expected);
    }

    #[test]
    fn a_deployment_shows_what_counts() {
        let text = format!("description: x\ngiven:\n  {ONE}\nsteps:\n  - scale: 3\n");
        let case = parse("cases/a/b.yaml", "a/b", &text).unwrap_or_else(|error| panic!("{error}"));
        let shown = label(&case, &case.given[0].operation);
        assert_eq!(shown, "deployment/web replicas=2 strategy=RollingUpdate maxSurge=25% image=app:1");
    }
}
