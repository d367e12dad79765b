//! The codec alone, against values and against noise.

#[allow(dead_code)]
mod bodies;

use bodies::chunk;
use bodies::client_replies::{self, Four, replies};
use proptest::prelude::*;
use strata_proto::nbd::codec::client_handshake::{self, OptionReply};
use strata_proto::nbd::codec::*;

fn export() -> Export {
    let blocks = Some(BlockSizes { minimum: 512, preferred: 4096, maximum: MAX_PAYLOAD });
    Export { name: "disk".into(), size_bytes: 1 << 30, flags: consts::TX_HAS_FLAGS, blocks }
}

/// Feed `input` to a server's handshake as it comes in pieces of `piece`; the bytes it answered.
fn handshake(input: &[u8], piece: usize) -> (Vec<u8>, Option<Progress>) {
    let mut out = Vec::new();
    let mut machine = ServerHandshake::new(export(), &mut out);
    let (mut held, mut last) = (Vec::new(), None);
    for chunk in input.chunks(piece) {
        held.extend(chunk);
        loop {
            match machine.advance(&held, &mut out) {
                Ok((0, Progress::NeedMore)) => break,
                Ok((len, progress)) => {
                    held.drain(..len);
                    last = Some(progress);
                    if matches!(progress, Progress::Transmit { .. } | Progress::Close) {
                        return (out, last);
                    }
                }
                Err(_) => return (out, None),
            }
        }
        assert!(held.len() <= MAX_OPTION as usize + 16 + piece, "what is held is bounded");
    }
    (out, last)
}

fn data(flags: u16, offset: u64, len: usize) -> Vec<u8> {
    chunk(flags, consts::CHUNK_OFFSET_DATA, 1, &[&offset.to_be_bytes()[..], &vec![9; len]].concat())
}

fn hole(flags: u16, offset: u64, len: u32) -> Vec<u8> {
    chunk(flags, consts::CHUNK_OFFSET_HOLE, 1, &[&offset.to_be_bytes()[..], &len.to_be_bytes()].concat())
}

#[test]
fn a_read_in_pieces_out_of_order_with_a_hole() {
    let stream =
        [data(0, 40_960, 24_576), hole(0, 8192, 32_768), data(0, 0, 8192), chunk(1, 0, 1, &[])].concat();
    for piece in [1, 7, 4096, 100_000] {
        assert_eq!(replies(&stream, piece, &mut Four::at(0)), (vec![(1, 0)], Ok(())));
    }
}

#[test]
fn an_error_chunk_fails_the_read_and_its_long_text_is_skipped() {
    let mut body = consts::ENOSPC.to_be_bytes().to_vec();
    body.extend(500_u16.to_be_bytes());
    body.extend([b'x'; 500]);
    let stream = [data(0, 0, 100), chunk(0, consts::CHUNK_ERROR, 1, &body), chunk(1, 0, 1, &[])].concat();
    assert_eq!(replies(&stream, 9, &mut Four::at(0)), (vec![(1, consts::ENOSPC)], Ok(())));
    // An error type from the future is an error all the same.
    let stream = chunk(1, 0x8123, 1, &[0, 0, 0, 5, 0, 0]);
    assert_eq!(replies(&stream, 9, &mut Four::at(0)), (vec![(1, 5)], Ok(())));
}

#[test]
fn servers_that_lie_are_found_out() {
    for (what, stream) in [
        ("short", [data(0, 0, 100), chunk(1, 0, 1, &[])].concat()),
        ("overlap", [data(0, 0, 65_536), data(1, 0, 1)].concat()),
        ("beyond", data(1, 65_000, 1000)),
        ("before", data(1, u64::MAX, 1000)),
        ("hole beyond", hole(1, 0, u32::MAX)),
        ("too long", chunk(1, consts::CHUNK_OFFSET_DATA, 1, &[0; 70_000])),
        ("unknown cookie", simple_reply(9, 0).to_vec()),
        ("unknown type", chunk(1, 77, 1, &[0; 8])),
        ("endless", chunk(0, 0, 1, &[])),
        ("no reply", vec![0; 64]),
    ] {
        let (answered, result) = replies(&stream, 4096, &mut Four::at(0));
        assert!(answered.is_empty() && result.is_err(), "{what}: {answered:?} {result:?}");
    }
}

