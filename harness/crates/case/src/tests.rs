//! Tests the format as a whole: the files of this repository, each syntax of a step, and every
//! mistake that is reported.

use std::path::PathBuf;
use std::time::Duration;

use insta::assert_snapshot;
use rstest::rstest;
use serde_json::json;

use super::model::{
    AdvanceStep, Bindings, Cascade, Case, CountSpec, DecisionKind, DeclaredChange, InjectedSteps, InjectionPoint,
    NamedPodTraits, NodeBinding, Operation, PatchKind, PodNaming, PodOperation, PodPhase, PodSelection, ProcessAction,
    Readiness, Target, Terminations,
};
use super::operations::{DeleteStep, PatchStep, PauseStep, PodStep, RestartStep, ScaleStep, SetStep, UndoStep};
use super::{CaseError, find, load, load_one, parse};

/// A case with one Deployment and these steps.
pub(crate) fn text(steps: &str) -> String {
    let given = "given:\n  - deployment: {name: web, replicas: 3, image: \"app:1\"}\n";
    format!("description: x\nterminations: held\n{given}steps:\n{steps}\n")
}

pub(crate) fn read(text: &str) -> Case {
    parse("cases/x.yaml", "x", text).unwrap_or_else(|error| panic!("{error}"))
}

fn operation(step: &str) -> Operation {
    read(&text(&format!("  - set: {{image: \"app:2\"}}\n  - {step}"))).steps.remove(1).operation
}

/// All problems as `line: message`.
pub(crate) fn findings(text: &str) -> Vec<String> {
    match parse("cases/x.yaml", "x", text) {
        Ok(_) => Vec::new(),
        Err(CaseError::Invalid(findings)) => {
            findings.messages().map(|(line, what)| format!("{line}: {what}")).collect()
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn every_case_of_the_repository_reads() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../cases");
    for path in find(&[root]).unwrap() {
        if let Err(error) = load(&path) {
            panic!("{error}");
        }
    }
}

#[test]
fn case_has_name_description_and_steps() {
    let case = read(
        "description: x\nnodes: [n1, n2]\nterminations: held\ngiven:\n  - deployment: {name: web, image: \"app:1\"}\n  - ready: {pods: all}\nsteps:\n  - pause: web\n  - undo: {toRevision: 9}\n    refused: {message: unable}\n",
    );
    assert_eq!((case.nodes, case.terminations), (vec!["n1".to_owned(), "n2".to_owned()], Terminations::Held));
    assert_eq!(case.given.iter().map(|step| step.line).collect::<Vec<_>>(), [5, 6]);
    assert_eq!(case.steps.iter().map(|step| step.line).collect::<Vec<_>>(), [8, 9]);
    assert_eq!(case.steps[1].refused.as_deref(), Some("unable"));
}

#[test]
fn reads_pod_names_traits_and_expectation() {
    let case = read(
        "description: x\ncontrollers: [replicaset]\nbindings: held\ngiven:\n  - replicaset: {name: web, replicas: 3, image: \"app:1\"}\n  \
         - pods: {name: {b: {node: n1, ready: {since: -2h}, deletionCost: 5}, a: {node: null, phase: Unknown}, c: {restarts: {sidecars: 2}}}}\n\
         steps:\n  - scale: 2\n    expect: {anyOf: [[a, b], [a, c]]}\n  - fail: {pods: [b, a]}\n",
    );
    assert_eq!((case.controllers.to_string().as_str(), case.bindings), ("replicaset", Bindings::Held));
    let naming = case.given[1].operation.downcast::<PodNaming>().unwrap();
    let b = NamedPodTraits {
        node: Some(NodeBinding::Node("n1".to_owned())),
        ready: Some(Readiness::Since(-7200)),
        deletion_cost: Some("5".to_owned()),
        ..NamedPodTraits::default()
    };
    let a = NamedPodTraits {
        node: Some(NodeBinding::Unbound),
        phase: Some(PodPhase::Unknown),
        ..NamedPodTraits::default()
    };
    let c = NamedPodTraits { sidecar_restarts: Some(2), ..NamedPodTraits::default() };
    let expected = [("b", b), ("a", a), ("c", c)].map(|(name, traits)| (name.to_owned(), traits));
    assert_eq!(naming.names, expected);
    assert_eq!(case.steps[0].operation, Operation::new(ScaleStep { target: target("replicaset", "web"), replicas: 2 }));
    assert_eq!(case.steps[0].expect.as_ref().unwrap().to_string(), "a,b or a,c");
    let (kind, pods) = case.steps[1].operation.pod_operation().unwrap();
    assert_eq!(kind, PodOperation::Fail);
    assert_eq!((pods.names.join(","), pods.count), ("b,a".to_owned(), CountSpec::Exactly(2)));
}

#[test]
fn short_replicaset_expands_to_manifest() {
    let short = "replicaset: {name: web, replicas: 2, image: \"app:1\", minReadySeconds: 5, podLabels: {tier: front}, owner: configmap/family}";
    let case = read(&format!("description: x\ngiven:\n  - {short}\nsteps:\n  - scale: 1\n"));
    let DeclaredChange::Object(manifest) = case.given[0].operation.change() else { panic!() };
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "family", "controller": true});
    assert_eq!(manifest["metadata"], json!({"name": "web", "ownerReferences": [owner]}));
    let template = json!({"metadata": {"labels": {"app": "web", "tier": "front"}},
        "spec": {"containers": [{"name": "app", "image": "app:1"}]}});
    let selector = json!({"matchLabels": {"app": "web"}});
    let spec = json!({"replicas": 2, "minReadySeconds": 5, "selector": selector, "template": template});
    assert_eq!(manifest["spec"], spec);
}

