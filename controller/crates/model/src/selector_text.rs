//! Label selectors in kubectl's text form: `app=web,tier in (front,back),!old`.

use super::selector::{LabelSelector, LabelSelectorRequirement};

impl LabelSelector {
    /// Parses a selector; `None` if it is invalid.
    pub fn parse(text: &str) -> Option<Self> {
        let parts = split_requirements(text)?;
        let requirements = parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).map(parse_requirement);
        Some(Self { match_expressions: requirements.collect::<Option<_>>()?, ..Self::default() })
    }
}

/// Splits at commas, except for those within parentheses, which separate values.
fn split_requirements(text: &str) -> Option<Vec<&str>> {
    let (mut parts, mut start, mut inside) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        match c {
            '(' | ')' if inside == (c == '(') => return None,
            '(' | ')' => inside = !inside,
            ',' if !inside => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    (!inside).then_some(parts)
}

fn parse_requirement(text: &str) -> Option<LabelSelectorRequirement> {
    if let Some(key) = text.strip_prefix('!') {
        return new_requirement(key, "DoesNotExist", &[]);
    }
    if let Some((key, value)) = text.split_once("!=") {
        return new_requirement(key, "NotIn", &[value]);
    }
    if let Some((key, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
        return new_requirement(key, "In", &[value]);
    }
    let Some((before, list)) = text.split_once('(') else { return new_requirement(text, "Exists", &[]) };
    let values: Vec<&str> = list.strip_suffix(')')?.split(',').collect();
    match before.split_whitespace().collect::<Vec<_>>()[..] {
        [key, "in"] => new_requirement(key, "In", &values),
        [key, "notin"] => new_requirement(key, "NotIn", &values),
        _ => None,
    }
}

fn new_requirement(key: &str, operator: &str, values: &[&str]) -> Option<LabelSelectorRequirement> {
    let is_plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
    let (key, values) = (key.trim(), values.iter().map(|value| value.trim()));
    let values: Vec<String> = values.map(str::to_owned).collect();
    let fits = !key.is_empty() && is_plain(key) && values.iter().all(|value| is_plain(value));
    fits.then(|| LabelSelectorRequirement { key: key.to_owned(), operator: operator.to_owned(), values })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("", Some(true))]
    #[case("app=web", Some(true))]
    #[case("app==web, tier", Some(true))]
    #[case("app!=web", Some(false))]
    #[case("!app", Some(false))]
    #[case("!old,app in (db, web)", Some(true))]
    #[case("app notin (db,web)", Some(false))]
    #[case("app in (db", None)]
    #[case("app near (db)", None)]
    #[case("a b", None)]
    #[case("=web", None)]
    fn parses_selectors_as_kubectl(#[case] text: &str, #[case] expected: Option<bool>) {
        let labels = BTreeMap::from([("app", "web"), ("tier", "front")].map(|(k, v)| (k.to_owned(), v.to_owned())));
        let selector = LabelSelector::parse(text);
        assert_eq!(selector.map(|selector| selector.matches(&labels).unwrap()), expected);
    }
}
