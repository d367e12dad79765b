//! Clients that lie, stop half-way or send noise: the server answers an error or hangs up, and
//! serves the next client.

mod common;

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use common::{MEMORY, Target, target, target_with};
use strata_proto::nbd::codec::{Command, Request, consts};

fn request(command: Command, flags: u16, offset: u64, length: u32) -> [u8; 28] {
    Request { flags, command, cookie: 7, offset, length }.encode()
}

/// The error number of the simple reply that comes next.
fn simple_error(stream: &mut impl Read) -> u32 {
    let mut reply = [0; 16];
    stream.read_exact(&mut reply).expect("a simple reply");
    assert_eq!(reply[..4], consts::SIMPLE_REPLY_MAGIC.to_be_bytes());
    assert_eq!(reply[8..], 7_u64.to_be_bytes());
    u32::from_be_bytes([reply[4], reply[5], reply[6], reply[7]])
}

/// The server hangs up without another byte.
fn hung_up(stream: &mut impl Read) -> bool {
    match stream.read(&mut [0; 64]) {
        Ok(got) => got == 0,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

/// Every connection's thread ends once its client is gone.
fn no_connection_left(target: &Target) {
    let until = Instant::now() + Duration::from_secs(20);
    while target.server.connections() > 0 {
        assert!(Instant::now() < until, "{} connections are left", target.server.connections());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn half_a_handshake_of_every_length() {
    let target = target(MEMORY, "{}");
    let whole = b"\0\0\0\x03IHAVEOPT\0\0\0\x07\0\0\0\x06\0\0\0\0\0\0";
    for len in 0..whole.len() {
        let mut stream = target.raw();
        stream.write_all(&whole[..len]).expect("sent");
    }
    target.still_serves();
    no_connection_left(&target);
}

#[test]
fn wrong_magics_and_unknown_flags_end_the_connection() {
    let target = target(MEMORY, "{}");
    for greeting in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"\xff\xff\xff\xff", b"\0\0\0\x03IHAVEOPTIHAVEOPT"] {
        let mut stream = target.raw();
        stream.write_all(greeting).expect("sent");
        let mut rest = Vec::new();
        let _reset = stream.read_to_end(&mut rest); // ends: the server hung up
        target.still_serves();
    }
    let mut stream = target.raw_transmission();
    stream.write_all(&[0; 28]).expect("sent");
    assert!(hung_up(&mut stream));
    target.still_serves();
    no_connection_left(&target);
}

#[test]
fn oversize_lengths_are_refused_without_waiting_for_their_bytes() {
    let target = target(MEMORY, "{}");
    let mut stream = target.raw();
    stream.write_all(b"\0\0\0\x03IHAVEOPT\0\0\0\x07\xff\xff\xff\xff").expect("sent");
    let mut head = [0; 20];
    stream.read_exact(&mut head).expect("an option reply");
    assert_eq!(head[12..16], consts::REP_ERR_TOO_BIG.to_be_bytes());

    let mut stream = target.raw_transmission();
    stream.write_all(&request(Command::Read, 0, 0, u32::MAX)).expect("sent");
    assert_eq!(simple_error(&mut stream), consts::EINVAL);
    stream.write_all(&request(Command::Write, 0, 0, u32::MAX)).expect("sent");
    assert!(hung_up(&mut stream));
    target.still_serves();
    no_connection_left(&target);
}

#[test]
fn requests_that_make_no_sense_get_an_error_and_the_connection_goes_on() {
    let target = target(MEMORY, "{}");
    let mut stream = target.raw_transmission();
    for (bad, error) in [
        (request(Command::Read, 0, 64 << 20, 1), consts::EINVAL),
        (request(Command::Read, 0, u64::MAX, 4096), consts::EINVAL),
        (request(Command::Read, 0, 0, 0), consts::EINVAL),
        (request(Command::Read, consts::CMD_FLAG_DF, 0, 1), consts::EINVAL), // no structured replies
        (request(Command::Flush, 1 << 15, 0, 0), consts::EINVAL),
        (request(Command::Trim, 0, 64 << 20, 4096), consts::ENOSPC),
        (request(Command::WriteZeroes, 0, 1, u32::MAX), consts::ENOSPC),
        (request(Command::Unknown(5), 0, 0, 0), consts::EINVAL),
        (request(Command::Unknown(999), 0, 0, 0), consts::EINVAL),
        (request(Command::Flush, 0, u64::MAX, u32::MAX), 0), // its range means nothing
    ] {
        stream.write_all(&bad).expect("sent");
        assert_eq!(simple_error(&mut stream), error);
    }
    // A write beyond the end still has its payload taken off the stream.
    stream.write_all(&request(Command::Write, 0, 64 << 20, 4)).expect("sent");
    stream.write_all(b"data").expect("sent");
    assert_eq!(simple_error(&mut stream), consts::ENOSPC);
    stream.write_all(&request(Command::Flush, 0, 0, 0)).expect("sent");
    assert_eq!(simple_error(&mut stream), 0);
}

#[test]
fn nothing_is_answered_after_the_goodbye() {
    let target = target(MEMORY, "{}");
    let mut stream = target.raw_transmission();
    let mut both = request(Command::Disconnect, 0, 0, 0).to_vec();
    both.extend(request(Command::Flush, 0, 0, 0));
    stream.write_all(&both).expect("sent");
    assert!(hung_up(&mut stream));
    target.still_serves();
}

#[test]
fn a_client_that_leaves_in_mid_payload_or_takes_no_replies() {
    // A short modelled medium, so that requests are in flight when their client goes.
    let target = target(MEMORY, r#"{"service_time_ns":1000000}"#);
    let mut half = target.raw_transmission();
    half.write_all(&request(Command::Write, 0, 0, 1 << 20)).expect("sent");
    half.write_all(&[1; 1000]).expect("sent");
    drop(half);
    let mut deaf = target.raw_transmission();
    deaf.set_write_timeout(Some(Duration::from_millis(200))).expect("a timeout");
    for _ in 0..1000 {
        // Far more data asked for than sockets hold; in time the server stops reading requests.
        if deaf.write_all(&request(Command::Read, 0, 0, 1 << 20)).is_err() {
            break;
        }
    }
    target.still_serves();
    drop(deaf);
    no_connection_left(&target);
    target.server.stop();
}

#[test]
fn noise_in_either_phase() {
    let target = target(MEMORY, "{}");
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for round in 0..60 {
        let noise: Vec<u8> = (0..2000)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state as u8
            })
            .collect();
        let mut stream = if round % 2 == 0 { target.raw() } else { target.raw_transmission() };
        if round % 4 == 3 {
            // A sound magic first, so that the noise is taken for a request.
            let _hung_up = stream.write_all(&consts::REQUEST_MAGIC.to_be_bytes());
        }
        let _hung_up = stream.write_all(&noise);
    }
    target.still_serves();
    no_connection_left(&target);
}

#[test]
fn more_clients_than_allowed_are_hung_up_on_and_the_places_come_free() {
    let target = target_with(MEMORY, r#""max_connections":2"#);
    let (one, two) = (target.raw(), target.raw());
    let mut three = std::os::unix::net::UnixStream::connect(&target.socket).expect("the backlog takes it");
    assert!(hung_up(&mut three));
    drop((one, two));
    no_connection_left(&target);
    target.still_serves();
}
