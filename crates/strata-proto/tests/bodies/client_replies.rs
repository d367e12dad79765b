//! What a server may send: replies to four reads in flight, then option replies. Body of the fuzz target.

use strata_proto::nbd::codec::client_handshake::{OptionReply, apply_info, parse_greeting, parse_server};
use strata_proto::nbd::codec::{Done, Export, Lookup, Pending, ProtoError, ReplyMachine, Want};

const LEN: u32 = 65_536;

/// Four reads of 64 KiB in flight.
pub struct Four(pub [Pending; 4]);

impl Four {
    /// At this byte of the export.
    pub fn at(offset: u64) -> Self {
        Self([Pending { read_len: LEN, offset, got: 0, error: 0 }; 4])
    }
}

impl Lookup for Four {
    fn pending(&mut self, cookie: u64) -> Option<&mut Pending> {
        self.0.get_mut(usize::try_from(cookie).ok()?)
    }
}

/// Whatever the bytes, this neither panics nor believes a reply that reaches beyond its request.
pub fn body(input: &[u8]) {
    let _either = replies(input, usize::MAX, &mut Four::at(4096));
    let mut export = Export { name: String::new(), size_bytes: 0, flags: 0, blocks: None };
    let _either = (apply_info(input, &mut export), parse_server(input));
    if let Some(greeting) = input.first_chunk() {
        let _either = parse_greeting(greeting);
    }
    if let Some(header) = input.first_chunk() {
        let _either = OptionReply::parse(header);
    }
}

/// Feed bytes to the client's machine, data in pieces; the requests answered before they ended, or why they broke off.
pub fn replies(mut rest: &[u8], piece: usize, four: &mut Four) -> (Vec<(u64, u32)>, Result<(), ProtoError>) {
    let mut machine = ReplyMachine::default();
    let mut answered = Vec::new();
    loop {
        let want = machine.want();
        let len = match want {
            Want::Control(len) => {
                assert!(len > 0 && len <= 64, "control parts are short");
                len
            }
            Want::Data { len, .. } | Want::Skip(len) => rest.len().min(len as usize).min(piece),
        };
        let Some((head, tail)) = rest.split_at_checked(len).filter(|_| len > 0) else {
            return (answered, Ok(()));
        };
        rest = tail;
        let mut step = match want {
            Want::Control(_) => machine.control(head, four),
            Want::Data { cookie, at, len: most } => {
                assert!(cookie < 4 && at + most <= LEN, "data stay in their buffer");
                machine.data(len as u32, four)
            }
            Want::Skip(_) => machine.skipped(len as u32, four),
        };
        if let Ok(Done::Zero { cookie, at, len }) = step {
            assert!(cookie < 4 && at + len <= LEN, "holes stay in their buffer");
            step = machine.zeroed(four);
        }
        match step {
            Ok(Done::Request { cookie, error }) => answered.push((cookie, error)),
            Ok(_) => {}
            Err(error) => return (answered, Err(error)),
        }
    }
}
