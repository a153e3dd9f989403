//! The group `autoscaling`, whose autoscalers are served in two versions.

pub(crate) mod horizontal_pod_autoscaler;
mod metrics;
mod text;
pub(crate) mod v1;
mod validation;
