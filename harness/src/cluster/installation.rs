//! Which installation of the harness made something on a cluster that outlives a run: an id of this
//! user's on this machine, made once and kept with its state.
//!
//! Everything that is found on such a cluster and deleted carries this id. What carries the
//! harness's label and another id, or none, is somebody else's: another machine's run that was
//! killed, or a bystander with a label that was copied. It is listed and stays.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::ClusterError;
use super::place::{of_user, token, write_private};

/// How many letters an id has.
const LENGTH: usize = 16;
const FILE: &str = "installation";

/// This installation's id; made and kept if there is none. Where no state can be kept, one for this
/// process alone: then nothing of an earlier run's is found again, and nothing is deleted by
/// mistake.
pub(crate) fn installation() -> &'static str {
    static ID: OnceLock<String> = OnceLock::new();
    ID.get_or_init(|| match folder().and_then(|folder| kept(&folder)) {
        Ok(id) => id,
        Err(error) => {
            tracing::warn!(
                "no id of this installation can be kept, so a later run will not remove what is left: {error}"
            );
            made().unwrap_or_else(|_| std::process::id().to_string())
        }
    })
}

/// The user's state folder, else this user's folder for temporary files.
fn folder() -> Result<PathBuf, ClusterError> {
    crate::state::folder().map_or_else(of_user, Ok)
}

/// The id that is kept in a folder. Two who make one at the same time agree on the first.
fn kept(folder: &Path) -> Result<String, ClusterError> {
    let path = folder.join(FILE);
    if let Some(id) = read(&path) {
        return Ok(id);
    }
    crate::private::folder(folder).map_err(ClusterError::file(folder))?;
    let id = made()?;
    let part = folder.join(format!("{FILE}.{id}"));
    write_private(&part, id.as_bytes())?;
    let linked = std::fs::hard_link(&part, &path);
    std::fs::remove_file(&part).map_err(ClusterError::file(&part))?;
    match (linked, read(&path)) {
        (_, Some(id)) => Ok(id),
        // Something else stands there; it is replaced as a whole.
        (_, None) => write_private(&path, id.as_bytes()).map(|()| id),
    }
}

fn read(path: &Path) -> Option<String> {
    let id = std::fs::read_to_string(path).ok()?;
    let is_id = id.len() == LENGTH && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then_some(id)
}

fn made() -> Result<String, ClusterError> {
    token().map(|token| token[..LENGTH].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_made_once_and_fits_a_label() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state/lockstep");
        let id = kept(&state).unwrap();
        assert_eq!((kept(&state).unwrap(), id.len()), (id.clone(), LENGTH));
        assert_eq!(std::fs::read_dir(&state).unwrap().count(), 1);
        std::fs::write(state.join(FILE), "not an id").unwrap();
        let other = kept(&state).unwrap();
        assert_ne!(other, id);
        assert_eq!(kept(&state).unwrap(), other);
    }
}
