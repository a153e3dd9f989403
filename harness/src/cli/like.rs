//! `--as VERSION`: the version of upstream that subjects are held to.

use crate::versions::Minor;

/// What subjects are held to, where it is not the default version.
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(next_help_heading = "Subject")]
pub(super) struct Like {
    /// Compare with what upstream of this version does, such as v1.33.
    ///
    /// `upstream:VERSION` is compared with its own version without this flag.
    #[arg(long = "as", value_name = "VERSION")]
    pub(super) like: Option<Minor>,
}
