//! Scenarios of the catalogue, run against the reconciler in the profiles `xing` and `safe`. Test
//! names have their numbers.

mod both_profiles;
mod fixture;
mod hostile;
mod key_selection;
mod memory;
mod pacing;
mod reconciler;
mod safe;
mod schedule;
mod secret_hmac;
mod xing;
