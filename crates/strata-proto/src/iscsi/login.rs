//! Login: what is offered, what the target makes of it.

use std::io;

use super::pdu::{
    BHS, Bhs, CMD_SN_AT, EXP_STAT_SN_AT, FINAL, IMMEDIATE, ITT_AT, LOGIN, LOGIN_RESPONSE, STAT_SN_AT, Window,
};
use super::uri::Uri;
use crate::error::ProtoError;
use crate::named::{any_number, named_as};

/// Longest data segment we take, in bytes.
pub(super) const MAX_RECEIVED: u32 = 1 << 20;
/// Longest sequence of data that a target may ask for at once, in bytes.
const MAX_BURST: u32 = 1 << 20;
/// Stages, and the flag that asks for the next one.
const SECURITY: u8 = 0;
const OPERATIONAL: u8 = 1;
const FULL_FEATURE: u8 = 3;
const STATUS_AT: usize = 36;

/// What was agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Terms {
    /// Longest data segment the target takes, in bytes.
    pub(super) max_sent: u32,
    /// Bytes of a write that may go with its command.
    pub(super) immediate: u32,
}

/// Where a session stands when its login is over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Agreed {
    pub(super) terms: Terms,
    pub(super) window: Window,
    pub(super) expected_status: u32,
}

/// Carry out the login: `exchange` sends a PDU with its data and gives the next one that comes.
pub(super) fn login(
    uri: &Uri,
    mut exchange: impl FnMut(Bhs, &[u8]) -> io::Result<(Bhs, Vec<u8>)>,
) -> io::Result<Agreed> {
    let [a, b, c, d] = any_number().to_be_bytes();
    // Of random origin, so that no session of another program is taken over.
    let isid = [0x80, a, b, c, d, 0];
    let name = format!(
        "InitiatorName={}\0TargetName={}\0SessionType=Normal\0AuthMethod=None\0",
        uri.what.initiator, uri.what.target
    );
    let offer = format!(
        "HeaderDigest=None\0DataDigest=None\0InitialR2T=Yes\0ImmediateData=Yes\0MaxConnections=1\0ErrorRecoveryLevel=0\0\
         MaxRecvDataSegmentLength={MAX_RECEIVED}\0MaxBurstLength={MAX_BURST}\0FirstBurstLength={MAX_BURST}\0\
         MaxOutstandingR2T=1\0DataPDUInOrder=Yes\0DataSequenceInOrder=Yes\0DefaultTime2Wait=0\0DefaultTime2Retain=0\0"
    );
    let mut keys = Keys::default();
    let (mut stage, mut texts, mut expected_status) = (SECURITY, [name, offer].into_iter(), 0);
    let (mut handle, mut data) = (0_u16, texts.next().unwrap_or_default());
    // Two stages, and a target that says little at a time.
    for _ in 0..16 {
        let next = if stage == SECURITY { OPERATIONAL } else { FULL_FEATURE };
        let ask = Bhs::new(LOGIN | IMMEDIATE, FINAL | stage << 2 | next)
            .bytes(8, &isid)
            .bytes(14, &handle.to_be_bytes())
            .with(ITT_AT, 1)
            .with(CMD_SN_AT, 1)
            .with(EXP_STAT_SN_AT, expected_status);
        let (answer, text) = exchange(ask, data.as_bytes())?;
        if answer.opcode() != LOGIN_RESPONSE {
            let got = answer.opcode().into();
            return Err(ProtoError::BadValue { what: "answer to a login", got }.into());
        }
        refused(uri, answer.0[STATUS_AT], answer.0[STATUS_AT + 1], &text)?;
        keys.take(&text)?;
        expected_status = answer.u32(STAT_SN_AT).wrapping_add(1);
        handle = u16::from_be_bytes([answer.0[14], answer.0[15]]);
        data = String::new();
        if !answer.has(FINAL) {
            continue; // it has more to say; an empty request lets it
        }
        match answer.flags() & 3 {
            FULL_FEATURE => {
                let mut window = Window { next: 1, last: 0 };
                window.told(&answer);
                return Ok(Agreed { terms: keys.terms(uri)?, window, expected_status });
            }
            OPERATIONAL if stage == SECURITY => {
                stage = OPERATIONAL;
                data = texts.next().unwrap_or_default();
            }
            other => return Err(ProtoError::BadValue { what: "stage of a login", got: other.into() }.into()),
        }
    }
    Err(ProtoError::BadValue { what: "number of login answers", got: 16 }.into())
}

fn refused(uri: &Uri, class: u8, detail: u8, text: &[u8]) -> io::Result<()> {
    let refuse = |why: String, errno| Err(named_as(why, errno));
    match (class, detail) {
        (0, _) => Ok(()),
        (1, _) => {
            let all = String::from_utf8_lossy(text).into_owned();
            let there = all.split('\0').find_map(|key| key.strip_prefix("TargetAddress="));
            refuse(
                format!("the target has moved to {}; use that address", there.unwrap_or("somewhere")),
                libc::EREMCHG,
            )
        }
        (2, 1) => {
            refuse("it requires a name and password (CHAP), which is not supported".into(), libc::EACCES)
        }
        (2, 2) => refuse(
            format!("it does not admit {}; ?initiator=NAME sets another name", uri.what.initiator),
            libc::EACCES,
        ),
        (2, 3) => refuse(format!("there is no target {}", uri.what.target), libc::ENOENT),
        (class, detail) => {
            refuse(format!("the login is refused with status {class:02x}{detail:02x}"), libc::ECONNREFUSED)
        }
    }
}

/// What the target said of the terms.
#[derive(Debug, Default)]
struct Keys {
    sent: Option<u32>,
    first_burst: Option<u32>,
    immediate: Option<bool>,
    digest: bool,
}

impl Keys {
    fn take(&mut self, text: &[u8]) -> Result<(), ProtoError> {
        let text = std::str::from_utf8(text).map_err(|_| ProtoError::BadLength { what: "login text" })?;
        for (key, value) in text.split('\0').filter_map(|pair| pair.split_once('=')) {
            let number =
                || value.parse::<u32>().map_err(|_| ProtoError::BadValue { what: "login number", got: 0 });
            match key {
                "MaxRecvDataSegmentLength" => self.sent = Some(number()?),
                "FirstBurstLength" => self.first_burst = Some(number()?),
                "ImmediateData" => self.immediate = Some(value == "Yes"),
                "HeaderDigest" | "DataDigest" => self.digest |= value != "None",
                _ => {}
            }
        }
        Ok(())
    }

    fn terms(&self, uri: &Uri) -> io::Result<Terms> {
        if self.digest {
            return Err(uri.error("it requires digests, which are not supported", libc::EPROTONOSUPPORT));
        }
        // Defaults of RFC 7143.
        let max_sent = self.sent.unwrap_or(8192).clamp(512, 0x00FF_FFFF);
        let immediate = match self.immediate {
            Some(false) => 0,
            _ => max_sent.min(self.first_burst.unwrap_or(65_536)),
        };
        Ok(Terms { max_sent, immediate })
    }
}

/// The bytes of a PDU with its data.
pub(super) fn framed(bhs: Bhs, data: &[u8]) -> Vec<u8> {
    let mut out = bhs.with_data_len(data.len() as u32).0.to_vec(); // texts of a login: short
    out.extend(data);
    out.resize(BHS + data.len().next_multiple_of(4), 0);
    out
}
