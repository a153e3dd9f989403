//! Views of the API's JSON objects: the fields that the rules read.
//!
//! **Architecture Invariant:** this crate has no client, no async code and no clock; the current
//! time is an argument. It knows no controller and no rule.
//!
//! An object arrives as a [`serde_json::Value`] and is stored as text (`manifest`). The few fields
//! that rules read are parsed once into plain structs. Everything else, above all the pod template,
//! stays raw, so that fields of a newer server are kept in each write and take part in each
//! comparison. [`hash`] computes the pod-template-hash of a template.

pub mod any_json;
mod condition;
mod deployment;
mod error;
mod event;
pub mod hash;
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
pub use deployment::{Deployment, DeploymentSpec, DeploymentStatus, DeploymentStrategy, RollingUpdate, omit_zero};
pub use error::ModelError;
pub use event::{Event, EventKind};
pub use int_or_percent::{IntOrPercent, RoundingDirection};
pub use json_text::{beginning, to_json_bytes};
pub use manifest::{Template, TemplateText};
pub use meta::{Meta, OwnerReference, null_as_default};
pub use pod::{Pod, PodTraits, PodWithTraits, deletion_cost};
pub use pod_count::PodCount;
pub use replica_set::{ReplicaSet, ReplicaSetSpec, ReplicaSetStatus};
pub use seconds::whole_second;
pub use selector::{LabelSelector, LabelSelectorRequirement};
pub use template::{canonical_template, with_label, without_label};
pub use transcode::TemplateValue;