#[test]
fn short_deployment_expands_env_from() {
    let short = "deployment: {name: web, image: \"app:1\", envFrom: [configmap/c, secret/s]}";
    let case = read(&format!("description: x\ngiven:\n  - {short}\nsteps:\n  - scale: 1\n"));
    let DeclaredChange::Object(manifest) = case.given[0].operation.change() else { panic!() };
    let sources = json!([{"configMapRef": {"name": "c"}}, {"secretRef": {"name": "s"}}]);
    assert_eq!(manifest["spec"]["template"]["spec"]["containers"][0]["envFrom"], sources);
}

#[test]
fn case_name_is_area_and_file() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../cases");
    assert_eq!(load_one(&root.join("undo/previous.yaml")).unwrap().name, "undo/previous");
    let in_folder = load_one(&root.join("config-restart/safe/delay.yaml")).unwrap();
    assert_eq!(in_folder.name, "config-restart/safe/delay");
}

#[test]
fn folder_outside_the_collection_adds_nothing_to_a_case_name() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(
            &path,
            "description: x\ngiven:\n  - deployment: {name: web, image: 'app:1'}\nsteps:\n  - scale: 2\n",
        )
        .unwrap();
        load_one(&path).unwrap().name
    };
    assert_eq!(write("mine/area/folder/x.yaml"), "folder/x");
    assert_eq!(write("cases/x.yaml"), "cases/x");
    assert_eq!(write("cases/area/x.yaml"), "area/x");
    assert_eq!(write("cases/area/folder/x.yaml"), "area/folder/x");
    assert_eq!(write("cases/area/folder/deeper/x.yaml"), "deeper/x");
}

