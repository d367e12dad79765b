//! Block traces: what the kernel's block layer tells about each I/O, and what follows from it.
//!
//! [`format`], [`page`], [`event`], [`mark`], [`message`], [`pairing`], [`order`], [`path`] and [`summary`] are pure: text,
//! bytes and values in, values out. Two touch the kernel: [`record`] reads the raw buffers of a tracing instance that
//! somebody else made, and the names of the threads it meets; [`capture`] reads headers off the wire.
//! Times are ns of `CLOCK_MONOTONIC`, as the rest of the engine has them; sectors are 512 bytes.

pub mod blkparse;
pub mod capture;
pub mod device;
pub mod event;
pub mod flags;
pub mod format;
pub mod mark;
pub mod message;
pub mod order;
pub mod page;
pub mod pairing;
pub mod path;
pub mod record;
pub mod saved;
pub mod side;
pub mod streams;
pub mod summary;
pub mod threads;

pub use event::{Event, Kind, Names};
pub use path::figures::Waterfall;
pub use record::{RecordSpec, Recording, start};
pub use summary::{Source, summarise};

/// Bytes of a sector, whatever the device's own blocks are.
pub const SECTOR: u64 = 512;
