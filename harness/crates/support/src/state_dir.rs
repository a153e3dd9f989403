//! The folder for state between runs: the id of this installation, and the cases that failed.

use std::path::PathBuf;

/// `$XDG_STATE_HOME/lockstep`, or `~/.local/state/lockstep`; `None` if neither variable nor home
/// exists.
pub fn path() -> Option<PathBuf> {
    resolve(std::env::var_os("XDG_STATE_HOME").map(PathBuf::from), std::env::home_dir())
}

/// A relative path counts as unset, as the XDG base directory specification requires.
fn resolve(state_home: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    let state_home = state_home.filter(|path| path.is_absolute());
    let home = || home.filter(|path| path.is_absolute()).map(|home| home.join(".local/state"));
    state_home.or_else(home).map(|folder| folder.join("lockstep"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_dir_follows_xdg_specification() {
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(resolve(path("/state"), path("/home/me")), path("/state/lockstep"));
        assert_eq!(resolve(None, path("/home/me")), path("/home/me/.local/state/lockstep"));
        assert_eq!(resolve(path("state"), path("/home/me")), path("/home/me/.local/state/lockstep"));
        assert_eq!(resolve(path(""), None), None);
    }
}