#[rstest]
#[case::scale("scale: 12", Operation::new(ScaleStep { target: target("deployment", "web"), replicas: 12 }))]
#[case::scale_named("scale: {deployment: web, replicas: 0}", Operation::new(ScaleStep { target: target("deployment", "web"), replicas: 0 }))]
#[case::scale_a_set("scale: {replicaset: rs1, replicas: 5}", Operation::new(ScaleStep { target: target("replicaset", "rs1"), replicas: 5 }))]
#[case::pause("pause: web", Operation::new(PauseStep { deployment: "web".to_owned(), paused: true }))]
#[case::pause_only_deployment("pause: {}", Operation::new(PauseStep { deployment: "web".to_owned(), paused: true }))]
#[case::resume_only_deployment("resume:", Operation::new(PauseStep { deployment: "web".to_owned(), paused: false }))]
#[case::restart("restart: {deployment: web}", Operation::new(RestartStep("web".to_owned())))]
#[case::undo("undo: {}", Operation::new(UndoStep { deployment: "web".to_owned(), to_revision: 0 }))]
#[case::undo_to("undo: {toRevision: 2}", Operation::new(UndoStep { deployment: "web".to_owned(), to_revision: 2 }))]
#[case::advance("advance: 1h 30m", Operation::new(AdvanceStep::For(Duration::from_secs(5400))))]
#[case::longest_advance("advance: 30d", Operation::new(AdvanceStep::For(Duration::from_secs(2_592_000))))]
#[case::delete("delete: pod/a", Operation::new(DeleteStep { target: target("pod", "a"), cascade: Cascade::Background }))]
#[case::delete_orphan(
    "delete: {target: deployment/web, cascade: orphan}",
    Operation::new(DeleteStep { target: target("deployment", "web"), cascade: Cascade::Orphan }))]
#[case::patch(
    "patch: {target: replicaset/rs2, type: json, patch: [{op: remove, path: /a}]}",
    Operation::new(PatchStep { target: target("replicaset", "rs2"), kind: PatchKind::Json, patch: json!([{"op": "remove", "path": "/a"}]) }))]
#[case::patch_strategic(
    "patch: {target: deployment/web, patch: {spec: {paused: true}}}",
    Operation::new(PatchStep { target: target("deployment", "web"), kind: PatchKind::Strategic, patch: json!({"spec": {"paused": true}}) }))]
#[case::ready("ready: {pods: all}", Operation::new(PodStep { operation: PodOperation::Ready, pods: PodSelection::default() }))]
#[case::ready_of(
    "ready: {pods: 2, of: {revision: 1, deployment: web}, atomic: true}",
    Operation::new(PodStep { operation: PodOperation::Ready, pods: PodSelection {
        deployment: Some("web".to_owned()), revision: Some(1), count: CountSpec::Exactly(2), atomic: true, ..PodSelection::default()
    } }))]
#[case::terminate("terminate: {pods: 1}", Operation::new(PodStep { operation: PodOperation::Terminate, pods: PodSelection { count: CountSpec::Exactly(1), ..PodSelection::default() } }))]
fn reads_syntaxes_of_steps(#[case] step: &str, #[case] expected: Operation) {
    assert_eq!(operation(step), expected);
}

#[rstest]
#[case("decision: rs1 5 -> 4, do: [{scale: 4}]", Some(1), DecisionKind::Resized { from: 5, to: 4 })]
#[case("decision: web/rs2 created, do: [{pause: web}]", Some(2), DecisionKind::Created(None))]
#[case("decision: rs2 created 3, do: [{pause: web}]", Some(2), DecisionKind::Created(Some(3)))]
#[case("decision: rs1 deleted, do: [{pause: web}]", Some(1), DecisionKind::Deleted)]
#[case("decision: web revision=2, do: [{pause: web}]", None, DecisionKind::Revision(2))]
fn reads_decisions_of_during(#[case] during: &str, #[case] set: Option<u32>, #[case] kind: DecisionKind) {
    let case = read(&text(&format!("  - set: {{image: \"app:2\"}}\n    during: {{{during}}}")));
    let Some(InjectedSteps { point: InjectionPoint::Decision(decided), steps }) = &case.steps[0].during else {
        panic!()
    };
    assert_eq!((decided.deployment.as_str(), decided.set, decided.kind), ("web", set, kind));
    assert_eq!(steps.len(), 1);
}

#[test]
fn reads_held_watch_with_and_without_steps() {
    let case = read(&text(
        "  - scale: 12\n    during: {held: replicasets, do: [{scale: 8}]}\n  - scale: 3\n    during: {held: pods}",
    ));
    let held = |at: usize| case.steps[at].during.as_ref().map(|during| (during.point.clone(), during.steps.len()));
    assert_eq!(held(0), Some((InjectionPoint::HeldWatch("replicasets".to_owned()), 1)));
    assert_eq!(held(1), Some((InjectionPoint::HeldWatch("pods".to_owned()), 0)));
}

