//! The handshake's shell: bytes from the socket into the state machine and back, over the shaped wire.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use super::pace::PATIENCE;
use super::service::Shared;
use crate::nbd::codec::{MAX_OPTION, Progress, ServerHandshake};
use crate::sock::Socket;

/// How long a handshake may take in all, beside what its wire is made to take. A probe asks some twenty things.
const HANDSHAKE: Duration = Duration::from_secs(120);
const EXCHANGES: u32 = 32;

/// A client that is through.
pub(super) struct Agreed {
    pub(super) structured: bool,
    pub(super) tx_flags: u16,
    /// Bytes that came after its last option.
    pub(super) rest: Vec<u8>,
}

/// Talk until the client has chosen the export; `None` if it left in good order.
///
/// # Errors
/// The client broke the protocol, fell silent or went away.
pub(super) fn shake(shared: &Shared, socket: &Socket) -> io::Result<Option<Agreed>> {
    let until = Instant::now() + HANDSHAKE + shared.shaping.latency() * EXCHANGES;
    let mut out = Vec::new();
    let mut machine = ServerHandshake::new(shared.export.clone(), &mut out);
    send(shared, socket, shared.clock.now_ns(), &mut out)?;
    let mut input: Vec<u8> = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let left = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
        let left = left.ok_or(io::ErrorKind::TimedOut)?;
        socket.set_read_timeout(Some(left.min(PATIENCE).max(Duration::from_millis(1))))?;
        let got = match (&mut &*socket).read(&mut piece) {
            Ok(0) => return Ok(None),
            Ok(got) => got,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let arrived_ns = shared.shaping.arrive(shared.clock.now_ns(), got as u64);
        input.extend(&piece[..got]);
        let mut eaten = 0;
        loop {
            let step = machine.advance(&input[eaten..], &mut out);
            let Ok((len, progress)) = step else {
                send(shared, socket, arrived_ns, &mut out)?;
                return step.map(|_| None).map_err(io::Error::from);
            };
            eaten += len;
            match progress {
                Progress::Advanced if out.len() < 2 * MAX_OPTION as usize => {}
                // A client that sends many options at once gets answers as they are made.
                Progress::Advanced => send(shared, socket, arrived_ns, &mut out)?,
                Progress::NeedMore => break,
                Progress::Close => {
                    send(shared, socket, arrived_ns, &mut out)?;
                    return Ok(None);
                }
                Progress::Transmit { structured, flags } => {
                    send(shared, socket, arrived_ns, &mut out)?;
                    socket.set_read_timeout(Some(PATIENCE))?;
                    input.drain(..eaten);
                    return Ok(Some(Agreed { structured, tx_flags: flags, rest: input }));
                }
            }
        }
        send(shared, socket, arrived_ns, &mut out)?;
        input.drain(..eaten); // leaves less than one option, so at most MAX_OPTION and its header
    }
}

/// Send `out` over the shaped wire and empty it.
fn send(shared: &Shared, socket: &Socket, ready_ns: u64, out: &mut Vec<u8>) -> io::Result<()> {
    if out.is_empty() {
        return Ok(());
    }
    shared.hold_until(shared.shaping.leave(ready_ns, out.len() as u64));
    (&mut &*socket).write_all(out)?;
    out.clear();
    Ok(())
}
