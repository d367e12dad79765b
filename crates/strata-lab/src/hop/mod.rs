//! A hop at layer 2: what comes in at one interface goes out at the other, later, or not at all.
//!
//! [`line`](self::line::Line) decides what happens to a frame and is pure; a thread for each direction carries it out.
//! Frames pass as the interface hands them over, up to 64 KiB with segmentation offload, with their header of offloads:
//! what is delayed or lost is such a frame.

mod ctl;
mod direction;
mod line;
mod packet;
mod service;

pub use line::{DirectionParams, Params};
pub use service::{Config, run};
