//! Parses and formats the names of timeline files: `CASE[.by-v1.15][.on-v1.33].timeline`.

use std::path::{Path, PathBuf};

use lockstep_timeline::versions::Minor;

/// The controllers and the server of a timeline, unless they are the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct TimelineLabel {
    /// The controllers' minor.
    pub(super) by: Option<Minor>,
    /// The server's minor.
    pub(super) on: Option<Minor>,
}

impl TimelineLabel {
    /// The label for programs with these titles: `kube-controller-manager v1.15.5`, `kube-apiserver
    /// v1.36.3`.
    pub(super) fn of(controller: &str, server: &str) -> Self {
        let other = |text: &str| Minor::of(text).filter(|minor| !minor.is_default());
        Self { by: other(controller), on: other(server) }
    }

    /// The part between the case's name and `timeline`.
    fn infix(self) -> String {
        let by = self.by.map_or_else(String::new, |minor| format!("by-{minor}."));
        let on = self.on.map_or_else(String::new, |minor| format!("on-{minor}."));
        by + &on
    }

    /// The path of the timeline beside this case.
    pub(super) fn beside(self, case: &Path) -> PathBuf {
        case.with_extension(format!("{}timeline", self.infix()))
    }

    /// Parses a file name to the case's name and the label.
    pub(super) fn parse(file: &str) -> Option<(&str, Self)> {
        let mut rest = file.strip_suffix(".timeline")?;
        let mut label = Self::default();
        for (mark, minor) in [(".on-", &mut label.on), (".by-", &mut label.by)] {
            if let Some((before, text)) = rest.rsplit_once(mark)
                && let Ok(found) = text.parse::<Minor>()
                && found.to_string() == text
            {
                (rest, *minor) = (before, Some(found));
            }
        }
        Some((rest, label))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("kube-controller-manager v1.36.3", "kube-apiserver v1.36.3", "a.timeline")]
    #[case("kube-controller-manager v1.15.5", "kube-apiserver v1.36.3", "a.by-v1.15.timeline")]
    #[case("kube-controller-manager v1.36.3", "kube-apiserver v1.33.13", "a.on-v1.33.timeline")]
    #[case("kube-controller-manager v1.15.5", "simulated v1.33.13", "a.by-v1.15.on-v1.33.timeline")]
    fn names_round_trip(#[case] controller: &str, #[case] server: &str, #[case] name: &str) {
        let label = TimelineLabel::of(controller, server);
        assert_eq!(label.beside(Path::new("x/a.yaml")), Path::new("x").join(name));
        assert_eq!(TimelineLabel::parse(name), Some(("a", label)));
    }

    #[test]
    fn other_names_belong_to_the_case() {
        assert_eq!(TimelineLabel::parse("a.by-hand.timeline"), Some(("a.by-hand", TimelineLabel::default())));
        assert_eq!(TimelineLabel::parse("a.on-v1.33.13.timeline"), Some(("a.on-v1.33.13", TimelineLabel::default())));
        assert_eq!(TimelineLabel::parse("a.yaml"), None);
    }
}
