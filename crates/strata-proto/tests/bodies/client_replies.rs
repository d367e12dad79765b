//! What a server may send: replies to four reads in flight, then option replies. Body of the fuzz target.

use strata_proto::nbd::codec::client_handshake::{OptionReply, apply_info, parse_greeting, parse_server};
use strata_proto::nbd::codec::{Done, Export, Lookup, Pending, ReplyMachine, Want};

const LEN: u32 = 65_536;

struct Four([Pending; 4]);

impl Lookup for Four {
    fn pending(&mut self, cookie: u64) -> Option<&mut Pending> {
        self.0.get_mut(usize::try_from(cookie).ok()?)
    }
}

/// Whatever the bytes, this neither panics nor believes a reply that reaches beyond its request.
pub fn body(input: &[u8]) {
    replies(input);
    let mut export = Export { name: String::new(), size_bytes: 0, flags: 0, blocks: None };
    let _either = (apply_info(input, &mut export), parse_server(input));
    if let Some(greeting) = input.first_chunk() {
        let _either = parse_greeting(greeting);
    }
    if let Some(header) = input.first_chunk() {
        let _either = OptionReply::parse(header);
    }
}

fn replies(mut rest: &[u8]) {
    let mut four = Four([Pending { read_len: LEN, offset: 4096, got: 0, error: 0 }; 4]);
    let mut machine = ReplyMachine::default();
    loop {
        let want = machine.want();
        let len = match want {
            Want::Control(len) if rest.len() < len => return,
            Want::Control(len) => len,
            Want::Data { len, .. } | Want::Skip(len) => rest.len().min(len as usize),
        };
        if len == 0 {
            return;
        }
        let (head, tail) = rest.split_at(len);
        rest = tail;
        let done = match want {
            Want::Control(_) => machine.control(head, &mut four),
            Want::Data { at, len: most, .. } => {
                assert!(at + most <= LEN);
                machine.data(len as u32, &mut four)
            }
            Want::Skip(_) => machine.skipped(len as u32, &mut four),
        };
        match done {
            Ok(Done::Zero { at, len, .. }) => {
                assert!(at + len <= LEN);
                if machine.zeroed(&mut four).is_err() {
                    return;
                }
            }
            Ok(_) => {}
            Err(_) => return,
        }
    }
}
