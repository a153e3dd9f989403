use std::sync::Arc;

use lockstep_recording::testing::{
    RecordingBuilder, complete, deployment, owned_set, ready, revision, scaled, with_patch,
};
use lockstep_recording::{Blame, Recording};
use lockstep_timeline::{NormalizedNames, StepId, replay};
use rstest::rstest;
use serde_json::{Value, json};

use super::{BrokenRule, Rule, RuleEvaluator, RuleExpression, RuleTiming};

fn web(replicas: i32) -> Value {
    with_patch(&with_patch(&deployment("web", replicas, "app:1"), &revision(1)), &json!({"status": complete(2)}))
}

/// Two pods, scaled to three by a user: the ReplicaSet goes 2 -> 4 -> 3.
fn builder() -> RecordingBuilder {
    let set = owned_set(&web(2), "1", "app:1", 2);
    RecordingBuilder::rolled_out(2)
        .user_step(1, "scale 3")
        .driver_write(&web(3))
        .subject_write(&scaled(&set, 4))
        .subject_write(&with_patch(&scaled(&set, 3), &json!({"status": ready(3)})))
        .settled()
}

fn rule(when: RuleTiming, text: &str) -> Rule {
    let labels = [("given".to_owned(), 0), ("scaled".to_owned(), 1), ("late".to_owned(), 2)];
    Rule { when, text: text.to_owned(), line: 9, labels: Arc::new(labels.into()) }
}

fn broken(rules: &[Rule], recording: &Recording, complete: bool) -> Vec<(StepId, BrokenRule)> {
    let mut asking = RuleEvaluator::of(rules);
    replay(recording, &NormalizedNames::of(recording), &mut [&mut asking]);
    asking.broken_rules(complete)
}

fn first(rules: &[Rule], recording: &Recording) -> Option<BrokenRule> {
    broken(rules, recording, true).into_iter().next().map(|(_, broken)| broken)
}

#[rstest]
#[case::always(RuleTiming::Always, "replicaSets.map(r, r.spec.replicas).sum() <= 4", true)]
#[case::always_broken(RuleTiming::Always, "replicaSets.map(r, r.spec.replicas).sum() <= 3", false)]
#[case::never(RuleTiming::Never, "replicaSets.exists(r, r.spec.replicas > 4)", true)]
#[case::never_broken(RuleTiming::Never, "replicaSets.exists(r, r.spec.replicas == 4)", false)]
#[case::eventually(RuleTiming::Eventually, "replicaSets[0].spec.replicas == 4", true)]
#[case::eventually_not_in_given(
    RuleTiming::Eventually,
    "replicaSets[0].spec.replicas == 2 && deployment.spec.replicas == 2",
    false
)]
#[case::finally(RuleTiming::Finally, "replicaSets[0].status.readyReplicas == 3", true)]
#[case::finally_broken(RuleTiming::Finally, "replicaSets[0].spec.replicas == 4", false)]
#[case::zeros_are_there(
    RuleTiming::Always,
    "deployment.status.unavailableReplicas == 0 && !deployment.spec.paused",
    true
)]
#[case::no_minimum_ready_time(
    RuleTiming::Always,
    "deployment.spec.minReadySeconds == 0 && replicaSets.all(set, set.spec.minReadySeconds == 0)",
    true
)]
#[case::shared_names(RuleTiming::Finally, "replicaSets[0].name == 'rs1' && deployment.name == 'web'", true)]
#[case::count(
    RuleTiming::Finally,
    "count('rs1 created 2') == 1 && count('rs1') == 3 && count('rs1 2 -> 4') == 1",
    true
)]
#[case::count_of_none(RuleTiming::Finally, "count('deleted') == 0", true)]
#[case::settled_states_only(
    RuleTiming::Always,
    "!settled || replicaSets[0].spec.replicas == deployment.spec.replicas",
    true
)]
#[case::by_step(RuleTiming::Always, "step == 1 || deployment.spec.replicas == 2", true)]
#[case::by_label(RuleTiming::Always, "began('scaled') || deployment.spec.replicas == 2", true)]
#[case::by_label_too_late(RuleTiming::Always, "began('late') || deployment.spec.replicas == 2", false)]
#[case::by_label_of_given(RuleTiming::Never, "!began('given')", true)]
#[case::not_restarted(RuleTiming::Always, "restarts('deployment/web') == 0", true)]
#[case::no_such_field(RuleTiming::Always, "deployment.spec.size == 3", false)]
#[case::no_such_workload(RuleTiming::Never, "restarts('deployment/api') > 0", false)]
#[case::no_boolean(RuleTiming::Always, "deployment.spec.replicas", false)]
#[case::no_deployment(RuleTiming::Always, "statefulSets[0].spec.replicas == 3", false)]
fn evaluates_rule_on_recording(#[case] when: RuleTiming, #[case] text: &str, #[case] holds: bool) {
    let found = first(&[rule(when, text)], &builder().end());
    assert_eq!(found.is_none(), holds, "{found:?}");
}

