//! The open files of a workload, in the order of its targets.

use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};

/// One or more open files; an I/O names its own by [`strata_pattern::Io::target`].
#[derive(Debug)]
pub struct Files(Vec<File>);

impl Files {
    /// The files of targets 0, 1, ….
    #[must_use]
    pub fn new(files: Vec<File>) -> Self {
        assert!(!files.is_empty() && files.len() <= 1 << 16, "{} files for 16 bits of target", files.len());
        Self(files)
    }

    /// Their descriptors.
    #[must_use]
    pub fn descriptors(&self) -> Vec<RawFd> {
        self.0.iter().map(AsRawFd::as_raw_fd).collect()
    }

    /// One of them.
    #[inline]
    #[must_use]
    pub fn get(&self, target: u16) -> &File {
        &self.0[usize::from(target)]
    }
}

impl From<File> for Files {
    fn from(file: File) -> Self {
        Self::new(vec![file])
    }
}
