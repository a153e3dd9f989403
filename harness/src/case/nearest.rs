//! "Did you mean": the known word that is nearest to a wrong one.

/// The nearest word, if it is near enough to be a slip: a third of its letters or fewer, or the
/// same but for case. Else the only one that begins so, as `deploy` does `deployment`.
pub(super) fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = wrong.to_lowercase();
    let near = |word: &&str| distance(&lower, &word.to_lowercase()) <= (word.chars().count().max(3)) / 3;
    let known: Vec<&str> = known.into_iter().collect();
    let slip = known.iter().copied().filter(near).min_by_key(|word| distance(&lower, &word.to_lowercase()));
    let mut longer =
        known.iter().copied().filter(|word| lower.len() >= BEGINNING && word.to_lowercase().starts_with(&lower));
    slip.or_else(|| longer.next().filter(|_| longer.next().is_none()))
}

/// So many letters make a beginning.
const BEGINNING: usize = 4;

/// `did you mean `replicas`?`, or nothing.
pub(super) fn did_you_mean<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(wrong, known).map(|word| format!("did you mean `{word}`?"))
}

/// How many letters must be inserted, removed, replaced or swapped with a neighbour to get from one
/// word to the other.
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
    use super::nearest;
    use rstest::rstest;

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
