//! The endpoint `smb://`: a file on an SMB 3.1.1 share.
//!
//! The load thread itself writes requests to the socket and reads replies from it, so that nothing but the system call lies
//! between the engine's clock and the wire. Messages, NTLM, key derivation, signing and encryption are those of the crate
//! `smb2`; its asynchronous connection is not used. No clock lives here: the engine stamps.

mod cards;
mod dial;
mod file;
mod frame;
mod guard;
mod inbox;
mod link;
mod login;
mod probe;
mod queue;
mod secret;
mod status;
mod talk;
mod uri;

pub use cards::Spread;
pub use dial::Agreed;
pub use file::{create, read_range, remove};
pub use frame::CREDIT_BYTES;
pub use probe::{Probe, probe};
pub use queue::{OpenSpec, SmbQueue};
pub use secret::Password;
pub use strata_proto::errno;
pub use uri::{Encrypt, Sign, Uri};
