//! `--as VERSION`: the version of upstream that subjects are compared with.

use lockstep_timeline::versions::{Minor, RECORDED_RANGE};

/// The version of upstream to compare with.
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(next_help_heading = "Subject")]
pub(super) struct AsVersionArgs {
    /// Compare with what upstream of this version does, such as v1.33.
    ///
    /// `upstream:VERSION` is compared with its own version without this flag.
    #[arg(long = "as", value_name = "VERSION", value_parser = recorded_version)]
    pub(super) minor: Option<Minor>,
}

/// Parses a version that has recordings.
fn recorded_version(text: &str) -> Result<Minor, String> {
    let minor: Minor = text.parse()?;
    let (first, last) = RECORDED_RANGE;
    if (first..=last).contains(&minor) {
        Ok(minor)
    } else {
        Err(format!("nothing is recorded of this version; choose one from {first} to {last}"))
    }
}
