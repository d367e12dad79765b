//! The fuzz targets' bodies without the fuzzer: mutations of sound streams, the same ones every time, for two seconds
//! at most. Coverage-guided fuzzing finds more; this runs everywhere.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail where it stands")]

mod bodies;
mod storm;

use bodies::chunk;
use storm::storm;
use strata_proto::nbd::codec::client_handshake::{info_option, option};
use strata_proto::nbd::codec::{Command, Request, consts, simple_reply};

/// What coverage-guided fuzzing kept: one input a line, hexadecimal.
fn seeds(text: &str) -> Vec<Vec<u8>> {
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    text.lines().map(|line| line.as_bytes().chunks(2).map(byte).collect()).collect()
}

#[test]
fn the_seeds_of_the_fuzzer() {
    let server = seeds(include_str!("../../../fuzz/seeds/server_handshake.hex"));
    let client = seeds(include_str!("../../../fuzz/seeds/client_replies.hex"));
    assert!(server.len() > 20 && client.len() > 20);
    storm(&server, bodies::server_handshake::body);
    storm(&client, bodies::client_replies::body);
}

#[test]
fn whatever_a_client_sends() {
    let request =
        |command, length| Request { flags: 0, command, cookie: 7, offset: 4096, length }.encode().to_vec();
    let flags = 3_u32.to_be_bytes().to_vec();
    let requests = [
        request(Command::Read, 4096),
        [request(Command::Write, 16), vec![9; 16]].concat(),
        request(Command::Flush, 0),
        request(Command::Trim, 8192),
        request(Command::WriteZeroes, 8192),
        request(Command::Disconnect, 0),
    ];
    let options = [
        option(consts::OPT_STRUCTURED_REPLY, &[]),
        option(consts::OPT_LIST, &[]),
        info_option(consts::OPT_INFO, "disk"),
        option(consts::OPT_STARTTLS, &[]),
        option(77, b"unknown"),
    ];
    let go = info_option(consts::OPT_GO, "disk");
    let sound = [
        [&flags[..], &options.concat(), &go, &requests.concat()].concat(),
        [&flags[..], &go, &requests.concat()].concat(),
        [&flags[..], &option(consts::OPT_EXPORT_NAME, b"disk"), &requests.concat()].concat(),
        [&flags[..], &option(consts::OPT_ABORT, &[])].concat(),
    ];
    storm(&sound, bodies::server_handshake::body);
}

#[test]
fn whatever_a_server_sends() {
    // Where a read's data begin: at the offset of the request in the fuzz target.
    let data = |at: u64, len: usize| [&(4096 + at).to_be_bytes()[..], &vec![5; len]].concat();
    let hole = |at: u64, len: u32| [&(4096 + at).to_be_bytes()[..], &len.to_be_bytes()].concat();
    let error = [&5_u32.to_be_bytes()[..], &3_u16.to_be_bytes(), b"bad"].concat();
    let sound = [
        [chunk(0, 1, 0, &data(0, 3000)), chunk(1, 2, 0, &hole(3000, 62_536))].concat(),
        [simple_reply(1, 0).to_vec(), vec![1; 65_536]].concat(),
        [simple_reply(2, 5).to_vec(), chunk(1, 0x8001, 3, &error)].concat(),
        [chunk(0, 0x8002, 1, &error), chunk(1, 0, 1, &[])].concat(),
        [&b"NBDMAGICIHAVEOPT"[..], &[0, 3]].concat(),
        [&[0, 0][..], &(1_u64 << 30).to_be_bytes(), &[0, 1]].concat(),
        [&[0, 3][..], &512_u32.to_be_bytes(), &4096_u32.to_be_bytes(), &(1_u32 << 25).to_be_bytes()].concat(),
        [&4_u32.to_be_bytes()[..], b"disk"].concat(),
    ];
    storm(&sound, bodies::client_replies::body);
}