#[test]
fn broken_rule_shows_frame_and_values() {
    let rule = rule(
        RuleTiming::Always,
        "step == 0 || (replicaSets.map(r, r.spec.replicas).sum() <= deployment.spec.replicas)",
    );
    let found = first(&[rule], &builder().end()).unwrap();
    insta::assert_snapshot!(found, @"rule `always: step == 0 || (replicaSets.map(r, r.spec.replicas).sum() <= deployment.spec.replicas)` (line 9) does not hold after ReplicaSet rs1 was written (rs1 2 -> 4), version 2 of this step: it is false; step = 1, replicaSets.map(r, r.spec.replicas).sum() = 4, deployment.spec.replicas = 3");
}

#[test]
fn values_of_broken_rule_have_no_words_of_its_comments() {
    let text = "// step + pods, it's \"more\nstep == 0 || // (größe\n  (deployment.name + 'http://' == 'x' // settled\n && step < 9)";
    let found = first(&[rule(RuleTiming::Finally, text)], &builder().end()).unwrap();
    let values: Vec<_> = found.values.iter().map(|(operand, value)| format!("{operand} = {value}")).collect();
    assert_eq!(values, ["step = 1", "deployment.name = \"web\""]);
}

#[rstest]
#[case::step("step < 2 || pods.size() == 3", true)]
#[case::comment("pods.size() == 3 // after each step", false)]
fn rule_depends_on_steps_by_its_expression(#[case] text: &str, #[case] depends: bool) {
    assert_eq!(rule(RuleTiming::Always, text).depends_on_step(), depends);
}

#[test]
fn template_change_by_subject_is_a_restart() {
    let restarted = with_patch(&web(3), &json!({"spec": {"template": {"metadata": {"annotations": {"at": "1"}}}}}));
    let finally = |times: u32| [rule(RuleTiming::Finally, &format!("restarts('deployment/web') == {times}"))];
    assert_eq!(first(&finally(1), &builder().user_step(2, "x").subject_write(&restarted).settled().end()), None);
    assert_eq!(first(&finally(0), &builder().user_step(2, "x").driver_write(&restarted).settled().end()), None);
}

#[test]
fn recreated_job_and_job_of_cron_job_are_restarts() {
    let job = |name: &str, owner: Value| json!({"kind": "Job", "metadata": {"name": name, "ownerReferences": owner}});
    let cron_job = json!({"kind": "CronJob", "metadata": {"name": "backup"}});
    let given =
        RecordingBuilder::new().given("jobs").driver_write(&job("load", json!([]))).driver_write(&cron_job).settled();
    let again = given
        .user_step(1, "x")
        .delete(&job("load", json!([])), lockstep_recording::WriterRole::Other)
        .foreign_create(&job("load", json!([])))
        .foreign_create(&job("backup-x", json!([{"kind": "CronJob", "name": "backup"}])))
        .foreign_create(&job("other", json!([])))
        .settled()
        .end();
    for (text, holds) in [
        ("restarts('job/load') == 1", true),
        ("restarts('cronjob/backup') == 1 && jobs.size() == 3 && cronJobs[0].name == 'backup'", true),
        ("restarts('job/other') == 0", true),
        ("restarts('job/load') == 0", false),
    ] {
        assert_eq!(first(&[rule(RuleTiming::Finally, text)], &again).is_none(), holds, "{text}");
    }
}

#[test]
fn rollout_is_restarted_by_template_or_time() {
    let rollout = with_patch(&deployment("web", 1, "app:1"), &json!({"kind": "Rollout"}));
    let builder = || RecordingBuilder::new().given("rollout").driver_write(&rollout).settled().user_step(1, "x");
    let template = with_patch(&rollout, &json!({"spec": {"template": {"metadata": {"annotations": {"at": "1"}}}}}));
    let time = with_patch(&template, &json!({"spec": {"restartAt": "2026-11-25T10:00:00Z"}}));
    let scaled = with_patch(&time, &json!({"spec": {"replicas": 2}}));
    let recording = builder().subject_write(&template).subject_write(&time).subject_write(&scaled).settled().end();
    for (text, holds) in [
        ("restarts('rollout/web') == 2", true),
        ("rollouts.size() == 1 && rollouts[0].spec.restartAt == '2026-11-25T10:00:00Z'", true),
        ("restarts('rollout/web') == 3", false),
    ] {
        assert_eq!(first(&[rule(RuleTiming::Finally, text)], &recording).is_none(), holds, "{text}");
    }
    let untouched = builder().driver_write(&time).settled().end();
    assert_eq!(first(&[rule(RuleTiming::Finally, "restarts('rollout/web') == 0")], &untouched), None);
}

