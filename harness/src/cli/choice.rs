//! Chooses the selected cases that apply to a subject: those that judge a controller that it
//! brings, with a restart profile that it has.
//!
//! Only the user knows what an external program brings: the Deployment controller unless
//! `--controllers` says otherwise, and one restart profile, `--profile`. All other cases are left
//! out, with a note for each reason. Pure.

use std::collections::BTreeSet;

use lockstep_case::filter::labels;
use lockstep_case::model::{ClockKind, DeclaredChange, Fault, FaultPoint, InjectedSteps, InjectionPoint, Step};
use lockstep_case::rules::Expectation;
use lockstep_case::{Case, RestartProfile};
use lockstep_recording::controllers::{Controller, ControllerSet};
use lockstep_subject::{SubjectError, SubjectSpec};
use lockstep_support::pluralize;
use lockstep_workload::Workload;

use super::promised_bounds::has_other_bounds;

/// What a subject can be judged on, as its user declares.
#[derive(Debug)]
pub(super) struct SubjectScope<'a> {
    /// The controllers that it brings; `None` if it brings any that a case judges.
    pub(super) controllers: Option<&'a ControllerSet>,
    /// Whether it is the ReplicaSet controller in every case, also where the case does not judge
    /// that one.
    pub(super) has_replica_sets: bool,
    /// Its restart profile; `None` if each case configures it.
    pub(super) profile: Option<RestartProfile>,
    /// Whether it takes restart options.
    pub(super) takes_options: bool,
    /// The kind that stands in for Deployments, overriding that of a case.
    pub(super) workload: Option<&'a Workload>,
    /// Whether it is played in virtual time.
    pub(super) is_virtual: bool,
    /// Whether it is known to handle Deployments, so that cases about another kind are played on
    /// Deployments.
    pub(super) has_deployments: bool,
    /// The subjects, some of which lack some restart options.
    pub(super) specs: &'a [SubjectSpec],
}

/// The cases for a subject, and notes about the others.
#[derive(Debug, Default)]
pub(super) struct CaseChoice {
    /// The cases for the subject.
    pub(super) cases: Vec<Case>,
    /// A line for each reason to leave cases out, and for each named case that is left out.
    pub(super) notes: Vec<String>,
}

/// Why a case does not apply to a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExclusionReason {
    Controllers,
    /// It judges a controller that a subject is known not to have.
    Lacks(Controller),
    /// It keeps pods from a Deployment controller, and the subject is the ReplicaSet controller as
    /// well, which would not see them either.
    PodsWithheld,
    Profile(RestartProfile),
    Options,
    /// It has times of day, and the subject runs in real time.
    Clock,
    Workload,
    /// Its Deployments have other bounds than the workload has always.
    Bounds,
    /// It is about another kind than `--workload`.
    OtherKind,
    /// It is about another kind than Deployments, and the user does not say that the subject
    /// handles that kind.
    NotDeployments,
}

