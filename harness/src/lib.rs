//! placeholder
pub mod clock;
pub mod cluster;
pub mod gate;
pub mod recording;
pub mod supervise;
