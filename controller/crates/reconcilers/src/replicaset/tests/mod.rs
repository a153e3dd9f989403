//! Tests of what surrounds the rules: upstream's vectors, and observations of the cache.

mod cache_test;
mod counts_test;
mod expectations_test;
#[path = "../../../../rules/src/replicaset/tests/fixtures.rs"]
#[expect(dead_code, reason = "the tests of the rules use all of them")]
mod fixtures;
mod neighbours_test;
mod slow_start_test;
