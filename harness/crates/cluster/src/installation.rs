//! Identifies the installation of the harness that created an object on a cluster that outlives a
//! run: an id of this user on this machine, generated once and stored.
//!
//! Every object that a cleanup deletes has this id. An object with the harness's label but another
//! id, or none, belongs to another machine's run, or has a copied label. It is reported and kept.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::ClusterError;
use super::user_dir::{random_token, user_temp_dir, write_private_file};

/// The length of an id.
const LENGTH: usize = 16;
const FILE: &str = "installation";

/// This installation's id, generated and stored on first use. If it cannot be stored, the id lasts
/// for this process: a later run then finds no objects of this one, and deletes nothing by mistake.
pub fn installation() -> &'static str {
    static ID: OnceLock<String> = OnceLock::new();
    ID.get_or_init(|| match state_folder().and_then(|folder| load_or_create(&folder)) {
        Ok(id) => id,
        Err(error) => {
            tracing::warn!(
                "no id of this installation can be kept, so a later run will not remove what is left: {error}"
            );
            generate_id().unwrap_or_else(|_| std::process::id().to_string())
        }
    })
}

/// The user's state folder, or this user's temporary folder.
fn state_folder() -> Result<PathBuf, ClusterError> {
    lockstep_support::state_dir::path().map_or_else(user_temp_dir, Ok)
}

/// The id that is stored in a folder. Of two processes that store one at the same time, the first
/// wins.
fn load_or_create(folder: &Path) -> Result<String, ClusterError> {
    let path = folder.join(FILE);
    if let Some(id) = read(&path) {
        return Ok(id);
    }
    lockstep_support::private_fs::create_dir(folder).map_err(ClusterError::file(folder))?;
    let id = generate_id()?;
    let part = folder.join(format!("{FILE}.{id}"));
    write_private_file(&part, id.as_bytes())?;
    let link_result = std::fs::hard_link(&part, &path);
    std::fs::remove_file(&part).map_err(ClusterError::file(&part))?;
    match (link_result, read(&path)) {
        (_, Some(id)) => Ok(id),
        // The file has other content; replace it.
        (_, None) => write_private_file(&path, id.as_bytes()).map(|()| id),
    }
}

fn read(path: &Path) -> Option<String> {
    let id = std::fs::read_to_string(path).ok()?;
    let is_id = id.len() == LENGTH && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then_some(id)
}

fn generate_id() -> Result<String, ClusterError> {
    random_token().map(|token| token[..LENGTH].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_is_generated_once_and_fits_a_label() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state/lockstep");
        let id = load_or_create(&state).unwrap();
        assert_eq!((load_or_create(&state).unwrap(), id.len()), (id.clone(), LENGTH));
        assert_eq!(std::fs::read_dir(&state).unwrap().count(), 1);
        std::fs::write(state.join(FILE), "not an id").unwrap();
        let other = load_or_create(&state).unwrap();
        assert_ne!(other, id);
        assert_eq!(load_or_create(&state).unwrap(), other);
    }
}