impl SubjectScope<'_> {
    /// Choose the cases for the subject. `is_named` says whether a case was named by its own path.
    /// The path of a file with several cases names those for the subject, if there are any.
    pub(super) fn choose(&self, cases: Vec<Case>, is_named: impl Fn(&Case) -> bool) -> CaseChoice {
        let mut choice = CaseChoice::default();
        let mut left_out = Vec::new();
        for case in cases {
            match self.exclusion_reason(&case) {
                None => choice.cases.push(case),
                Some(why) => left_out.push((case, why)),
            }
        }
        let files: BTreeSet<String> = choice.cases.iter().map(|case| case.path.clone()).collect();
        let is_named = |case: &Case| is_named(case) && !files.contains(&case.path);
        for (case, why) in left_out.iter().filter(|(case, _)| is_named(case)) {
            choice.notes.push(format!("{} is left out: {}", case.argument(), describe_exclusion(case, *why)));
        }
        let unnamed: Vec<_> = left_out.iter().filter(|(case, _)| !is_named(case)).collect();
        let of = |reason: ExclusionReason| unnamed.iter().filter(move |(_, why)| *why == reason).map(|(case, _)| case);
        let count = |reason: ExclusionReason| match of(reason).count() {
            0 => None,
            some => Some(pluralize(some, "case")),
        };
        if let Some(cases) = count(ExclusionReason::Controllers) {
            let others: ControllerSet =
                of(ExclusionReason::Controllers).flat_map(|case| case.controllers.iter()).collect();
            let line = format!("{cases} of other controllers left out: --controllers {others} selects them");
            choice.notes.push(line);
        }
        for controller in Controller::ALL {
            if let Some(cases) = count(ExclusionReason::Lacks(controller)) {
                let names: Vec<_> =
                    self.specs.iter().filter(|spec| lacks(spec, controller)).map(ToString::to_string).collect();
                let (subjects, title) = (names.join(" and "), controller.title());
                choice.notes.push(format!("{cases} of the {title} left out, which {subjects} does not have"));
            }
        }
        if let Some(cases) = count(ExclusionReason::PodsWithheld) {
            let line = format!(
                "{cases} left out for keeping pods from the Deployment controller alone: the subject is the ReplicaSet controller too"
            );
            choice.notes.push(line);
        }
        for profile in RestartProfile::ALL {
            if let Some(cases) = count(ExclusionReason::Profile(profile)) {
                let line = format!("{cases} of restart profile {profile} left out: --profile {profile} selects them");
                choice.notes.push(line);
            }
        }
        if let Some(cases) = count(ExclusionReason::Options) {
            let line = format!("{cases} with restart options left out: the subject cannot be given them");
            choice.notes.push(line);
        }
        if let Some(cases) = count(ExclusionReason::Clock) {
            choice.notes.push(format!("{cases} with times of day left out: the subject runs in real time"));
        }
        if let Some(cases) = count(ExclusionReason::Workload) {
            let kinds: BTreeSet<_> =
                of(ExclusionReason::Workload).filter_map(|_| Some(&*self.workload?.kind)).collect();
            let kinds: Vec<_> = kinds.into_iter().collect();
            choice.notes.push(format!("{cases} left out for what a {} does not have", kinds.join(" and a ")));
        }
        if let (Some(cases), Some(workload)) = (count(ExclusionReason::Bounds), self.workload) {
            let kind = &workload.kind;
            choice
                .notes
                .push(format!("{cases} left out, whose maxSurge or maxUnavailable is not what a {kind} always has"));
        }
        if let Some(cases) = count(ExclusionReason::OtherKind) {
            choice.notes.push(format!("{cases} about another kind left out: --workload names that one"));
        }
        if let Some(cases) = count(ExclusionReason::NotDeployments) {
            let kinds: BTreeSet<_> = of(ExclusionReason::NotDeployments).map(workload_kind).collect();
            let kinds: Vec<_> = kinds.into_iter().collect();
            choice.notes.push(format!(
                "{cases} about another kind ({}) left out: --workload selects them, where the subject looks after that kind",
                kinds.join(", ")
            ));
        }
        let on_deployments =
            choice.cases.iter().filter(|case| case.workload.is_some() && self.workload.is_none()).count();
        if on_deployments > 0 {
            let many = pluralize(on_deployments, "case");
            choice
                .notes
                .push(format!("{many} about another kind played on Deployments, as the subject looks after those"));
        }
        choice
    }

    fn exclusion_reason(&self, case: &Case) -> Option<ExclusionReason> {
        if self.controllers.is_some_and(|brings| brings.first_missing(&case.controllers).is_some()) {
            return Some(ExclusionReason::Controllers);
        }
        if case.clock == ClockKind::Virtual && !self.is_virtual {
            return Some(ExclusionReason::Clock);
        }
        let lacking = |spec: &SubjectSpec| case.controllers.iter().find(|one| lacks(spec, *one));
        if let Some(controller) = self.specs.iter().find_map(lacking) {
            return Some(ExclusionReason::Lacks(controller));
        }
        if self.has_replica_sets && !case.controllers.has(Controller::ReplicaSet) && withholds_pods(case) {
            return Some(ExclusionReason::PodsWithheld);
        }
        if let (Some(wanted), Some(declared)) = (self.workload, &case.workload)
            && !wanted.is_of_kind(declared)
        {
            return Some(ExclusionReason::OtherKind);
        }
        if self.workload.is_none() && case.workload.is_some() && !self.has_deployments {
            return Some(ExclusionReason::NotDeployments);
        }
        if let Some(workload) = self.workload {
            let only_deployments = case.controllers == ControllerSet::default();
            let (labels, by_rules) = (labels(case), case.expectation == Expectation::Rules);
            let is_about = |word: &str| {
                labels.contains(word) || case.area() == word || patches(case, word) || word == "rules" && by_rules
            };
            let lacks = workload.leaves_out(is_about) || !only_deployments;
            let has_others = || has_other_bounds(case, workload).then_some(ExclusionReason::Bounds);
            return lacks.then_some(ExclusionReason::Workload).or_else(has_others);
        }
        if !case.controllers.has(Controller::ConfigRestart) {
            return None;
        }
        if self.profile.is_some_and(|profile| profile != case.restart.profile) {
            return Some(ExclusionReason::Profile(case.restart.profile));
        }
        let lacks = self.specs.iter().any(|spec| spec.lacks_restart_options(&case.restart).is_some());
        (lacks || !self.takes_options && !case.restart.is_profile_alone()).then_some(ExclusionReason::Options)
    }
}

