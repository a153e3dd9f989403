//! Prove: nothing. The server is part of this process, and only the subject and the test
//! environment's controllers have a client for it.

use super::Simulated;
use crate::cluster::questions::Prove;

impl Prove for Simulated {}
