//! Reports to users: the texts of events, and what a webhook receives.

pub mod event_messages;
pub(crate) mod webhook_payload;
