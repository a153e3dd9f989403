//! `--as VERSION`: the version of upstream that subjects are held to.

use crate::versions::Minor;

/// What subjects are held to, where it is not the default version.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct Like {
    /// Hold the subjects to what upstream of this version does, such as v1.33; so is upstream:VERSION itself without being told.
    #[arg(long = "as", value_name = "VERSION")]
    pub(super) like: Option<Minor>,
}