#[test]
fn webhook_messages_are_visible_from_next_state_on() {
    let post = |builder: RecordingBuilder, text: &str, status: u16| {
        builder.request("create", "webhook", status).with_message(text)
    };
    let builder = post(builder().user_step(2, "x"), "one", 200);
    let recording = post(post(builder, "two", 200), "refused", 500).settled().end();
    for (when, text, holds) in [
        (RuleTiming::Finally, "posts == ['one', 'two']", true),
        (RuleTiming::Finally, "posts.size() == 3", false),
        (RuleTiming::Always, "step == 2 || posts.size() == 0", true),
        (RuleTiming::Eventually, "posts.exists(p, p.contains('tw'))", true),
    ] {
        assert_eq!(first(&[rule(when, text)], &recording).is_none(), holds, "{text}");
    }
}

/// A workload that never changes is known all the same: the rule is false, not impossible to
/// evaluate.
#[test]
fn unchanged_workload_has_no_restarts() {
    let set = with_patch(&deployment("web", 1, "app:1"), &json!({"kind": "DaemonSet"}));
    let alone =
        RecordingBuilder::new().given("daemonset").driver_write(&set).settled().user_step(1, "x").settled().end();
    let finally = |times: u32| [rule(RuleTiming::Finally, &format!("restarts('daemonset/web') == {times}"))];
    assert_eq!(first(&finally(0), &alone), None);
    let broken = first(&finally(1), &alone).unwrap();
    assert!(!broken.is_unevaluable && broken.why.contains("it is false"), "{broken:?}");
}

#[test]
fn rule_about_deployment_needs_one() {
    let always = rule(RuleTiming::Always, "deployment.spec.replicas >= 0");
    let lone = with_patch(&owned_set(&web(1), "1", "app:1", 1), &json!({"metadata": {"ownerReferences": null}}));
    let none =
        RecordingBuilder::new().given("replicaset").driver_write(&lone).settled().user_step(1, "x").settled().end();
    assert_eq!(first(std::slice::from_ref(&always), &none).unwrap().why, "there was no Deployment to ask it of");
    let gone = builder().user_step(2, "delete").delete(&web(3), lockstep_recording::WriterRole::Driver).settled().end();
    assert_eq!(first(&[always], &gone), None);
    assert_eq!(
        first(&[rule(RuleTiming::Finally, "deployment.spec.replicas == 3")], &gone).unwrap().why,
        "the case has no Deployment"
    );
}

#[test]
fn several_deployments_need_the_list() {
    let api = deployment("api", 1, "app:1");
    let both = builder().user_step(2, "api").driver_write(&api).settled().end();
    let one = first(&[rule(RuleTiming::Always, "deployment.spec.replicas > 0")], &both).unwrap();
    assert_eq!(one.why, "there are 2 Deployments; use `deployments`");
    assert_eq!(first(&[rule(RuleTiming::Always, "deployments.all(d, d.spec.replicas > 0)")], &both), None);
}

#[test]
fn incomplete_recording_does_not_break_eventually_and_finally() {
    let rules = [
        rule(RuleTiming::Eventually, "deployment.spec.replicas == 9"),
        rule(RuleTiming::Finally, "deployment.spec.replicas == 9"),
    ];
    assert_eq!(broken(&rules, &builder().end(), true).len(), 2);
    assert_eq!(broken(&rules, &builder().unsettled(Blame::Environment, "x").aborted(), false), []);
}

#[test]
fn secrets_have_only_names() {
    let secret = json!({"kind": "Secret", "metadata": {"name": "key", "annotations": {"last": "hunter2"}}, "data": {"password": "hunter2"}});
    let recording = builder().user_step(2, "x").driver_write(&secret).settled().end();
    assert_eq!(first(&[rule(RuleTiming::Finally, "secrets[0].name == 'key'")], &recording), None);
    for text in ["secrets[0].data.password == ''", "has(secrets[0].metadata.annotations)", "has(secrets[0].data)"] {
        let found = first(&[rule(RuleTiming::Finally, text)], &recording).unwrap();
        assert!(!found.to_string().contains("hunter2"), "{found}");
    }
}

