//! Bounds of a workload. Written by `python -m strata.model.workload_options`: change the table there.

/// Bytes of one I/O.
pub const BS_MOST: u32 = 67_108_864;

/// I/Os that one thread keeps in flight.
pub const IODEPTH_MOST: u32 = 4_096;

/// Threads of one workload.
pub const THREADS_MOST: u32 = 256;

/// Bytes for buffers of all threads.
pub const BUFFERS_MOST: u64 = 17_179_869_184;

/// Connections to one endpoint, over all threads.
pub const CONNECTIONS_MOST: u32 = 64;
