//! Which of the selected cases are for a subject: those that judge a controller that it brings, and
//! restarts as it decides them.
//!
//! What a program of somebody else brings only its user knows: the Deployment controller, unless
//! `--controllers` says otherwise, and restarts of one profile, `--profile`. All other cases are
//! left out, and that is said in a line each. Pure.

use std::collections::BTreeSet;

use crate::case::filter::labels;
use crate::case::model::{Change, Step};
use crate::case::{Case, RestartProfile};
use crate::controllers::{Controller, Controllers};
use crate::subject::Spec;
use crate::workload::Workload;

/// What a subject is, as its user says.
#[derive(Debug)]
pub(super) struct Suits<'a> {
    /// The controllers that it brings; `None`: whatever a case judges.
    pub(super) controllers: Option<&'a Controllers>,
    /// The profile of its restarts; `None`: it is told, by each case.
    pub(super) profile: Option<RestartProfile>,
    /// Whether it can be told how restarts are decided.
    pub(super) is_told: bool,
    /// What stands in for Deployments, whatever a case says.
    pub(super) workload: Option<&'a Workload>,
    /// Whether it is known to look after Deployments: a case that is about another kind is played
    /// on those.
    pub(super) has_deployments: bool,
    /// The subjects themselves: some have a part of the options.
    pub(super) specs: &'a [Spec],
}

/// Cases that are for it, and what is to be said of the others.
#[derive(Debug, Default)]
pub(super) struct Choice {
    /// Those that are.
    pub(super) cases: Vec<Case>,
    /// One line for each reason to leave cases out, and one for each left-out case that was named.
    pub(super) told: Vec<String>,
}

/// Why a case is not for a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unfit {
    Controllers,
    Profile(RestartProfile),
    Options,
    Workload,
    /// It is about another kind than the one that was asked for.
    OtherKind,
    /// It is about another kind than Deployments, and nobody says that the subject looks after
    /// that.
    NotDeployments,
}

impl Suits<'_> {
    /// Choose; `named` says whether a case was named by its own path. That of a file with several
    /// cases means those that are for the subject, if any is.
    pub(super) fn choose(&self, cases: Vec<Case>, named: impl Fn(&Case) -> bool) -> Choice {
        let mut choice = Choice::default();
        let mut left_out = Vec::new();
        for case in cases {
            match self.unfit(&case) {
                None => choice.cases.push(case),
                Some(why) => left_out.push((case, why)),
            }
        }
        let files: BTreeSet<String> = choice.cases.iter().map(|case| case.path.clone()).collect();
        let named = |case: &Case| named(case) && !files.contains(&case.path);
        for (case, why) in left_out.iter().filter(|(case, _)| named(case)) {
            choice.told.push(format!("{} is left out: {}", case.argument(), one(case, *why)));
        }
        let unnamed: Vec<_> = left_out.iter().filter(|(case, _)| !named(case)).collect();
        let of = |wanted: Unfit| unnamed.iter().filter(move |(_, why)| *why == wanted).map(|(case, _)| case);
        let count = |wanted: Unfit| match of(wanted).count() {
            0 => None,
            1 => Some("1 case".to_owned()),
            several => Some(format!("{several} cases")),
        };
        if let Some(cases) = count(Unfit::Controllers) {
            let others: Controllers = of(Unfit::Controllers).flat_map(|case| case.controllers.iter()).collect();
            let line = format!("{cases} of other controllers left out: --controllers {others} selects them");
            choice.told.push(line);
        }
        for profile in RestartProfile::ALL {
            if let Some(cases) = count(Unfit::Profile(profile)) {
                let line = format!("{cases} of restart profile {profile} left out: --profile {profile} selects them");
                choice.told.push(line);
            }
        }
        if let Some(cases) = count(Unfit::Options) {
            let line = format!("{cases} with restart options left out: the subject cannot be given them");
            choice.told.push(line);
        }
        if let Some(cases) = count(Unfit::Workload) {
            let kinds: BTreeSet<_> = of(Unfit::Workload).filter_map(|_| Some(&*self.workload?.kind)).collect();
            let kinds: Vec<_> = kinds.into_iter().collect();
            choice.told.push(format!("{cases} left out for what a {} does not have", kinds.join(" and a ")));
        }
        if let Some(cases) = count(Unfit::OtherKind) {
            choice.told.push(format!("{cases} about another kind left out: --workload names that one"));
        }
        if let Some(cases) = count(Unfit::NotDeployments) {
            let kinds: BTreeSet<_> = of(Unfit::NotDeployments).map(own_kind).collect();
            let kinds: Vec<_> = kinds.into_iter().collect();
            choice.told.push(format!(
                "{cases} about another kind ({}) left out: --workload selects them, where the subject looks after that kind",
                kinds.join(", ")
            ));
        }
        let on_deployments =
            choice.cases.iter().filter(|case| case.workload.is_some() && self.workload.is_none()).count();
        if on_deployments > 0 {
            let many = if on_deployments == 1 { "1 case".to_owned() } else { format!("{on_deployments} cases") };
            choice
                .told
                .push(format!("{many} about another kind played on Deployments, as the subject looks after those"));
        }
        choice
    }

    fn unfit(&self, case: &Case) -> Option<Unfit> {
        if self.controllers.is_some_and(|brings| brings.lacks(&case.controllers).is_some()) {
            return Some(Unfit::Controllers);
        }
        if let (Some(asked), Some(own)) = (self.workload, &case.workload)
            && !asked.is_of_kind(own)
        {
            return Some(Unfit::OtherKind);
        }
        if self.workload.is_none() && case.workload.is_some() && !self.has_deployments {
            return Some(Unfit::NotDeployments);
        }
        if let Some(workload) = self.workload {
            let only_deployments = case.controllers == Controllers::default();
            let lacks = workload.lacks.iter().any(|word| labels(case).contains(word) || patches(case, word));
            return (lacks || !only_deployments).then_some(Unfit::Workload);
        }
        if !case.controllers.has(Controller::ConfigRestart) {
            return None;
        }
        if self.profile.is_some_and(|profile| profile != case.restart.profile) {
            return Some(Unfit::Profile(case.restart.profile));
        }
        let lacks = self.specs.iter().any(|spec| spec.lacks_restart_options(&case.restart).is_some());
        (lacks || !self.is_told && !case.restart.is_profile_alone()).then_some(Unfit::Options)
    }
}