#[rstest]
#[case::syntax("deployment.spec. == 3", "this is not CEL", "=")]
#[case::unclosed("pods.filter(p, p.name == 'a'", "this is not CEL", "")]
#[case::variable("replicasets.size() == 2", "unknown name `replicasets`", "replicasets")]
#[case::function("restart('deployment/web') == 1", "unknown function `restart`", "restart")]
#[case::method("pods.length() == 1", "unknown function `length`", "length")]
#[case::workload("restarts('web') == 1", "wrong argument of `restarts`", "web")]
#[case::decision("count('rs2 creatd') == 1", "wrong argument of `count`", "rs2 creatd")]
#[case::one_word("count('creatd') == 1", "wrong argument of `count`", "creatd")]
#[case::computed("count(deployment.name) == 1", "wrong argument of `count`", "")]
#[case::message("Pod{name: 'a'} == pods[0]", "unknown type `Pod`", "")]
#[case::constant("1 + 1 == 2", "the rule is always the same", "1 + 1 == 2")]
#[case::commented("// größe: size\nreplicasets.size() == 2", "unknown name `replicasets`", "replicasets")]
#[case::empty("", "this is not CEL", "")]
fn finds_mistakes_without_recording(#[case] text: &str, #[case] message: &str, #[case] at: &str) {
    let mistakes = RuleExpression::read(text).unwrap_err();
    assert_eq!(mistakes[0].message, message, "{mistakes:?}");
    if !at.is_empty() {
        assert_eq!(&text[mistakes[0].at.clone()], at, "{mistakes:?}");
    }
}

#[rstest]
#[case::deeper(17, "the rule is nested too deeply")]
#[case::far_deeper(450, "the rule is nested too deeply")]
#[case::long(20_000, "the rule is too long")]
fn refuses_deep_nesting(#[case] depth: usize, #[case] message: &str) {
    let deep = format!("{}deployment.spec.paused{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(RuleExpression::read(&deep).unwrap_err()[0].message, message);
}

#[test]
fn refuses_many_operators_in_a_row() {
    for text in [format!("deployment.spec.replicas{} > 0", " + 1".repeat(200)), "!".repeat(900) + "settled"] {
        assert_eq!(RuleExpression::read(&text).unwrap_err()[0].message, "the rule has too many operators");
    }
}

#[rstest]
#[case::a_long_path(format!("has(deployment.spec.template.spec{})", ".x".repeat(36)))]
#[case::brackets(format!("{}deployment.spec.paused{}", "(".repeat(16), ")".repeat(16)))]
#[case::a_long_sum(format!("deployment.spec.replicas{} > 0", " + 1".repeat(37)))]
#[case::many_signs(format!("{}deployment.spec.paused", "!".repeat(38)))]
#[case::a_long_disjunction(format!("deployment.spec.paused{}", " || true".repeat(120)))]
fn accepts_expressions_within_the_limits(#[case] text: String) {
    let found = first(&[rule(RuleTiming::Never, &text)], &builder().end());
    assert!(found.is_none_or(|broken| !broken.why.starts_with("it is not a rule")));
}

#[rstest]
#[case::field("deployment.spec.replcas == 3", "a Deployment's spec has no field `replcas`", "replcas")]
#[case::field_by_text("deployment.spec['size'] == 3", "a Deployment's spec has no field `size`", "size")]
#[case::field_never_reached(
    "settled || replicaSets[0].spec.paused",
    "a ReplicaSet's spec has no field `paused`",
    "paused"
)]
#[case::field_in_a_macro("pods.all(p, p.stauts.phase == 'Running')", "a pod has no field `stauts`", "stauts")]
#[case::asked_for("has(deployment.spec.size)", "a Deployment's spec has no field `size`", "size")]
#[case::of_a_list("replicaSets.spec.replicas == 3", "a list has no field `spec`", "spec")]
#[case::of_a_number("deployment.spec.replicas.value == 3", "a whole number has no field `value`", "value")]
#[case::of_a_secret(
    "secrets[0].data.password == ''",
    "a Secret, of which rules see the name has no field `data`",
    "data"
)]
#[case::number("deployment.spec.replicas", "a rule must be true or false", "deployment.spec.replicas")]
#[case::number_of("count('rs1')", "a rule must be true or false", "count('rs1')")]
#[case::filtered("pods.filter(p, p.name == 'a')", "a rule must be true or false", "pods.filter(p, p.name == 'a')")]
#[case::operand("settled && deployment.spec.replicas", "this is neither true nor false", "replicas")]
#[case::predicate("pods.all(p, p.name)", "this is neither true nor false", "name")]
#[case::number_and_text("step == '1'", "a whole number and a string cannot be combined", "step")]
#[case::text_and_number("deployment.name < 3", "a string and a whole number cannot be combined", "name")]
#[case::list_and_number("pods >= 1", "a list and a whole number cannot be combined", "pods")]
#[case::sum_of_texts("pods.map(p, p.name).sum() == 1", "`sum` takes a list of whole numbers", "pods")]
#[case::size_of_a_number("size(step) == 1", "`size` takes a list, a map or a string", "step")]
#[case::arity("pods.size(1) == 1", "`size` of so many", "size")]
#[case::no_arguments("deployment.name.startsWith()", "`startsWith` of one", "startsWith")]
#[case::pattern("deployment.name.matches('[')", "this is not a regular expression", "matches")]
#[case::difference("deployment.name - 1 == 0", "a string and a whole number cannot be combined", "name")]
#[case::key("pods['a'].name == 'a'", "a string names nothing in a list", "pods")]
#[case::nothing_in_it("step in ['1', '2']", "a whole number and a list cannot be combined", "step")]
fn finds_type_errors_without_recording(#[case] text: &str, #[case] message: &str, #[case] at: &str) {
    let mistakes = RuleExpression::read(text).unwrap_err();
    assert_eq!(mistakes[0].message, message, "{mistakes:?}");
    assert_eq!(&text[mistakes[0].at.clone()], at, "{mistakes:?}");
}

