//! I/O backends behind one small trait, and what must be asked of a path before it is measured.
//! No clock lives here: the engine stamps.

mod align;
mod awaited;
mod blocking;
mod buffers;
mod cached;
mod change;
mod choice;
mod error;
mod fiemap;
mod files;
mod limits;
mod mapping;
mod null;
mod open;
mod pool;
mod psync;
mod ring;
mod sys;
mod uring;

pub mod bounds;
pub mod queue;

pub use align::{AlignSource, DioAlign};
pub use awaited::{Awaited, Outcome};
pub use buffers::Buffers;
pub use cached::{CacheState, cache_state, cached_bytes, drop_cached};
pub use change::Change;
pub use choice::EngineChoice;
pub use error::{Error, Result, RunError};
pub use fiemap::{Extent, FileMap, fiemap};
pub use files::Files;
pub use limits::{IoLimits, io_limits};
pub use null::Null;
pub use open::{Kind, OpenSpec, Target, beside, open};
pub use pool::Pool;
pub use psync::Psync;
pub use queue::{Completion, Io, Op, Queue};
pub use uring::Uring;