/// Whether a subject is known not to have a controller.
fn lacks(spec: &SubjectSpec, controller: Controller) -> bool {
    let judged = ControllerSet::from_iter([controller]);
    matches!(spec.can_bring(&judged), Err(SubjectError::Lacks { .. }))
}

/// Whether the subject learns late of pods in a step of the case.
fn withholds_pods(case: &Case) -> bool {
    let is_of_pods = |fault: &Fault| matches!(&fault.point, FaultPoint::Watch { resource, .. } if resource == "pods");
    let withholds = |step: &Step| {
        let is_held = |during: &InjectedSteps| during.point == InjectionPoint::HeldWatch("pods".to_owned());
        step.during.as_ref().is_some_and(is_held) || step.fault.iter().flat_map(Fault::all).any(is_of_pods)
    };
    case.given.iter().chain(&case.steps).any(withholds)
}

/// Whether a patch of the case contains this word as a value.
fn patches(case: &Case, word: &str) -> bool {
    let quoted = format!("\"{word}\"");
    let sets = |step: &Step| {
        let patch = |step: &Step| match step.operation.change() {
            DeclaredChange::Patch(_, _, patch) => patch.to_string().contains(&quoted),
            _ => false,
        };
        patch(step) || step.operation.nested_steps().iter().any(patch)
    };
    case.given.iter().chain(&case.steps).any(sets)
}

/// The kind that a case declares.
fn workload_kind(case: &Case) -> &str {
    case.workload.as_ref().map_or("Deployment", |workload| &workload.kind)
}

