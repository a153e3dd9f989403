//! Words as a shell reads them.

/// A word as it is typed into a shell.
pub(crate) fn quoted(word: &str) -> String {
    // Nobody can type a NUL, so none is ever in a word of a command line.
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_word_again() {
        for word in ["cases/a.yaml", "command:python3 'my file.py' $HOME", "", "a\nb", "it's", "~/x", "*"] {
            assert_eq!(shlex::split(&quoted(word)), Some(vec![word.to_owned()]), "{word}");
        }
        assert_eq!(quoted("cases/a.yaml"), "cases/a.yaml");
    }
}
