//! A directory whose files are read and written without the page cache, for servers that know no unbuffered I/O.
//!
//! The kernel hands each read and write of such a file on as it is (`FOPEN_DIRECT_IO`), and it is carried out with
//! `O_DIRECT` on the file below. What is not aligned to 4 KiB is read whole and, when written, put together here.
//! A file may also be one of another node, over NBD or SMB: this stands for the kernel's client of a share.

mod files;
mod lower;
mod remote;
mod service;
mod source;

pub use service::{Config, Far, Part, run};
