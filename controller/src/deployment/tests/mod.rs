//! Upstream's unit tests of the Deployment controller, vector by vector, and what must hold for all
//! inputs.
//!
//! One file for each of upstream's; rows are named as upstream names them. Vectors that upstream
//! feeds to an inner function go through that function's namesake here; the rest through `plan`,
//! whole.

mod claim_test;
mod cleanup_test;
mod controller_test;
mod create_test;
mod deployment_util_test;
mod fixed_test;
mod fixtures;
mod progress_test;
mod properties;
mod recreate_test;
mod rollback_test;
mod rolling_test;
mod scale_test;
mod staircase_test;
