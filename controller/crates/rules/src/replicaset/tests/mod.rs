//! Upstream's unit tests of the ReplicaSet controller, vector by vector, and property tests.
//!
//! One file for each of upstream's functions; rows are named as in upstream. Vectors that upstream
//! passes to an inner function go to the equivalent function here; the others go through `plan` and
//! `report`.

mod availability_test;
mod claim_test;
mod fixtures;
mod plan_test;
mod pods_to_delete_test;
mod properties;
mod sorting_test;
mod status_test;
