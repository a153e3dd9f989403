//! The core group.

pub(crate) mod service_allocation;
