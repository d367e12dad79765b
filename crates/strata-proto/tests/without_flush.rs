//! A server that does not offer to flush: ours does, so one stands between that takes the offer out.

mod common;

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};

use common::{MEMORY, one, target};
use strata_io::Op;
use strata_proto::nbd::codec::consts;
use strata_proto::nbd::{NbdQueue, OpenSpec};

/// Bytes a server says before the flags of its export: greeting, header of the first reply to
/// `GO`, kind and size of its information.
const BEFORE_FLAGS: usize = 18 + 20 + 2 + 8;

#[test]
fn a_flush_is_not_sent_where_none_is_offered() {
    let target = target(MEMORY, "{}");
    let between = target.dir.path().join("between");
    let listener = UnixListener::bind(&between).expect("a socket");
    let server = UnixStream::connect(&target.socket).expect("the server listens");
    let relay = std::thread::spawn(move || {
        let (client, _) = listener.accept().expect("the client comes");
        let (mut to_server, mut from_client) = (&server, client.try_clone().expect("a second handle"));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _end = std::io::copy(&mut from_client, &mut to_server);
                let _end = to_server.shutdown(std::net::Shutdown::Write);
            });
            let (mut from_server, mut to_client) = (&server, &client);
            let mut said = 0;
            let mut piece = [0; 65_536];
            while let Ok(n @ 1..) = from_server.read(&mut piece) {
                // The low byte of the flags, big endian.
                if let Some(low) = (BEFORE_FLAGS + 1).checked_sub(said).and_then(|at| piece[..n].get_mut(at))
                {
                    assert_ne!(*low & consts::TX_SEND_FLUSH as u8, 0, "not where the flags are");
                    *low &= !(consts::TX_SEND_FLUSH as u8);
                }
                said += n;
                if to_client.write_all(&piece[..n]).is_err() {
                    break;
                }
            }
        });
    });
    let uri = format!("nbd+unix:///?socket={}", between.display()).parse().expect("a good address");
    let spec = OpenSpec { depth: 2, block: 4096, connections: 1, dsync: false };
    let mut queue = NbdQueue::open(&uri, spec).expect("the client connects");
    assert!(!queue.export().has(consts::TX_SEND_FLUSH));
    assert_eq!(one(&mut queue, Op::Write, 0, 4096), 4096);
    for op in [Op::Fsync, Op::Fdatasync] {
        assert_eq!(one(&mut queue, op, 0, 0), -libc::EOPNOTSUPP, "{op:?}");
    }
    assert_eq!(one(&mut queue, Op::Read, 0, 4096), 4096);
    drop(queue);
    relay.join().expect("the flags were found");
}
