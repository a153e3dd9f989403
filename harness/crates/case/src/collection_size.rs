//! How many cases a collection has: those of rollouts and those of config restarts, which are two
//! products and are never added up.

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};

use lockstep_recording::controllers::Controller;
use lockstep_support::pluralize;

use super::model::{Case, RestartProfile};

/// The numbers of cases, displayed as `280 rollout cases and 333 config-restart cases (82 xing, 146
/// safe, 105 reloader)`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollectionSize {
    rollouts: usize,
    restarts: BTreeMap<RestartProfile, usize>,
}

/// Whether a case judges config restarts. All others are about rollouts.
pub(crate) fn is_of_restarts(case: &Case) -> bool {
    case.controllers.has(Controller::ConfigRestart)
}

impl CollectionSize {
    /// Counts cases.
    #[must_use]
    pub fn of<'a>(cases: impl IntoIterator<Item = &'a Case>) -> Self {
        let mut size = Self::default();
        for case in cases {
            if is_of_restarts(case) {
                *size.restarts.entry(case.restart.profile).or_default() += 1;
            } else {
                size.rollouts += 1;
            }
        }
        size
    }
}

impl Display for CollectionSize {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let counted = |number: usize, kind: &str| (number > 0).then(|| pluralize(number, &format!("{kind} case")));
        let restarts = counted(self.restarts.values().sum(), "config-restart").map(|restarts| {
            let profiles: Vec<_> =
                self.restarts.iter().map(|(profile, number)| format!("{number} {profile}")).collect();
            format!("{restarts} ({})", profiles.join(", "))
        });
        match (counted(self.rollouts, "rollout"), restarts) {
            (Some(rollouts), Some(restarts)) => write!(f, "{rollouts} and {restarts}"),
            (Some(only), None) | (None, Some(only)) => f.write_str(&only),
            (None, None) => f.write_str("no cases"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::parse;

    fn a_case(fields: &str) -> Case {
        let text = format!(
            "description: x\n{fields}given:\n  - deployment: {{name: web, image: 'app:1'}}\nsteps:\n  - scale: 2\nexpectation: rules\nrules: {{finally: [\"settled\"]}}\n"
        );
        parse("cases/a/x.yaml", "a/x", &text).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn counts_rollouts_and_restarts_separately() {
        let rollout = a_case("");
        let restart = |profile| a_case(&format!("controllers: [config-restart]\nrestart: {{profile: {profile}}}\n"));
        let (safe, xing) = (restart("safe"), restart("xing"));
        let text = |cases: &[&Case]| CollectionSize::of(cases.iter().copied()).to_string();
        assert_eq!(text(&[]), "no cases");
        assert_eq!(text(&[&rollout]), "1 rollout case");
        assert_eq!(text(&[&safe, &safe]), "2 config-restart cases (2 safe)");
        assert_eq!(
            text(&[&safe, &rollout, &xing, &rollout, &safe]),
            "2 rollout cases and 3 config-restart cases (1 xing, 2 safe)"
        );
    }
}
