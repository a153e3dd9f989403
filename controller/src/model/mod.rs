//! Views of the API's JSON objects: the fields that the rules read.
//!
//! An object arrives as a [`serde_json::Value`] and is stored as text (`manifest`). The few fields
//! that rules read are parsed once into plain structs. Everything else, above all the pod template,
//! stays raw, so that fields of a newer server are kept in each write and take part in each
//! comparison.
//!
//! This module has no client, no async code and no clock; the current time is an argument.

pub(crate) mod any_json;
mod condition;
mod deployment;
mod error;
mod event;
mod int_or_percent;
mod json_text;
mod manifest;
mod meta;
pub mod names;
mod pod;
mod pod_count;
mod quantity;
mod replica_set;
mod seconds;
mod selector;
mod selector_text;
mod template;
mod transcode;

pub use condition::Condition;
pub(crate) use deployment::omit_zero;
pub use deployment::{Deployment, DeploymentSpec, DeploymentStatus, DeploymentStrategy, RollingUpdate};
pub use error::ModelError;
pub use event::{Event, EventKind};
pub use int_or_percent::{IntOrPercent, RoundingDirection};
pub(crate) use json_text::beginning;
pub use manifest::Template;
pub(crate) use manifest::TemplateText;
pub(crate) use meta::null_as_default;
pub use meta::{Meta, OwnerReference};
pub use pod::{Pod, PodTraits, PodWithTraits, deletion_cost};
pub use pod_count::PodCount;
pub use replica_set::{ReplicaSet, ReplicaSetSpec, ReplicaSetStatus};
pub(crate) use seconds::whole_second;
pub use selector::{LabelSelector, LabelSelectorRequirement};
pub use template::{canonical_template, is_same_template, with_label, without_label};
pub(crate) use transcode::TemplateOrOther;
