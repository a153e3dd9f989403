//! "Did you mean": finds the known word that is nearest to a misspelt one.

/// Returns the nearest word if it is near enough for a typo: a third of its letters differ at most,
/// or only their case. Otherwise returns the only word that begins with the misspelt one, such as
/// `deployment` for `deploy`.
pub(super) fn nearest<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = wrong.to_lowercase();
    let near = |word: &&str| distance(&lower, &word.to_lowercase()) <= (word.chars().count().max(3)) / 3;
    let known: Vec<&str> = candidates.into_iter().collect();
    let slip = known.iter().copied().filter(near).min_by_key(|word| distance(&lower, &word.to_lowercase()));
    let mut longer =
        known.iter().copied().filter(|word| lower.len() >= MIN_PREFIX && word.to_lowercase().starts_with(&lower));
    slip.or_else(|| longer.next().filter(|_| longer.next().is_none()))
}

/// The shortest prefix that is completed to a word.
const MIN_PREFIX: usize = 4;

/// `did you mean `replicas`?`, or `None`.
pub(super) fn did_you_mean<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(wrong, candidates).map(|word| format!("did you mean `{word}`?"))
}

/// The number of letters to insert, remove, replace or swap with a neighbour to turn one word into
/// the other.
fn distance(from: &str, to: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i.max(j)
            } else {
                let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let swapped = if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    rows[i - 2][j - 2] + 1
                } else {
                    usize::MAX
                };
                replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(swapped)
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::nearest;

    #[rstest]
    #[case("replica", Some("replicas"))]
    #[case("repilcas", Some("replicas"))]
    #[case("maxsurge", Some("maxSurge"))]
    #[case("Replicas", Some("replicas"))]
    #[case("colour", None)]
    #[case("repl", Some("replicas"))]
    #[case("max", None)]
    #[case("", None)]
    fn finds_slips(#[case] wrong: &str, #[case] expected: Option<&str>) {
        assert_eq!(nearest(wrong, ["name", "replicas", "image", "maxSurge"]), expected);
    }
}