/// The reason why a case is left out, and the flag that selects it.
fn describe_exclusion(case: &Case, why: ExclusionReason) -> String {
    match why {
        ExclusionReason::Controllers => {
            let judged = &case.controllers;
            format!("it judges {judged}, which the subject does not bring; --controllers {judged} selects it")
        }
        ExclusionReason::Lacks(controller) => {
            format!("it judges the {}, which the subject does not have", controller.title())
        }
        ExclusionReason::PodsWithheld => {
            let judged = &case.controllers;
            format!(
                "it keeps pods from the Deployment controller alone, and the subject is the ReplicaSet controller as well; \
                 --controllers {judged} selects it"
            )
        }
        ExclusionReason::Profile(profile) => {
            format!("it is of restart profile {profile}; --profile {profile} selects it")
        }
        ExclusionReason::Workload => "the workload has nothing that stands in for what it is about".to_owned(),
        ExclusionReason::Bounds => "its maxSurge or maxUnavailable is not what the workload always has".to_owned(),
        ExclusionReason::OtherKind => format!("it is about a {}; --workload names another kind", workload_kind(case)),
        ExclusionReason::NotDeployments => {
            let kind = workload_kind(case);
            format!("it is about a {kind}; --workload selects it, where the subject looks after that kind")
        }
        ExclusionReason::Clock => "it has times of day, and the subject runs in real time".to_owned(),
        ExclusionReason::Options => "it sets restart options that the subject cannot be given".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use lockstep_case as case;

    use super::*;

    fn a_case(name: &str, more: &str) -> Case {
        let text = format!(
            "description: x\n{more}given:\n  - deployment: {{name: web, replicas: 2, image: \"app:1\"}}\nsteps:\n  - scale: 3\n"
        );
        case::parse(&format!("cases/{name}.yaml"), name, &text).unwrap()
    }

    fn collection() -> Vec<Case> {
        let restarts = |profile: &str| {
            format!(
                "controllers: [config-restart]\nrestart: {profile}\nexpectation: rules\nrules: {{finally: [\"settled\"]}}\n"
            )
        };
        vec![
            a_case("a/deployment", ""),
            a_case("a/replicaset", "controllers: [replicaset]\n"),
            a_case("a/safe", &restarts("{profile: safe}")),
            a_case("a/xing", &restarts("{profile: xing}")),
            a_case("a/grace", &restarts("{profile: xing, gracePeriod: 30s}")),
        ]
    }

    fn choose_cases(controllers: &str, profile: RestartProfile, named_case: &str) -> (Vec<String>, Vec<String>) {
        let controllers: ControllerSet = controllers.parse().unwrap();
        let scope = SubjectScope {
            controllers: Some(&controllers),
            has_replica_sets: false,
            profile: Some(profile),
            takes_options: false,
            workload: None,
            is_virtual: true,
            has_deployments: false,
            specs: &[],
        };
        let CaseChoice { cases, notes } = scope.choose(collection(), |case| case.name == named_case);
        (cases.into_iter().map(|case| case.name).collect(), notes)
    }

    /// The scope of subjects whose users limit nothing.
    fn whole_scope(specs: &[SubjectSpec]) -> SubjectScope<'_> {
        SubjectScope {
            controllers: None,
            has_replica_sets: false,
            profile: None,
            takes_options: true,
            workload: None,
            is_virtual: true,
            has_deployments: true,
            specs,
        }
    }

    #[test]
    fn cases_with_times_of_day_are_for_virtual_time() {
        let cases = || vec![a_case("a/timed", "clock: virtual\n"), a_case("a/other", "clock: any\n")];
        let of =
            |is_virtual| SubjectScope { is_virtual, ..whole_scope(&[]) }.choose(cases(), |case| case.name == "a/timed");
        assert_eq!((of(true).cases.len(), of(true).notes.len()), (2, 0));
        let CaseChoice { cases, notes } = of(false);
        assert_eq!(cases.iter().map(|case| case.name.as_str()).collect::<Vec<_>>(), ["a/other"]);
        assert_eq!(notes, ["cases/a/timed.yaml is left out: it has times of day, and the subject runs in real time"]);
    }

    #[test]
    fn replicaset_controller_gets_no_cases_that_keep_pods_from_a_deployment_controller() {
        let withheld = |name: &str, controllers: &str| {
            let text = format!(
                "description: x\n{controllers}given:\n  - deployment: {{name: web, replicas: 2, image: \"app:1\"}}\n\
                 steps:\n  - scale: 3\n    during: {{held: pods}}\n"
            );
            case::parse(&format!("cases/{name}.yaml"), name, &text).unwrap()
        };
        let cases = || vec![withheld("a/d", ""), withheld("a/e", ""), withheld("a/r", "controllers: [replicaset]\n")];
        let of = |has_replica_sets: bool| {
            let scope = SubjectScope { has_replica_sets, ..whole_scope(&[]) };
            scope.choose(cases(), |case| case.name == "a/d")
        };
        assert_eq!((of(false).cases.len(), of(false).notes.len()), (3, 0));
        let CaseChoice { cases, notes } = of(true);
        assert_eq!(cases.iter().map(|case| &*case.name).collect::<Vec<_>>(), ["a/r"]);
        let named = "cases/a/d.yaml is left out: it keeps pods from the Deployment controller alone, and the subject is \
                     the ReplicaSet controller as well; --controllers deployment selects it";
        let counted = "1 case left out for keeping pods from the Deployment controller alone: the subject is the \
                       ReplicaSet controller too";
        assert_eq!(notes, [named, counted]);
    }

    #[test]
    fn subject_gets_cases_of_controllers_it_brings() {
        let (cases, notes) = choose_cases("deployment", RestartProfile::Safe, "");
        assert_eq!(cases, ["a/deployment"]);
        let others = "4 cases of other controllers left out: --controllers replicaset,config-restart selects them";
        assert_eq!(notes, [others]);
    }

    #[test]
    fn case_of_a_controller_that_one_of_the_subjects_lacks_is_left_out() {
        let specs = ["upstream", "ours"].map(|spec| spec.parse().unwrap());
        let CaseChoice { cases, notes } = whole_scope(&specs).choose(collection(), |case| case.name == "a/safe");
        assert_eq!(cases.iter().map(|case| &*case.name).collect::<Vec<_>>(), ["a/deployment", "a/replicaset"]);
        let named =
            "cases/a/safe.yaml is left out: it judges the config-restart controller, which the subject does not have";
        let others = "2 cases of the config-restart controller left out, which upstream does not have";
        assert_eq!(notes, [named, others]);
    }

    #[test]
    fn restart_case_is_for_subject_of_its_profile() {
        let (cases, notes) = choose_cases("deployment,config-restart", RestartProfile::Xing, "");
        assert_eq!(cases, ["a/deployment", "a/xing"]);
        let lines = [
            "1 case of other controllers left out: --controllers replicaset selects them",
            "1 case of restart profile safe left out: --profile safe selects them",
            "1 case with restart options left out: the subject cannot be given them",
        ];
        assert_eq!(notes, lines);
    }

    #[test]
    fn named_case_that_is_left_out_has_its_own_note() {
        let (_, notes) = choose_cases("replicaset", RestartProfile::Safe, "a/deployment");
        let named = "cases/a/deployment.yaml is left out: it judges deployment, which the subject does not bring; \
                     --controllers deployment selects it";
        assert_eq!(notes[0], named);
        assert_eq!(notes[1], "3 cases of other controllers left out: --controllers config-restart selects them");
    }

    #[test]
    fn other_cases_of_named_file_are_counted() {
        let mut cases = collection();
        for case in &mut cases[2..4] {
            case.path = "cases/a/both.yaml".to_owned();
        }
        let scope = SubjectScope {
            controllers: None,
            has_replica_sets: false,
            profile: Some(RestartProfile::Xing),
            takes_options: true,
            workload: None,
            is_virtual: true,
            has_deployments: false,
            specs: &[],
        };
        let CaseChoice { cases, notes } = scope.choose(cases, |case| case.path == "cases/a/both.yaml");
        assert!(cases.iter().any(|case| case.name == "a/xing"));
        assert_eq!(notes, ["1 case of restart profile safe left out: --profile safe selects them"]);
    }

    #[test]
    fn workload_gets_cases_whose_fields_it_has() {
        let argo: Workload = "argo-rollouts".parse().unwrap();
        let controllers = ControllerSet::default();
        let scope = SubjectScope {
            controllers: Some(&controllers),
            has_replica_sets: false,
            profile: None,
            takes_options: false,
            workload: Some(&argo),
            is_virtual: true,
            has_deployments: false,
            specs: &[],
        };
        let given = |fields: &str, step: &str| {
            let text = format!(
                "description: x\ngiven:\n  - deployment: {{name: web, image: \"app:1\"{fields}}}\nsteps:\n  - {step}\n"
            );
            case::parse("cases/a/x.yaml", "a/x", &text).unwrap()
        };
        let patch = "patch: {target: deployment/web, patch: {spec: {strategy: {type: Recreate, rollingUpdate: null}}}}";
        let cases = vec![
            given("", "scale: 3"),
            given(", strategy: Recreate", "scale: 3"),
            given("", patch),
            given(", maxSurge: 1", "scale: 3"),
        ];
        let CaseChoice { cases, notes } = scope.choose(cases, |_| false);
        assert_eq!((cases.len(), notes), (2, vec!["2 cases left out for what a Rollout does not have".to_owned()]));
    }

    #[test]
    fn case_of_another_kind_needs_declared_workload() {
        let text = "description: x\nworkload: argo-rollouts\ngiven:\n  - deployment: {name: web, image: \"app:1\"}\nsteps:\n  - scale: 3\n";
        let case = || vec![case::parse("cases/a/x.yaml", "a/x", text).unwrap()];
        let recreate =
            || vec![case::parse("cases/a/x.yaml", "a/x", &text.replace("web,", "web, strategy: Recreate,")).unwrap()];
        let controllers = ControllerSet::default();
        let fleet = "{\"apiVersion\": \"example.com/v1\", \"kind\": \"Fleet\", \"plural\": \"fleets\"}";
        let fleet = Workload::from_json(serde_json::from_str(fleet).unwrap()).unwrap();
        let argo: Workload = "argo-rollouts".parse().unwrap();
        let scope = |workload, has_deployments| SubjectScope {
            controllers: Some(&controllers),
            has_replica_sets: false,
            profile: None,
            takes_options: false,
            workload,
            is_virtual: true,
            has_deployments,
            specs: &[],
        };
        let notes = |scope: SubjectScope<'_>, cases| {
            let CaseChoice { cases, notes } = scope.choose(cases, |_| false);
            (cases.len(), notes.join("; "))
        };
        let unsaid = "1 case about another kind (Rollout) left out: --workload selects them, where the subject looks after that kind";
        assert_eq!(notes(scope(None, false), case()), (0, unsaid.to_owned()));
        let named = scope(None, false).choose(case(), |_| true);
        let line = "cases/a/x.yaml is left out: it is about a Rollout; --workload selects it, where the subject looks after that kind";
        assert_eq!((named.cases.len(), named.notes), (0, vec![line.to_owned()]));
        assert_eq!(notes(scope(Some(&argo), false), case()), (1, String::new()));
        let lacks = "1 case left out for what a Rollout does not have".to_owned();
        assert_eq!(notes(scope(Some(&argo), false), recreate()), (0, lacks));
        let other = "1 case about another kind left out: --workload names that one".to_owned();
        assert_eq!(notes(scope(Some(&fleet), false), case()), (0, other));
        let deployments =
            "1 case about another kind played on Deployments, as the subject looks after those".to_owned();
        assert_eq!(notes(scope(None, true), case()), (1, deployments));
    }

    #[test]
    fn ours_gets_every_case() {
        let CaseChoice { cases, notes } = whole_scope(&[]).choose(collection(), |_| true);
        assert_eq!((cases.len(), notes.len()), (5, 0));
    }
}
