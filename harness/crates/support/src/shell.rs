//! Quoting for a shell.

/// Quotes a word for a shell.
pub fn quote(word: &str) -> String {
    // A command line cannot contain NUL, so quoting does not fail.
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_words_round_trip() {
        for word in ["cases/a.yaml", "command:python3 'my file.py' $HOME", "", "a\nb", "it's", "~/x", "*"] {
            assert_eq!(shlex::split(&quote(word)), Some(vec![word.to_owned()]), "{word}");
        }
        assert_eq!(quote("cases/a.yaml"), "cases/a.yaml");
    }
}
