//! The bodies of the fuzz targets, shared with the everyday test.

pub mod client_replies;
pub mod server_handshake;
