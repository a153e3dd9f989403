//! Upstream's unit tests of the ReplicaSet controller, vector by vector, and what must hold for all
//! inputs.
//!
//! One file for each function of upstream's; rows are named as upstream names them. Vectors that
//! upstream feeds to an inner function go through that function's namesake here; the rest through
//! `plan` and `report`, whole.

mod availability_test;
mod claim_test;
mod counts_test;
mod expectations_test;
mod fixtures;
mod plan_test;
mod pods_to_delete_test;
mod properties;
mod slow_start_test;
mod sorting_test;
mod status_test;