#[rstest]
#[case("{write: 3, of: replicasets, side: after, action: crash}", "write 3 of replicasets, after it: crash")]
#[case("{write: 1, of: replicasets, action: crash}", "write 1 of replicasets, before it: crash")]
#[case("{write: 2, of: replicasets, side: after, action: handover}", "write 2 of replicasets, after it: handover")]
#[case(
    "{write: 1, of: pods, action: {handover: back}}",
    "write 1 of pods, before it: handover, and back at the next step"
)]
#[case("{write: 1, of: deployments/status, action: drop}", "write 1 of deployments/status, after it: answer lost")]
#[case("{write: 2, of: pods, action: {refuse: 409}}", "write 2 of pods, before it: refused with 409")]
#[case("{write: 1, of: deployments, action: {refuse: 409}}", "write 1 of deployments, before it: refused with 409")]
#[case("{write: 2, of: replicasets, action: {delay: 2s}}", "write 2 of replicasets, before it: late by 2s")]
#[case("{write: 2, of: replicasets, action: cut}", "write 2 of replicasets, before it: connection cut")]
#[case("{watch: replicasets, action: {lag: 300ms}}", "event 1 of replicasets: lags by 300ms")]
#[case("{watch: pods, event: 4, action: expire}", "event 4 of pods: then forgotten")]
#[case("{watch: pods, event: 3, action: {old: 2}}", "event 3 of pods: then a list that is 2 events old")]
#[case("{watch: pods, event: 2, action: repeat}", "event 2 of pods: twice")]
fn reads_faults(#[case] fault: &str, #[case] expected: &str) {
    let case = read(&text(&format!("  - scale: 5\n    fault: {fault}")));
    assert_eq!(case.steps[0].fault.as_ref().unwrap().describe(), expected);
}

#[test]
fn reads_subject_stop_and_start() {
    let case = read(&text("  - subject: stop\n  - scale: 5\n  - subject: start"));
    let lives: Vec<_> = case.steps.iter().map(|step| step.operation.process_action()).collect();
    assert_eq!(lives, [Some(ProcessAction::Stop), None, Some(ProcessAction::Start)]);
    let case = read(&text("  - subject: handover"));
    assert_eq!(case.steps[0].operation.process_action(), Some(ProcessAction::Handover));
}

fn target(kind: &str, name: &str) -> Target {
    Target { kind: kind.to_owned(), name: name.to_owned() }
}

#[test]
fn set_reads_container_and_variables() {
    let operation = operation("set: {container: app, env: {A: \"1\"}}");
    let set = operation.downcast::<SetStep>().unwrap();
    assert_eq!((set.container.as_deref(), &set.image), (Some("app"), &None));
    assert_eq!(set.env.get("A").map(String::as_str), Some("1"));
}

#[test]
fn together_reads_nested_steps() {
    let operation = operation("together: [{scale: 5}, {set: {image: \"app:3\"}}]");
    assert_eq!(operation.nested_steps().len(), 2);
}

#[test]
fn short_deployment_expands_to_manifest() {
    let short = "deployment: {name: api, replicas: 4, image: \"app:1\", maxSurge: 1, maxUnavailable: 25%, minReadySeconds: 5, \
                 progressDeadlineSeconds: 60, revisionHistoryLimit: 2, paused: true, annotations: {a: b}, labels: {c: d}}";
    let case = read(&format!("description: x\ngiven:\n  - {short}\nsteps:\n  - pause: api\n"));
    let DeclaredChange::Object(manifest) = case.given[0].operation.change() else { panic!() };
    assert_eq!(
        *manifest,
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "api", "annotations": {"a": "b"}, "labels": {"c": "d"}},
            "spec": {
                "replicas": 4,
                "selector": {"matchLabels": {"app": "api"}},
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": "25%"}},
                "minReadySeconds": 5,
                "progressDeadlineSeconds": 60,
                "revisionHistoryLimit": 2,
                "paused": true,
                "template": {
                    "metadata": {"labels": {"app": "api"}},
                    "spec": {"containers": [{"name": "app", "image": "app:1"}]},
                },
            },
        })
    );
}

