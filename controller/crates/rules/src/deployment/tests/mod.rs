//! Upstream's unit tests of the Deployment controller, vector by vector, and property tests.
//!
//! One file for each of upstream's; rows are named as in upstream. Vectors that upstream passes to
//! an inner function go to the equivalent function here; the others go through `plan`.

mod claim_test;
mod cleanup_test;
mod compatibility_test;
mod controller_test;
mod create_test;
mod deployment_util_test;
mod fixtures;
mod progress_test;
mod properties;
mod recreate_test;
mod rollback_test;
mod rolling_test;
mod rollout_test;
mod scale_test;