#[rstest]
#[case("replicaSets.map(r, r.spec.replicas).sum() <= deployment.spec.replicas + 1")]
#[case("deployment.metadata.annotations['deployment.kubernetes.io/revision'] == '1'")]
#[case("deployment.status.conditions.exists(c, c.type == 'Progressing' && c.status != 'False')")]
#[case("pods.filter(p, has(p.metadata.deletionTimestamp)).size() == 0")]
#[case("pods.all(p, p.spec.containers[0].image == 'app:1')")]
#[case("pods.map(p, p.spec.containers.size()).sum() >= 0")]
#[case("deployment.spec.template.metadata.annotations.exists(a, a.startsWith('checksum/'))")]
#[case("!('x' in deployment.metadata.labels) || int(deployment.metadata.labels['x']) > 1")]
#[case("replicaSets.map(r, r.spec.replicas).all(n, n >= 0) && max(1, step) >= 1")]
#[case("(settled ? replicaSets.size() : 1) >= 1 && step in [0, 1, 2]")]
#[case(
    "has(deployment.spec.strategy.rollingUpdate.maxSurge) ? deployment.spec.strategy.rollingUpdate.maxSurge != 0 : true"
)]
#[case("configMaps.exists_one(c, has(c.data.k) && c.data.k.contains('x')) || settled")]
#[case("size(pods.map(p, p.name) + ['a']) >= 1 && double(step) < 2.5")]
fn accepts_matching_types(#[case] text: &str) {
    assert_eq!(RuleExpression::read(text).map(|_| ()), Ok(()));
}

#[rstest]
#[case::key(RuleTiming::Always, "deployment.metadata.labels['tier'] == 'front'", "No such key")]
#[case::index(RuleTiming::Finally, "replicaSets[7].spec.replicas == 3", "")]
#[case::function(RuleTiming::Never, "restarts('deployment/api') > 0", "")]
#[case::not_a_boolean(RuleTiming::Always, "deployment.spec.template.spec.containers", "it is neither true nor false")]
#[case::never_came(RuleTiming::Eventually, "replicaSets[7].spec.replicas == 3", "")]
fn rule_that_cannot_be_evaluated_is_the_cases_fault(#[case] when: RuleTiming, #[case] text: &str, #[case] why: &str) {
    let found = first(&[rule(when, text)], &builder().end()).unwrap();
    assert!(found.is_unevaluable && found.why.contains(why), "{found:?}");
    assert!(found.to_string().contains("cannot be evaluated"), "{found}");
    let asked = format!("{text} || true");
    assert!(RuleExpression::read(&asked).is_ok() || text.ends_with("containers"));
}

#[test]
fn eventually_may_fail_before_it_comes_true() {
    let rule = rule(RuleTiming::Eventually, "replicaSets[0].spec.replicas == 4 && step == 1");
    assert_eq!(first(&[rule], &builder().end()), None);
}
