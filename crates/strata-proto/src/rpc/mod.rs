//! ONC RPC version 2 (RFC 5531) over TCP with record marks, XDR (RFC 4506), and the portmapper.

mod call;
mod ports;
mod reply;
mod reserved;
mod session;
mod xdr;

pub(crate) use call::{Cred, MARK_LEN, call};
pub(crate) use ports::port_of;
pub(crate) use reply::{Header, header};
pub(crate) use session::Session;
pub(crate) use xdr::Xdr;

/// The last fragment of a record.
pub(crate) const LAST: u32 = 1 << 31;
