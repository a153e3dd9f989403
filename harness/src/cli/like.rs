//! `--as VERSION`: the version of upstream that subjects are held to.

use crate::versions::{Minor, RECORDED};

/// What subjects are held to, where it is not the default version.
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(next_help_heading = "Subject")]
pub(super) struct Like {
    /// Compare with what upstream of this version does, such as v1.33.
    ///
    /// `upstream:VERSION` is compared with its own version without this flag.
    #[arg(long = "as", value_name = "VERSION", value_parser = recorded)]
    pub(super) like: Option<Minor>,
}

/// A version of which something is recorded.
fn recorded(text: &str) -> Result<Minor, String> {
    let minor: Minor = text.parse()?;
    let (first, last) = RECORDED;
    if (first..=last).contains(&minor) {
        Ok(minor)
    } else {
        Err(format!("nothing is recorded of this version; choose one from {first} to {last}"))
    }
}
