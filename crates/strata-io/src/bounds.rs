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

/// Number of a CPU or NUMA node.
pub const CPU_HIGHEST: u32 = 1_023;

/// I/Os per second of an open loop.
pub const RATE_MOST: u32 = 1_000_000_000;

/// A year in ns, of any time of a job.
pub const TIME_MOST_NS: u64 = 31_622_400_000_000_000;

/// The shortest interval of a result, in ns.
pub const INTERVAL_LEAST_NS: u64 = 1_000_000;

/// Exponent of a zipf distribution.
pub const THETA_MOST: u32 = 20;

/// Percent of written data that compress, or that repeat.
pub const CONTENT_PERCENT_MOST: u32 = 99;
