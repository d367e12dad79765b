//! What a client may send: the handshake, then request headers.
#![no_main]

#[path = "../../crates/strata-proto/tests/bodies/server_handshake.rs"]
mod server_handshake;

libfuzzer_sys::fuzz_target!(|input: &[u8]| server_handshake::body(input));
