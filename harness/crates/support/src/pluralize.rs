//! Numbers of things in messages.

/// A number of things whose plural ends in `s`: `1 play`, `2 plays`.
#[must_use]
pub fn pluralize(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::pluralize;

    #[test]
    fn one_thing_is_singular() {
        assert_eq!([0, 1, 2].map(|number| pluralize(number, "play")), ["0 plays", "1 play", "2 plays"]);
    }
}
