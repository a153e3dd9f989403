//! One cluster for all trials of a run.