#[rstest]
#[case::unknown_field("  - scale: {replica: 3}", "unknown field `replica`")]
#[case::unknown_operation("  - scael: 3", "unknown field `scael`")]
#[case::expect_alone("  - expect: {alive: []}", "a step without an operation")]
#[case::no_pods_named("  - pods: {}", "`pods` names none")]
#[case::node_without_held_bindings("  - pods: {name: {a: {node: n1}}}", "`node` is only allowed with `bindings: held`")]
#[case::unknown_trait("  - pods: {name: {a: {restart: 3}}}", "unknown field `restart`")]
#[case::unknown_phase("  - pods: {name: {a: {phase: running}}}", "a phase cannot be `running`")]
#[case::ready_without_sign("  - pods: {name: {a: {ready: {since: 2h}}}}", "`2h` has no sign")]
#[case::ready_without_time("  - pods: {name: {a: {ready: {}}}}", "ready since when?")]
#[case::unknown_pod_expected("  - scale: 1\n    expect: {alive: [a]}", "no pod is called `a`")]
#[case::unknown_pod_moved("  - fail: {pods: [a]}", "no pod is called `a`")]
#[case::empty_expect("  - scale: 1\n    expect: {}", "who is expected?")]
#[case::expect_beside_many_steps("  - ready: {pods: all}\n    expect: {alive: []}", "`expect` is for one step")]
#[case::no_such_set("  - scale: {replicaset: wep, replicas: 1}", "unknown ReplicaSet `wep`")]
#[case::scaled_twice("  - scale: {deployment: web, replicaset: rs1, replicas: 1}", "`scale` scales one thing")]
#[case::no_such_owner("  - replicaset: {name: x, image: x, owner: family}", "`family` is not an owner")]
#[case::advance_to("  - advance: {to: 6s, since: x}", "no step before this has the label `x`")]
#[case::advance_without_since("  - advance: {to: 6s}", "`advance` needs both `to` and `since`")]
#[case::word("  - undo", "a step must be a mapping")]
#[case::two_operations("  - scale: 3\n    pause: web", "two operations in one step: `scale` and `pause`")]
#[case::no_operation("  - {}", "a step without an operation")]
#[case::wrong_type("  - scale: \"3\"", "the number of replicas must be a whole number")]
#[case::negative("  - scale: -1", "the number of replicas cannot be -1")]
#[case::absurd("  - scale: 1000000", "the number of replicas cannot be 1000000")]
#[case::no_such_deployment("  - pause: wep", "unknown Deployment `wep`")]
#[case::patch_of_no_such("  - patch: {target: deployment/api, patch: {}}", "unknown Deployment `api`")]
#[case::unknown_kind("  - delete: deploy/web", "unknown kind `deploy`")]
#[case::no_target("  - delete: web", "`web` is not a target")]
#[case::wrong_patch("  - patch: {target: deployment/web, type: json, patch: {}}", "this patch is a list of operations")]
#[case::wrong_cascade("  - delete: {target: deployment/web, cascade: forground}", "the cascade cannot be `forground`")]
#[case::no_pods("  - ready: {pods: 0}", "the number of pods must not be 0")]
#[case::short_pods("  - ready: all", "`ready` must be a mapping")]
#[case::odd_pods("  - ready: {pods: some}", "`some` is not a number of pods")]
#[case::atomic("  - unready: {pods: 2, atomic: true}", "`unready` is never atomic")]
#[case::nothing_set("  - set: {}", "`set` sets nothing")]
#[case::nothing_to_undo("  - undo: {}", "there is nothing to undo")]
#[case::no_time("  - advance: 0s", "the duration must not be zero")]
#[case::no_unit("  - advance: 10", "a duration has a unit")]
#[case::no_duration("  - advance: soon", "`soon` is not a duration")]
#[case::a_lifetime("  - advance: 100years", "the duration is too long")]
#[case::longer_than_can_be_played("  - advance: 31d", "the duration is too long")]
#[case::a_moment_too_far_away(
    "  - scale: 1\n    label: scaled\n  - advance: {to: 31d, since: scaled}",
    "the duration is too long"
)]
#[case::refused_operation_of_nodes("  - ready: {pods: 1}\n    refused: {message: x}", "`ready` cannot be refused")]
#[case::refused_without_message("  - scale: 1\n    refused: {}", "refused without a message")]
#[case::together_of_one("  - together: [{scale: 1}]", "`together` takes two steps or more")]
#[case::together_in_together(
    "  - together: [{scale: 1}, {together: []}]",
    "`together` is not allowed inside `together`"
)]
#[case::later_deployment(
    "  - scale: {deployment: api, replicas: 1}\n  - deployment: {name: api, image: x}",
    "Deployment `api` does not exist yet"
)]
#[case::ambiguous_deployment(
    "  - deployment: {name: api, image: x}\n  - scale: 1",
    "the step does not say which Deployment"
)]
#[case::ambiguous_pods(
    "  - deployment: {name: api, image: x}\n  - ready: {pods: 1}",
    "the step does not say of which Deployment"
)]
#[case::bad_name("  - deployment: {name: Web, image: x}", "`Web` is not a name")]
#[case::no_image("  - deployment: {name: web}", "the deployment has no `image`")]
#[case::recreate_surge(
    "  - deployment: {name: web, image: x, strategy: Recreate, maxSurge: 1}",
    "Recreate has no `maxSurge`"
)]
#[case::both_zero(
    "  - deployment: {name: web, image: x, maxSurge: 0, maxUnavailable: 0}",
    "maxSurge and maxUnavailable cannot both be 0"
)]
#[case::no_percentage(
    "  - deployment: {name: web, image: x, maxSurge: some}",
    "maxSurge must be a number or a percentage"
)]
#[case::no_kind("  - apply: {apiVersion: v1, metadata: {name: x}}", "the manifest has no `kind`")]
#[case::namespace(
    "  - apply: {apiVersion: v1, kind: Secret, metadata: {name: x, namespace: y}}",
    "a case cannot choose its namespace"
)]
#[case::malformed_decision(
    "  - scale: 1\n    during: {decision: rs1 up, do: [{scale: 2}]}",
    "`rs1 up` is not a decision"
)]
#[case::idle_decision(
    "  - scale: 1\n    during: {decision: rs1 5 -> 5, do: [{scale: 2}]}",
    "`rs1 5 -> 5` decides nothing"
)]
#[case::no_replica_set("  - scale: 1\n    during: {decision: r1 5 -> 4, do: [{scale: 2}]}", "`r1` is not a ReplicaSet")]
#[case::ambiguous_decision(
    "  - scale: 1\n    during: {decision: api/rs1 5 -> 4, do: [{scale: 2}]}",
    "unknown Deployment `api`"
)]
#[case::during_without_point("  - scale: 1\n    during: {do: [{scale: 2}]}", "`during` without `decision` or `held`")]
#[case::during_both(
    "  - scale: 1\n    during: {decision: rs1 5 -> 4, held: pods, do: []}",
    "`during` with `decision` and `held`"
)]
#[case::during_without_steps("  - scale: 1\n    during: {decision: rs1 5 -> 4, do: []}", "`during` does nothing")]
#[case::during_without_do("  - scale: 1\n    during: {decision: rs1 5 -> 4}", "`during` without `do`")]
#[case::held_beside_many_steps("  - ready: {pods: all}\n    during: {held: pods}", "`held` on a step of several steps")]
#[case::unknown_held_kind("  - scale: 1\n    during: {held: replicaset}", "what is held cannot be `replicaset`")]
#[case::during_in_during(
    "  - scale: 1\n    during: {held: pods, do: [{scale: 2, during: {held: pods}}]}",
    "`during` is not allowed here"
)]
#[case::during_in_together("  - together: [{scale: 1, fault: {}}, {scale: 2}]", "`fault` is not allowed here")]
#[case::during_and_fault("  - scale: 1\n    during: {held: pods}\n    fault: {}", "`during` and `fault` in one step")]
#[case::advance_in_during(
    "  - scale: 1\n    during: {held: pods, do: [{advance: 1s}]}",
    "`advance` is not allowed inside `together`"
)]
#[case::fault_without_place("  - scale: 1\n    fault: {action: crash}", "`fault` without `write` or `watch`")]
#[case::fault_without_action("  - scale: 1\n    fault: {write: 1, of: replicasets}", "`fault` without `action`")]
#[case::fault_twice(
    "  - scale: 1\n    fault: {write: 1, watch: pods, action: crash}",
    "`fault` with `write` and `watch`"
)]
#[case::fault_of_what("  - scale: 1\n    fault: {write: 1, action: crash}", "a write of what?")]
#[case::fault_of_pod_status(
    "  - scale: 1\n    fault: {write: 1, of: pods/status, action: crash}",
    "what is written cannot be `pods/status`"
)]
#[case::older_than_all(
    "  - scale: 1\n    fault: {watch: pods, event: 2, action: {old: 3}}",
    "a list that is 3 events old"
)]
#[case::fault_too_late(
    "  - scale: 1\n    fault: {write: 1, of: replicasets, action: {delay: 10m}}",
    "the duration is too long"
)]
#[case::lag_too_long("  - scale: 1\n    fault: {watch: pods, action: {lag: 11s}}", "the duration is too long")]
#[case::fault_at_zero(
    "  - scale: 1\n    fault: {write: 0, of: replicasets, action: crash}",
    "the number of a write cannot be 0"
)]
#[case::fault_side(
    "  - scale: 1\n    fault: {write: 1, of: replicasets, side: before, action: drop}",
    "the wrong side"
)]
#[case::fault_refusal(
    "  - scale: 1\n    fault: {write: 1, of: replicasets, action: {refuse: 404}}",
    "`refuse` cannot be 404"
)]
#[case::fault_action(
    "  - scale: 1\n    fault: {write: 1, of: replicasets, action: crahs}",
    "the action cannot be `crahs`"
)]
#[case::fault_event(
    "  - scale: 1\n    fault: {write: 1, of: replicasets, event: 1, action: crash}",
    "`event` does not apply to a `write`"
)]
#[case::fault_lag(
    "  - scale: 1\n    fault: {watch: pods, event: 1, action: {lag: 1s}}",
    "`lag` is not about one event"
)]
#[case::never_started("  - subject: stop", "the subject stays stopped")]
#[case::started_twice("  - subject: start", "the subject runs already")]
#[case::fault_while_stopped(
    "  - subject: stop\n  - scale: 1\n    fault: {}\n  - subject: start",
    "`fault` while the subject is stopped"
)]
fn reports_mistake_in_step(#[case] steps: &str, #[case] expected: &str) {
    let found = findings(&text(steps));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].split_once(": ").unwrap().1, expected);
}

