//! What a server may send: replies to four reads in flight, then option replies.
#![no_main]

#[path = "../../crates/strata-proto/tests/bodies/client_replies.rs"]
mod client_replies;

libfuzzer_sys::fuzz_target!(|input: &[u8]| client_replies::body(input));
