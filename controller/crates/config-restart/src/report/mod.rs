//! What users are told: the texts of events, and what a webhook receives.

pub mod event_messages;
pub(crate) mod webhook_payload;