#[rstest]
#[case::empty("", &["1: the file is empty"])]
#[case::no_steps("description: x\ngiven:\n  - deployment: {name: web, image: x}\n", &["1: the case has no steps"])]
#[case::empty_steps("description: x\ngiven:\n  - deployment: {name: web, image: x}\nsteps: []\n", &["4: the case has no steps"])]
#[case::no_description("given:\n  - deployment: {name: web, image: x}\nsteps:\n  - pause: web\n", &["1: the case has no description"])]
#[case::no_deployment("description: x\nsteps:\n  - pause: {}\n", &["1: the case makes no Deployment", "3: the case has no Deployment"])]
#[case::not_held("description: x\ngiven:\n  - deployment: {name: web, image: x}\nsteps:\n  - terminate: {pods: all}\n", &["5: `terminate` without held terminations"])]
#[case::controllers("description: x\ncontrollers: [daemonset]\ngiven:\n  - deployment: {name: web, image: x}\nsteps:\n  - pause: web\n", &["2: a controller cannot be `daemonset`"])]
#[case::nodes_and_held_bindings("description: x\nnodes: [a]\nbindings: held\ngiven:\n  - deployment: {name: web, image: x}\nsteps:\n  - pause: web\n", &["2: `nodes` is not allowed with `bindings: held`"])]
#[case::ambiguous_replica_set("description: x\ngiven:\n  - replicaset: {name: a, image: x}\n  - replicaset: {name: b, image: x}\nsteps:\n  - pods: {name: {c: {ready: true}}}\n", &["6: the pods of which ReplicaSet?"])]
#[case::tags_twice("description: x\ntags: [a, a]\ngiven:\n  - deployment: {name: web, image: x}\nsteps:\n  - pause: web\n", &["2: duplicate tag `a`"])]
#[case::nodes_twice("description: x\nnodes: [a, a]\ngiven:\n  - deployment: {name: web, image: x}\nsteps:\n  - pause: web\n", &["2: duplicate node `a`"])]
#[case::duplicate_key("description: x\ndescription: y\n", &["2: duplicate field `description`"])]
#[case::recording("{\"header\":{}}\n{\"end\":{}}\n", &["1: this is a recording"])]
#[case::not_yaml("description: [x\nsteps: y\n", &["2: this is not YAML"])]
#[case::every_mistake_at_once(
    "description: x\ngiven:\n  - deployment: {name: web, imagine: x}\nsteps:\n  - scale: -1\n  - pause: wep\n",
    &["3: the deployment has no `image`", "3: unknown field `imagine`", "5: the number of replicas cannot be -1", "6: unknown Deployment `wep`"])]
