//! Option haggling, the server's half: one option in, its replies out.

use super::{Export, MAX_NAME, ProtoError, consts};
use crate::fields::Fields;

/// What an option led to.
pub(super) enum Outcome {
    /// Haggling goes on.
    GoOn,
    /// Structured replies were agreed.
    Structured,
    /// The transmission phase begins.
    Transmit,
    /// The client said disconnect, or wants what the server has not.
    Close,
}

/// Answer option `number` with `data`, appending the replies to `out`.
///
/// `flags` are the transmission flags to announce; `zeroes` asks for the 124 bytes that old
/// clients expect after the export's flags.
pub(super) fn answer(
    export: &Export,
    flags: u16,
    zeroes: bool,
    number: u32,
    data: &[u8],
    out: &mut Vec<u8>,
) -> Outcome {
    match number {
        consts::OPT_EXPORT_NAME => {
            if !named(export, data) {
                return Outcome::Close; // the protocol has no way to say no here
            }
            out.extend(export.size_bytes.to_be_bytes());
            out.extend(flags.to_be_bytes());
            if zeroes {
                out.extend([0; 124]);
            }
            Outcome::Transmit
        }
        consts::OPT_ABORT => {
            reply(out, number, consts::REP_ACK, &[]);
            Outcome::Close
        }
        consts::OPT_LIST if data.is_empty() => {
            let name = export.name.as_bytes();
            let mut body = (name.len() as u32).to_be_bytes().to_vec(); // config bounds it to MAX_NAME
            body.extend(name);
            reply(out, number, consts::REP_SERVER, &body);
            reply(out, number, consts::REP_ACK, &[]);
            Outcome::GoOn
        }
        consts::OPT_STRUCTURED_REPLY if data.is_empty() => {
            reply(out, number, consts::REP_ACK, &[]);
            Outcome::Structured
        }
        consts::OPT_LIST | consts::OPT_STRUCTURED_REPLY => {
            refuse(out, number, consts::REP_ERR_INVALID, "this option takes no data");
            Outcome::GoOn
        }
        consts::OPT_INFO | consts::OPT_GO => info(export, flags, number, data, out),
        consts::OPT_STARTTLS => {
            refuse(out, number, consts::REP_ERR_UNSUP, "TLS is not supported");
            Outcome::GoOn
        }
        _ => {
            refuse(out, number, consts::REP_ERR_UNSUP, "unknown option");
            Outcome::GoOn
        }
    }
}

fn named(export: &Export, name: &[u8]) -> bool {
    name.is_empty() || name == export.name.as_bytes()
}

fn info(export: &Export, flags: u16, number: u32, data: &[u8], out: &mut Vec<u8>) -> Outcome {
    let Ok((name, wants_name)) = parse_info(data) else {
        refuse(out, number, consts::REP_ERR_INVALID, "malformed information request");
        return Outcome::GoOn;
    };
    if !named(export, name) {
        refuse(out, number, consts::REP_ERR_UNKNOWN, "no export of this name");
        return Outcome::GoOn;
    }
    let mut body = consts::INFO_EXPORT.to_be_bytes().to_vec();
    body.extend(export.size_bytes.to_be_bytes());
    body.extend(flags.to_be_bytes());
    reply(out, number, consts::REP_INFO, &body);
    if wants_name {
        let mut body = consts::INFO_NAME.to_be_bytes().to_vec();
        body.extend(export.name.as_bytes());
        reply(out, number, consts::REP_INFO, &body);
    }
    if let Some(blocks) = export.blocks {
        let mut body = consts::INFO_BLOCK_SIZE.to_be_bytes().to_vec();
        for size in [blocks.minimum, blocks.preferred, blocks.maximum] {
            body.extend(size.to_be_bytes());
        }
        reply(out, number, consts::REP_INFO, &body);
    }
    reply(out, number, consts::REP_ACK, &[]);
    if number == consts::OPT_GO { Outcome::Transmit } else { Outcome::GoOn }
}

/// The name asked for, and whether the canonical name is wanted in return.
fn parse_info(data: &[u8]) -> Result<(&[u8], bool), ProtoError> {
    let what = "information request";
    let mut fields = Fields::new(what, data);
    let name_len = fields.u32()? as usize;
    ProtoError::within(what, name_len as u64, MAX_NAME as u64)?;
    let name = fields.take(name_len)?;
    let mut wants_name = false;
    for _ in 0..fields.u16()? {
        wants_name |= fields.u16()? == consts::INFO_NAME;
    }
    fields.end()?;
    Ok((name, wants_name))
}

/// Append one option reply. `body` is made by this server and always short.
fn reply(out: &mut Vec<u8>, option: u32, kind: u32, body: &[u8]) {
    out.extend(consts::OPTION_REPLY_MAGIC.to_be_bytes());
    out.extend(option.to_be_bytes());
    out.extend(kind.to_be_bytes());
    out.extend((body.len() as u32).to_be_bytes());
    out.extend(body);
}

/// Append an error reply with its text for people.
pub(super) fn refuse(out: &mut Vec<u8>, option: u32, kind: u32, why: &str) {
    reply(out, option, kind, why.as_bytes());
}