/// Whether a patch of the case sets something to this word.
fn patches(case: &Case, word: &str) -> bool {
    let quoted = format!("\"{word}\"");
    let sets = |step: &Step| {
        let patch = |step: &Step| match step.operation.change() {
            Change::Patch(_, _, patch) => patch.to_string().contains(&quoted),
            _ => false,
        };
        patch(step) || step.operation.inner().iter().any(patch)
    };
    case.given.iter().chain(&case.steps).any(sets)
}

/// The kind that a case says it is about.
fn own_kind(case: &Case) -> &str {
    case.workload.as_ref().map_or("Deployment", |workload| &workload.kind)
}

/// Why one case is left out, and what selects it.
fn one(case: &Case, why: Unfit) -> String {
    match why {
        Unfit::Controllers => {
            let judged = &case.controllers;
            format!("it judges {judged}, which the subject does not bring; --controllers {judged} selects it")
        }
        Unfit::Profile(profile) => {
            format!("it is of restart profile {profile}; --profile {profile} selects it")
        }
        Unfit::Workload => "the workload has nothing that stands in for what it is about".to_owned(),
        Unfit::OtherKind => format!("it is about a {}; --workload names another kind", own_kind(case)),
        Unfit::NotDeployments => {
            let kind = own_kind(case);
            format!("it is about a {kind}; --workload selects it, where the subject looks after that kind")
        }
        Unfit::Options => "it sets restart options that the subject cannot be given".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case;

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

    fn chosen(controllers: &str, profile: RestartProfile, named: &str) -> (Vec<String>, Vec<String>) {
        let controllers: Controllers = controllers.parse().unwrap();
        let suits = Suits {
            controllers: Some(&controllers),
            profile: Some(profile),
            is_told: false,
            workload: None,
            has_deployments: false,
            specs: &[],
        };
        let Choice { cases, told } = suits.choose(collection(), |case| case.name == named);
        (cases.into_iter().map(|case| case.name).collect(), told)
    }

    #[test]
    fn a_subject_is_given_the_cases_of_the_controllers_that_it_brings() {
        let (cases, told) = chosen("deployment", RestartProfile::Safe, "");
        assert_eq!(cases, ["a/deployment"]);
        let others = "4 cases of other controllers left out: --controllers replicaset,config-restart selects them";
        assert_eq!(told, [others]);
    }

    #[test]
    fn a_case_of_restarts_is_for_a_subject_of_its_profile() {
        let (cases, told) = chosen("deployment,config-restart", RestartProfile::Xing, "");
        assert_eq!(cases, ["a/deployment", "a/xing"]);
        let lines = [
            "1 case of other controllers left out: --controllers replicaset selects them",
            "1 case of restart profile safe left out: --profile safe selects them",
            "1 case with restart options left out: the subject cannot be given them",
        ];
        assert_eq!(told, lines);
    }

    #[test]
    fn a_case_that_was_named_is_told_by_its_name() {
        let (_, told) = chosen("replicaset", RestartProfile::Safe, "a/deployment");
        let named = "cases/a/deployment.yaml is left out: it judges deployment, which the subject does not bring; \
                     --controllers deployment selects it";
        assert_eq!(told[0], named);
        assert_eq!(told[1], "3 cases of other controllers left out: --controllers config-restart selects them");
    }

    #[test]
    fn of_a_file_that_was_named_and_has_a_case_for_the_subject_the_others_are_counted() {
        let mut cases = collection();
        for case in &mut cases[2..4] {
            case.path = "cases/a/both.yaml".to_owned();
        }
        let suits = Suits {
            controllers: None,
            profile: Some(RestartProfile::Xing),
            is_told: true,
            workload: None,
            has_deployments: false,
            specs: &[],
        };
        let Choice { cases, told } = suits.choose(cases, |case| case.path == "cases/a/both.yaml");
        assert!(cases.iter().any(|case| case.name == "a/xing"));
        assert_eq!(told, ["1 case of restart profile safe left out: --profile safe selects them"]);
    }

    #[test]
    fn a_workload_is_given_the_cases_that_it_has_everything_for() {
        let argo: Workload = "argo-rollouts".parse().unwrap();
        let controllers = Controllers::default();
        let suits = Suits {
            controllers: Some(&controllers),
            profile: None,
            is_told: false,
            workload: Some(&argo),
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
        let Choice { cases, told } = suits.choose(cases, |_| false);
        assert_eq!((cases.len(), told), (2, vec!["2 cases left out for what a Rollout does not have".to_owned()]));
    }

    #[test]
    fn a_case_of_another_kind_is_for_a_subject_that_is_said_to_look_after_that() {
        let text = "description: x\nworkload: argo-rollouts\ngiven:\n  - deployment: {name: web, image: \"app:1\"}\nsteps:\n  - scale: 3\n";
        let case = || vec![case::parse("cases/a/x.yaml", "a/x", text).unwrap()];
        let recreate =
            || vec![case::parse("cases/a/x.yaml", "a/x", &text.replace("web,", "web, strategy: Recreate,")).unwrap()];
        let controllers = Controllers::default();
        let fleet = "{\"apiVersion\": \"example.com/v1\", \"kind\": \"Fleet\", \"plural\": \"fleets\"}";
        let fleet = Workload::from_json(serde_json::from_str(fleet).unwrap()).unwrap();
        let argo: Workload = "argo-rollouts".parse().unwrap();
        let suits = |workload, has_deployments| Suits {
            controllers: Some(&controllers),
            profile: None,
            is_told: false,
            workload,
            has_deployments,
            specs: &[],
        };
        let told = |suits: Suits<'_>, cases| {
            let Choice { cases, told } = suits.choose(cases, |_| false);
            (cases.len(), told.join("; "))
        };
        let unsaid = "1 case about another kind (Rollout) left out: --workload selects them, where the subject looks after that kind";
        assert_eq!(told(suits(None, false), case()), (0, unsaid.to_owned()));
        let named = suits(None, false).choose(case(), |_| true);
        let line = "cases/a/x.yaml is left out: it is about a Rollout; --workload selects it, where the subject looks after that kind";
        assert_eq!((named.cases.len(), named.told), (0, vec![line.to_owned()]));
        assert_eq!(told(suits(Some(&argo), false), case()), (1, String::new()));
        let lacks = "1 case left out for what a Rollout does not have".to_owned();
        assert_eq!(told(suits(Some(&argo), false), recreate()), (0, lacks));
        let other = "1 case about another kind left out: --workload names that one".to_owned();
        assert_eq!(told(suits(Some(&fleet), false), case()), (0, other));
        let deployments =
            "1 case about another kind played on Deployments, as the subject looks after those".to_owned();
        assert_eq!(told(suits(None, true), case()), (1, deployments));
    }

    #[test]
    fn ours_is_given_all_of_them() {
        let suits = Suits {
            controllers: None,
            profile: None,
            is_told: true,
            workload: None,
            has_deployments: true,
            specs: &[],
        };
        let Choice { cases, told } = suits.choose(collection(), |_| true);
        assert_eq!((cases.len(), told.len()), (5, 0));
    }
}