fn reports_mistake_in_case(#[case] text: &str, #[case] expected: &[&str]) {
    assert_eq!(findings(text), expected);
}

#[rstest]
#[case("  - scale: -1\n    refused: {message: must be}")]
#[case("  - deployment: {name: web, image: x, maxSurge: 0, maxUnavailable: 0}\n    refused: {message: may not be 0}")]
#[case("  - undo: {}\n    refused: {message: no rollout history}")]
fn accepts_invalid_values_in_refused_step(#[case] steps: &str) {
    assert_eq!(findings(&text(steps)), Vec::<String>::new());
}

#[test]
fn diagnostics_show_line_and_caret() {
    let error = parse("cases/x.yaml", "x", &text("  - scale: {replicsa: 3}\n  - undo: {}")).unwrap_err();
    assert_snapshot!(error.to_string(), @r#"
    error: unknown field `replicsa`
     --> cases/x.yaml:6:13
      |
    6 |   - scale: {replicsa: 3}
      |             ^^^^^^^^ did you mean `replicas`?
      |
      = help: the fields of `scale` are `deployment`, `replicaset` and `replicas`

    error: there is nothing to undo
     --> cases/x.yaml:7:5
      |
    7 |   - undo: {}
      |     ^^^^ no step before it changes the template
      |
      = help: if the server must say so, add `refused: {message: "…"}`
    "#);
    assert!(error.render(true).contains("\u{1b}["));
}

#[test]
fn file_with_a_path_that_cannot_be_typed_is_refused() {
    let error = |path: &str| parse(path, "x", &text("  - pause: web")).err().map(|error| error.to_string());
    assert!(error("b\u{fffd}d/x.yaml").is_some_and(|why| why.contains("the file's path is not UTF-8")));
    assert!(error("a\nb/x.yaml").is_some_and(|why| why.contains("the file's name is not plain text")));
    assert_eq!(error("ü b/x.yaml"), None);
}

#[test]
fn reports_paths_without_cases() {
    let none = find(&[PathBuf::from("no/such/path")]).unwrap_err();
    let remedy = "name a case, a case file or a folder of them; `lockstep list` shows the cases";
    assert_eq!(none.to_string(), format!("no/such/path does not exist; {remedy}"));
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src");
    assert!(matches!(find(&[source]), Err(CaseError::NoneFound { remedy: None, .. })));
}
