//! Checks that the table of API types equals upstream's declarations. Needs Go and its modules.

use std::path::Path;
use std::process::Command;

use super::Error;

/// Generates the table and compares it.
pub(crate) fn fresh() -> Result<(), Error> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = std::fs::read_to_string(root.join("apiserver/apimachinery/src/types/v1.36.table"))?;
    let folder = root.join("../scripts/api-types");
    let run = Command::new("go").args(["run", "."]).current_dir(folder).output();
    let run =
        run.map_err(|error| format!("go cannot be run: {error}; install Go, the table of types is made with it"))?;
    if !run.status.success() {
        return Err(String::from_utf8_lossy(&run.stderr).into_owned().into());
    }
    let printed = String::from_utf8(run.stdout)?;
    let different = table.lines().zip(printed.lines()).find(|(kept, new)| kept != new);
    match different {
        Some((kept, new)) => Err(format!("the table says `{kept}`, scripts/api-types `{new}`: regenerate it").into()),
        None if table.lines().count() != printed.lines().count() => {
            Err("the table is shorter or longer than what scripts/api-types prints".into())
        }
        None => Ok(()),
    }
}
