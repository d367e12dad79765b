//! What a path's device and file system demand of an I/O.

use std::fs::OpenOptions;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use crate::align::DioAlign;
use crate::error::{Error, Result};
use crate::sys;

/// Sizes and alignments of a file or block device, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct IoLimits {
    /// Smallest block the device addresses (of a file: what direct I/O demands of its offsets).
    pub logical_block: u32,
    /// Smallest block the device writes without reading (of a file: the same as logical).
    pub physical_block: u32,
    /// Alignment of a direct I/O's buffer.
    pub dio_mem_align: u32,
    /// Alignment of a direct I/O's offset and length.
    pub dio_offset_align: u32,
    /// Bytes that can be addressed.
    pub size_bytes: u64,
    /// Whether it can be opened with O_DIRECT (tried, not guessed).
    pub dio_supported: bool,
}

/// Ask a regular file or block device.
///
/// # Errors
/// It cannot be opened for reading, or is neither.
pub fn io_limits(path: &Path) -> Result<IoLimits> {
    let fail = |source| Error::new("cannot ask the I/O limits of", path, source);
    let open = |flags| {
        OpenOptions::new()
            .read(true)
            .custom_flags(flags | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY)
            .open(path)
    };
    let file = open(0).map_err(fail)?;
    let metadata = file.metadata().map_err(fail)?;
    let align = DioAlign::of(&file).map_err(fail)?;
    let (size_bytes, (logical_block, physical_block)) = if metadata.file_type().is_block_device() {
        (sys::device_bytes(&file).map_err(fail)?, sys::device_blocks(&file).map_err(fail)?)
    } else if metadata.is_file() {
        (metadata.len(), (align.offset, align.offset))
    } else {
        return Err(Error::refused("neither a regular file nor a block device", path, libc::EINVAL));
    };
    let dio_supported = align.supported && open(libc::O_DIRECT).is_ok();
    Ok(IoLimits {
        logical_block,
        physical_block,
        dio_mem_align: align.mem,
        dio_offset_align: align.offset,
        size_bytes,
        dio_supported,
    })
}
