//! Where this user's programs keep what they remember from one run to the next: which installation
//! this is, and which cases failed.

use std::path::PathBuf;

/// `$XDG_STATE_HOME/lockstep`, or `~/.local/state/lockstep`; `None` where there is neither.
pub(crate) fn folder() -> Option<PathBuf> {
    of(std::env::var_os("XDG_STATE_HOME").map(PathBuf::from), std::env::home_dir())
}

/// A relative path counts as unset, as the XDG base directory specification has it.
fn of(named: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    let named = named.filter(|path| path.is_absolute());
    let home = || home.filter(|path| path.is_absolute()).map(|home| home.join(".local/state"));
    named.or_else(home).map(|folder| folder.join("lockstep"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_folder_is_the_users() {
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(of(path("/state"), path("/home/me")), path("/state/lockstep"));
        assert_eq!(of(None, path("/home/me")), path("/home/me/.local/state/lockstep"));
        assert_eq!(of(path("state"), path("/home/me")), path("/home/me/.local/state/lockstep"));
        assert_eq!(of(path(""), None), None);
    }
}
