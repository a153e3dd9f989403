//! Views over the API's JSON: what the rules read, and nothing that talks.
//!
//! An object arrives as a [`serde_json::Value`] and is kept as its text (`manifest`). The few
//! fields that rules compute on are read out once, into plain structs; everything else (above all
//! the pod template) stays raw, so that a field from a newer server survives each write and takes
//! part in each comparison.
//!
//! JSON comes in; views, and JSON that lost no field, go out. Borders: no client, no async, no
//! clock. Whatever needs "now" is told.

pub(crate) mod any;
mod condition;
mod deployment;
mod error;
mod event;
mod int_or_percent;
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
mod text;
mod transcode;

pub use condition::Condition;
pub(crate) use deployment::omit_zero;
pub use deployment::{Deployment, DeploymentSpec, DeploymentStatus, RollingUpdate, Strategy};
pub use error::ModelError;
pub use event::{Event, EventKind};
pub use int_or_percent::{IntOrPercent, Round};
pub use manifest::Template;
pub(crate) use manifest::TemplateText;
pub(crate) use meta::null_as_default;
pub use meta::{Meta, OwnerReference};
pub use pod::{Pod, PodTraits, TraitedPod, deletion_cost};
pub use pod_count::PodCount;
pub use replica_set::{ReplicaSet, ReplicaSetSpec, ReplicaSetStatus};
pub(crate) use seconds::whole_second;
pub use selector::{LabelSelector, Requirement};
pub use template::{canonical, same_template, with_label, without_label};
pub(crate) use text::beginning;
pub(crate) use transcode::Found;
