//! Prove: nothing to check. The server is part of this process, and only the subject and the test
//! environment's controllers have a client for it.

use super::SimulatedCluster;
use crate::backend::Prove;

impl Prove for SimulatedCluster {}
