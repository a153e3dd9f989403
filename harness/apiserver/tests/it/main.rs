//! The tests of the server, each file a subject: one program, because each of them would contain
//! the whole server.

mod amounts;
mod autoscalers;
mod custom;
mod definitions;
mod events;
mod eviction;
mod faults;
#[cfg(feature = "listen")]
mod http;
mod jobs;
mod limits;
mod metadata;
mod quotas;
mod random_requests;
mod readme;
mod recorded;
mod served;
mod service;
mod shapes;
mod stored;
mod versions;
