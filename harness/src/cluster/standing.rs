//! The cluster that stands until it is told to go.
