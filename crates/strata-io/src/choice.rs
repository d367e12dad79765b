use serde::Deserialize;

/// What carries the I/Os of a file or block device.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum EngineChoice {
    /// io_uring, else the pool with the reason.
    #[default]
    Auto,
    /// io_uring or an error.
    IoUring,
    /// Blocking calls on threads.
    Pool,
}
