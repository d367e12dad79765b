//! The bodies of the fuzz targets, shared with the everyday test.

use strata_proto::nbd::codec::consts;

pub mod client_replies;
pub mod server_handshake;

/// One chunk of a structured reply.
pub fn chunk(flags: u16, kind: u16, cookie: u64, body: &[u8]) -> Vec<u8> {
    let mut out = consts::STRUCTURED_REPLY_MAGIC.to_be_bytes().to_vec();
    out.extend(flags.to_be_bytes());
    out.extend(kind.to_be_bytes());
    out.extend(cookie.to_be_bytes());
    out.extend((body.len() as u32).to_be_bytes());
    out.extend(body);
    out
}
