//! An iSCSI initiator (RFC 7143) for one logical unit: sessions of one connection, without digests and without CHAP.
//!
//! Commands are matched to their answers by task tag. As many are sent as the target's window of command numbers
//! allows, the rest waits here. Data to be written goes with the command as far as the target takes it there, the
//! rest when it asks for it (R2T). A lost connection ends the queue: nothing is recovered.

mod login;
mod pdu;
mod queue;
mod scsi;
mod session;
#[cfg(test)]
mod tests;
mod unit;
mod uri;
mod wire;

pub use queue::IscsiQueue;
pub use unit::{Unit, probe, read_range};
pub use uri::Uri;

pub use crate::transport::OpenSpec;
