//! What the rules read of objects and write to them: configs as checksums, workloads as facts with
//! their references and annotations, and the plan for one workload. Of the crate it imports
//! [`crate::names`], [`crate::settings`] and [`crate::pacing`].

pub(crate) mod annotation_codec;
pub(crate) mod annotations;
pub mod body;
pub(crate) mod cache;
pub(crate) mod checksum;
pub(crate) mod config;
pub(crate) mod key_selection;
pub(crate) mod managed_fields;
pub(crate) mod name_patterns;
pub(crate) mod pending;
pub(crate) mod plan;
pub(crate) mod references;
pub(crate) mod reloader_facts;
pub(crate) mod reloader_traits;
pub(crate) mod secret_hmac;
pub(crate) mod workload;