#[test]
fn options_get_the_replies_the_specification_gives_them() {
    let flags = 3_u32.to_be_bytes();
    let option = |number: u32, data: &[u8]| client_handshake::option(number, data);
    let kinds = |input: &[u8]| {
        let (out, last) = handshake(&[&flags[..], input].concat(), 1 << 20);
        let (mut rest, mut kinds) = (&out[18..], Vec::new());
        while let Some(head) = rest.first_chunk::<20>() {
            let reply = OptionReply::parse(head).expect("well formed");
            kinds.push(reply.kind);
            rest = &rest[20 + reply.length as usize..];
        }
        (kinds, last)
    };
    let go = Progress::Transmit { structured: false, flags: consts::TX_HAS_FLAGS };
    let info = |number, name: &str| client_handshake::info_option(number, name);
    use consts::*;
    assert_eq!(kinds(&option(OPT_LIST, &[])), (vec![REP_SERVER, REP_ACK], Some(Progress::Advanced)));
    assert_eq!(kinds(&option(OPT_LIST, b"x")).0, [REP_ERR_INVALID]);
    assert_eq!(kinds(&option(OPT_STARTTLS, &[])).0, [REP_ERR_UNSUP]);
    assert_eq!(kinds(&option(77, b"whatever")).0, [REP_ERR_UNSUP]);
    assert_eq!(kinds(&option(OPT_ABORT, &[])), (vec![REP_ACK], Some(Progress::Close)));
    assert_eq!(kinds(&info(OPT_INFO, "")).0, [REP_INFO, REP_INFO, REP_ACK]);
    assert_eq!(kinds(&info(OPT_GO, "disk")), (vec![REP_INFO, REP_INFO, REP_ACK], Some(go)));
    assert_eq!(kinds(&info(OPT_GO, "other")), (vec![REP_ERR_UNKNOWN], Some(Progress::Advanced)));
    assert_eq!(kinds(&option(OPT_GO, &[0, 0, 0, 9, 1])).0, [REP_ERR_INVALID]);
    assert_eq!(kinds(&option(OPT_EXPORT_NAME, b"other")).1, Some(Progress::Close));
    let both = [option(OPT_STRUCTURED_REPLY, &[]), info(OPT_GO, "disk")].concat();
    let with_df = Progress::Transmit { structured: true, flags: TX_HAS_FLAGS | TX_SEND_DF };
    assert_eq!(kinds(&both).1, Some(with_df));
}

fn command() -> impl Strategy<Value = Command> {
    any::<u16>().prop_map(|number| match number % 8 {
        0 => Command::Read,
        1 => Command::Write,
        2 => Command::Disconnect,
        3 => Command::Flush,
        4 => Command::Trim,
        6 => Command::WriteZeroes,
        _ => Command::Unknown(1000 + number % 1000),
    })
}

/// A sound stream, for mutations: bytes that pass the first checks reach the later ones.
fn sound_replies() -> Vec<u8> {
    [data(0, 0, 30_000), hole(0, 30_000, 30_000), data(1, 60_000, 5536), simple_reply(2, 5).to_vec()].concat()
}

fn sound_handshake() -> Vec<u8> {
    let mut out = 3_u32.to_be_bytes().to_vec();
    out.extend(client_handshake::option(consts::OPT_STRUCTURED_REPLY, &[]));
    out.extend(client_handshake::option(consts::OPT_LIST, &[]));
    out.extend(client_handshake::info_option(consts::OPT_INFO, "disk"));
    out.extend(client_handshake::info_option(consts::OPT_GO, "disk"));
    out
}

proptest! {
    #[test]
    fn requests_survive_the_wire(
        command in command(), flags: u16, cookie: u64, offset: u64, length in 0..=MAX_PAYLOAD,
    ) {
        let request = Request { flags, command, cookie, offset, length };
        prop_assert_eq!(Request::parse(&request.encode()), Ok(request));
    }

    #[test]
    fn what_is_not_refused_lies_within_the_export(
        command in command(), flags in 0_u16..8, offset: u64, length: u32, size: u64, tx: u16,
    ) {
        let request = Request { flags, command, cookie: 0, offset, length };
        let moves = !matches!(command, Command::Flush | Command::Disconnect);
        if moves && request.refusal(size, tx).is_none() {
            prop_assert!(u128::from(offset) + u128::from(length) <= u128::from(size));
            prop_assert!(command == Command::Read || tx & consts::TX_READ_ONLY == 0);
        }
    }

    #[test]
    fn simple_replies_survive_the_wire(cookie: u64, error: u32) {
        let parsed = ReplyHeader::parse(&simple_reply(cookie, error));
        prop_assert_eq!(parsed, Ok(ReplyHeader::Simple { error, cookie }));
    }

    #[test]
    fn our_read_chunk_is_understood(len in 1_usize..=65_536, piece in 1_usize..5000) {
        let mut four = Four::at(0);
        four.0[3].read_len = len as u32;
        let stream = [&read_chunk_header(3, 0, len as u32)[..], &vec![1; len]].concat();
        prop_assert_eq!(replies(&stream, piece, &mut four), (vec![(3, 0)], Ok(())));
    }

    #[test]
    fn the_pieces_bytes_come_in_make_no_difference(piece in 1_usize..100) {
        let whole = sound_handshake();
        prop_assert_eq!(handshake(&whole, piece), handshake(&whole, whole.len()));
    }

    #[test]
    fn noise_never_panics(noise in proptest::collection::vec(any::<u8>(), 0..3000), piece in 1_usize..4000) {
        handshake(&noise, piece);
        let _either = replies(&noise, piece, &mut Four::at(0));
        if let Some(header) = noise.first_chunk() {
            let _either = Request::parse(header);
        }
        client_replies::body(&noise);
    }

    #[test]
    fn mutations_of_sound_streams_never_panic(
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
    ) {
        for (mut stream, server) in [(sound_handshake(), true), (sound_replies(), false)] {
            for (at, byte) in &flips {
                // Half of the flips go where the headers are, not into the bulk of the data.
                let len = if byte % 2 == 0 { stream.len().min(64) } else { stream.len() };
                stream[at.index(len)] = *byte;
            }
            stream.truncate(cut.index(stream.len()) + 1);
            if server {
                handshake(&stream, 4096);
            } else {
                let _either = replies(&stream, 4096, &mut Four::at(0));
            }
        }
    }
}
