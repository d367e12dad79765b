//! What a client may send: the handshake, then request headers. Body of the fuzz target.

use strata_proto::nbd::codec::{Export, Progress, REQUEST_LEN, Request, ServerHandshake};

/// Whatever the bytes, this does not panic, and it ends.
pub fn body(input: &[u8]) {
    let export = Export { name: "disk".into(), size_bytes: 1 << 30, flags: 1, blocks: None };
    let mut out = Vec::new();
    let mut machine = ServerHandshake::new(export, &mut out);
    let mut rest = input;
    while let Ok((len, progress)) = machine.advance(rest, &mut out) {
        rest = &rest[len..];
        out.clear();
        match progress {
            Progress::Advanced => {}
            Progress::NeedMore | Progress::Close => return,
            Progress::Transmit { flags, .. } => {
                while let Some(header) = rest.first_chunk::<REQUEST_LEN>() {
                    let Ok(request) = Request::parse(header) else { return };
                    let _refused = request.refusal(1 << 30, flags);
                    let next = REQUEST_LEN + request.payload_len() as usize;
                    let Some(after) = rest.get(next..) else { return };
                    rest = after;
                }
                return;
            }
        }
    }
}
