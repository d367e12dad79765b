//! What an iSCSI target may send.

use super::login::{Agreed, Terms, framed};
use super::pdu::{
    ASYNC, Bhs, DATA_IN, EXP_CMD_SN_AT, FINAL, ITT_AT, MAX_CMD_SN_AT, NO_TAG, NOP_IN, OFFSET_AT, R2T, REJECT,
    RESIDUAL_AT, RESPONSE, TTT_AT, Window,
};
use super::wire::Scsi;
use crate::storm::storm;
use crate::transport::stream::{Came, GENERATION, LEN, feed};

fn wire() -> Scsi {
    let terms = Terms { max_sent: 1024, immediate: 512 };
    let agreed = Agreed { terms, window: Window { next: 1, last: 100 }, expected_status: 1 };
    Scsi::new(agreed, [0; 8], 512, false)
}

fn pdu(opcode: u8, flags: u8, slot: u32) -> Bhs {
    let tag = GENERATION << 14 | slot;
    Bhs::new(opcode, flags).with(ITT_AT, tag).with(EXP_CMD_SN_AT, 6).with(MAX_CMD_SN_AT, 105)
}

fn data(slot: u32, at: u32, bytes: usize, flags: u8) -> Vec<u8> {
    framed(pdu(DATA_IN, flags, slot).with(OFFSET_AT, at), &vec![3; bytes])
}

fn response(slot: u32, status: u8, data: &[u8]) -> Vec<u8> {
    let mut head = pdu(RESPONSE, FINAL, slot);
    head.0[3] = status;
    framed(head, data)
}

fn r2t(slot: u32, from: u32, len: u32) -> Vec<u8> {
    framed(pdu(R2T, FINAL, slot).with(OFFSET_AT, from).with(RESIDUAL_AT, len).with(TTT_AT, 9), &[])
}

fn sense(key: u8) -> Vec<u8> {
    [&[0, 18, 0x70, 0, key][..], &[0; 15]].concat()
}

fn came(pdus: &[Vec<u8>]) -> Came {
    feed(&mut wire(), &pdus.concat(), 1 << 20)
}

#[test]
fn answers_in_any_order_and_pieces() {
    let half = LEN / 2;
    let stream = [
        data(1, 0, half as usize, 0),
        response(2, 0, &[]),
        data(0, 0, LEN as usize, FINAL | 1),
        response(4, 0, &[]),
        data(1, half, half as usize, FINAL),
        response(1, 0, &[]),
        response(3, 2, &sense(3)),
    ]
    .concat();
    let len = LEN as i32;
    for piece in [1, 5, 1 << 20] {
        let came = feed(&mut wire(), &stream, piece);
        assert_eq!(came.answers, [(2, len), (0, len), (4, 0), (1, len), (3, -libc::EIO)], "{piece}");
        assert!(!came.broken);
    }
}

#[test]
fn a_residual_is_what_was_not_moved() {
    let mut short = data(0, 0, 100, FINAL | 1 | 2);
    short[RESIDUAL_AT..RESIDUAL_AT + 4].copy_from_slice(&(LEN - 100).to_be_bytes());
    assert_eq!(came(&[short]).answers, [(0, 100)]);
    assert!(came(&[data(0, 0, 100, FINAL | 1)]).broken, "all of it was said to be moved");
}

#[test]
fn pings_and_messages_are_no_answers() {
    let ping = |tag| framed(Bhs::new(NOP_IN, FINAL).with(ITT_AT, NO_TAG).with(TTT_AT, tag), &[1, 2, 3]);
    let attention = framed(Bhs::new(ASYNC, FINAL), &sense(6));
    assert_eq!(came(&[ping(4), attention, ping(NO_TAG), response(2, 0, &[])]).answers, [(2, LEN as i32)]);
    let mut logout = Bhs::new(ASYNC, FINAL);
    logout.0[36] = 1;
    assert!(came(&[framed(logout, &[])]).broken);
    assert!(came(&[framed(Bhs::new(REJECT, FINAL), &[])]).broken);
}

#[test]
fn what_cannot_be_is_not_believed() {
    for wrong in [
        data(0, 512, 512, 0),            // out of order
        data(0, 0, LEN as usize + 4, 0), // beyond the request
        data(2, 0, 4, 0),                // data for a write
        data(5, 0, 4, 0),                // for nobody
        r2t(0, 0, 512),                  // of a read
        r2t(2, LEN - 4, 8),              // beyond the request
        r2t(2, 0, 0),
    ] {
        assert_eq!(came(&[wrong]), Came { answers: vec![], broken: true });
    }
    // Data that were asked for are not sent yet: an answer now would free a buffer that is in use.
    assert!(came(&[r2t(2, 512, LEN - 512), response(2, 0, &[])]).broken);
}

#[test]
fn whatever_a_target_sends() {
    let sound = [
        [data(0, 0, 64, 0), data(0, 64, LEN as usize - 64, FINAL | 1), response(2, 2, &sense(6))].concat(),
        [r2t(2, 512, 4096), response(3, 0, &[]), response(4, 0x28, &[])].concat(),
        framed(Bhs::new(NOP_IN, FINAL).with(ITT_AT, NO_TAG).with(TTT_AT, 3), &[9; 5]),
    ];
    storm(&sound, |bytes| {
        feed(&mut wire(), bytes, 1 << 20);
    });
}
