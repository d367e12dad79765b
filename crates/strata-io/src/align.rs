//! What O_DIRECT demands of memory and offsets.

use std::fs::File;
use std::io;

use rustix::fs::StatxFlags;

use crate::sys;

/// Alignment that direct I/O needs, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DioAlign {
    /// Of the buffer's address.
    pub mem: u32,
    /// Of the offset and the length.
    pub offset: u32,
    /// Whether the file takes direct I/O at all, as far as it says.
    pub supported: bool,
    /// Who said so.
    pub source: AlignSource,
}

/// Where an alignment comes from, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlignSource {
    /// `statx` with `STATX_DIOALIGN` (Linux 6.1 and a file system that answers).
    Statx,
    /// The logical block of the device itself (`BLKSSZGET`).
    Device,
    /// The logical block of the device under the file system, from sysfs.
    Sysfs,
    /// Nobody knows; 4096 suits every device there is.
    Assumed,
}

impl DioAlign {
    /// Ask about an open file or block device.
    ///
    /// # Errors
    /// The file cannot be asked at all.
    pub fn of(file: &File) -> io::Result<Self> {
        let stat = sys::statx(file, StatxFlags::DIOALIGN)?;
        if stat.stx_mask & StatxFlags::DIOALIGN.bits() != 0 {
            let supported = stat.stx_dio_offset_align > 0;
            let or_page = |align: u32| if align > 0 { align } else { 4096 };
            return Ok(Self {
                mem: or_page(stat.stx_dio_mem_align),
                offset: or_page(stat.stx_dio_offset_align),
                supported,
                source: AlignSource::Statx,
            });
        }
        let (align, source) = if let Ok((logical, _)) = sys::device_blocks(file) {
            (logical, AlignSource::Device)
        } else if let Some(logical) = sysfs_block(stat.stx_dev_major, stat.stx_dev_minor) {
            (logical, AlignSource::Sysfs)
        } else {
            (4096, AlignSource::Assumed)
        };
        Ok(Self { mem: align, offset: align, supported: true, source })
    }
}

/// `logical_block_size` of a device, or of the disk a partition is on.
fn sysfs_block(major: u32, minor: u32) -> Option<u32> {
    ["", "../"].iter().find_map(|up| {
        let path = format!("/sys/dev/block/{major}:{minor}/{up}queue/logical_block_size");
        std::fs::read_to_string(path).ok()?.trim().parse().ok()
    })
}
