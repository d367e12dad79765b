//! Headers of the wire: what one end of a connection sends to the other, taken from packet sockets in every network
//! namespace that is there when it begins.
//!
//! A filter in the kernel passes TCP segments that begin a connection or carry data. Of each the first bytes are taken, and
//! more only where [`Reader`] knows a header further on; the rest is dropped where it is. Nothing is kept but the places of
//! questions and replies.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crate::mark::end_name;
use crate::message::{Messages, Protocol, Reader, Segment};

/// Namespaces that are looked into; a machine with more of them is told so.
const NAMESPACES: usize = 256;
/// What is taken of every segment: the longest headers of IP and TCP, and a header of a protocol.
const FIRST: usize = 256;
const LARGEST: usize = 1 << 17;
/// What may wait for this thread.
const BUFFER: libc::c_int = 32 << 20;
const WAIT_MS: libc::c_int = 50;
/// Segments of one socket in a row, so that the others get their turn.
const ROW: usize = 4096;
/// And when it ends: more than fit into what may wait, as others may go on sending.
const LAST: usize = 1 << 18;

/// What was taken.
#[derive(Debug, Default)]
pub struct Captured {
    /// Questions and replies.
    pub messages: Messages,
    /// Segments that came faster than they were read.
    pub dropped: u64,
    /// Processor time of the reading thread.
    pub cpu_ns: u64,
}

/// A capture under way. Dropping it ends it.
pub struct Capture {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Captured>>,
}

impl Capture {
    /// Begin in every namespace; what comes from now on is seen.
    ///
    /// # Errors
    /// Where not one packet socket can be had.
    pub fn start(protocols: Vec<Protocol>, most: usize) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let theirs = Arc::clone(&stop);
        let (told, ready) = std::sync::mpsc::sync_channel(1);
        // It goes into other namespaces, so the thread ends with the capture.
        let body = move || match sockets() {
            Ok(sockets) => {
                let _ = told.send(Ok(()));
                read(&sockets, &protocols, most, &theirs)
            }
            Err(e) => {
                let _ = told.send(Err(e));
                Captured::default()
            }
        };
        let thread = std::thread::Builder::new().name("strata-wire".into()).spawn(body)?;
        ready.recv().map_err(io::Error::other)??;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// End it; what was read. Nothing, where the reader failed.
    #[must_use]
    pub fn finish(mut self) -> Captured {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().and_then(|t| t.join().ok()).unwrap_or_default()
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Files that stand for the network namespaces of this machine, each once; our own first.
fn namespaces() -> Vec<PathBuf> {
    use std::os::unix::fs::MetadataExt;
    let mut paths = vec![PathBuf::from("/proc/self/ns/net")];
    for (folder, tail) in [("/run/netns", ""), ("/proc", "ns/net")] {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        paths.extend(entries.map(|e| if tail.is_empty() { e.path() } else { e.path().join(tail) }));
    }
    let mut found: BTreeMap<(u64, u64), (usize, PathBuf)> = BTreeMap::new();
    for (place, path) in paths.into_iter().enumerate() {
        if let Ok(about) = fs::metadata(&path) {
            found.entry((about.dev(), about.ino())).or_insert((place, path));
        }
    }
    let mut each: Vec<_> = found.into_values().collect();
    each.sort();
    each.into_iter().map(|(_, path)| path).take(NAMESPACES).collect()
}

fn sockets() -> io::Result<Vec<OwnedFd>> {
    let (mut found, mut error) = (Vec::new(), None);
    for path in namespaces() {
        let entered = File::open(&path).and_then(|file| {
            // SAFETY: a system call with a descriptor that is open; it concerns this thread alone.
            checked(unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) })
        });
        match entered.and_then(|_| socket()) {
            Ok(socket) => found.push(socket),
            // It may be gone by now, or be no namespace.
            Err(e) => error = Some(e),
        }
    }
    if found.is_empty() { Err(error.unwrap_or_else(|| io::ErrorKind::NotFound.into())) } else { Ok(found) }
}

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // Without a protocol nothing comes in until the filter holds.
    // SAFETY: it takes numbers and gives a descriptor or an error.
    let raw = checked(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })?;
    // SAFETY: the descriptor is new and nobody else's.
    let socket = unsafe { OwnedFd::from_raw_fd(raw) };
    let mut program = filter();
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    set(&socket, libc::SO_ATTACH_FILTER, &filter)?;
    set(&socket, libc::SO_RCVBUFFORCE, &BUFFER).or_else(|_| set(&socket, libc::SO_RCVBUF, &BUFFER))?;
    // SAFETY: zeros are a valid address; the fields that matter are set below.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the address is valid for its length.
    checked(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) })?;
    Ok(socket)
}

fn set<T>(socket: &OwnedFd, option: libc::c_int, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    let from = std::ptr::from_ref(value).cast();
    // SAFETY: the value is valid for its length, and the kernel only reads it.
    checked(unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, from, length) })
        .map(|_| ())
}

/// Segments of TCP that carry data or a SYN; bytes count from the IP header on.
fn filter() -> Vec<libc::sock_filter> {
    const LOAD_BYTE: u16 = 0x30;
    const LOAD_HALF: u16 = 0x28;
    const LOAD_BYTE_AT_X: u16 = 0x50;
    const LOAD_WHOLE_LENGTH: u16 = 0x80;
    const X_FROM_HEADER: u16 = 0xb1;
    const X_FROM_NUMBER: u16 = 0x01;
    const X_FROM_KEPT: u16 = 0x61;
    const KEEP: u16 = 0x02;
    const AND: u16 = 0x54;
    const RIGHT: u16 = 0x74;
    const ADD_X: u16 = 0x0c;
    const ON: u16 = 0x05;
    const EQUAL: u16 = 0x15;
    const ABOVE_X: u16 = 0x2d;
    const ANY_BIT: u16 = 0x45;
    const GIVE: u16 = 0x06;
    let step = |code, k| libc::sock_filter { code, jt: 0, jf: 0, k };
    let jump = |code, k, jt, jf| libc::sock_filter { code, jt, jf, k };
    vec![
        step(LOAD_BYTE, 0),
        step(RIGHT, 4),
        jump(EQUAL, 4, 0, 6),
        // IPv4: TCP, and no later piece of a packet.
        step(LOAD_BYTE, 9),
        jump(EQUAL, 6, 0, 19),
        step(LOAD_HALF, 6),
        jump(ANY_BIT, 0x1fff, 17, 0),
        step(X_FROM_HEADER, 0),
        step(ON, 4),
        // IPv6.
        jump(EQUAL, 6, 0, 14),
        step(LOAD_BYTE, 6),
        jump(EQUAL, 6, 0, 12),
        step(X_FROM_NUMBER, 40),
        // X: where TCP begins.
        step(LOAD_BYTE_AT_X, 13),
        jump(ANY_BIT, 2, 8, 0),
        step(LOAD_BYTE_AT_X, 12),
        step(RIGHT, 2),
        step(AND, 0x3c),
        step(ADD_X, 0),
        step(KEEP, 0),
        step(X_FROM_KEPT, 0),
        step(LOAD_WHOLE_LENGTH, 0),
        jump(ABOVE_X, 0, 0, 1),
        step(GIVE, u32::MAX),
        step(GIVE, 0),
    ]
}

fn read(sockets: &[OwnedFd], protocols: &[Protocol], most: usize, stop: &AtomicBool) -> Captured {
    let mut readers: Vec<Reader<'_>> = sockets.iter().map(|_| Reader::new(protocols, most)).collect();
    let mut buffer = vec![0; LARGEST];
    loop {
        // What came before the end belongs to it: once more after it was asked for.
        let last = stop.load(Ordering::Relaxed);
        if !last {
            wait(sockets);
        }
        for (socket, reader) in sockets.iter().zip(&mut readers) {
            for _ in 0..if last { LAST } else { ROW } {
                if !take(socket, reader, &mut buffer) {
                    break;
                }
            }
        }
        if last {
            break;
        }
    }
    let mut captured = Captured::default();
    for (socket, reader) in sockets.iter().zip(readers) {
        captured.messages.merge(reader.finish());
        captured.dropped += dropped(socket);
    }
    captured.cpu_ns = crate::record::clock(libc::CLOCK_THREAD_CPUTIME_ID);
    captured
}

fn wait(sockets: &[OwnedFd]) {
    let mut each: Vec<libc::pollfd> = sockets
        .iter()
        .map(|s| libc::pollfd { fd: s.as_raw_fd(), events: libc::POLLIN, revents: 0 })
        .collect();
    // SAFETY: the list is valid for its length.
    unsafe { libc::poll(each.as_mut_ptr(), each.len() as libc::nfds_t, WAIT_MS) };
}

/// The first bytes of the next packet; its whole length, and whether it came here. `peek`: leave it there.
fn receive(socket: &OwnedFd, buffer: &mut [u8], peek: bool) -> Option<(usize, bool)> {
    let flags = libc::MSG_TRUNC | libc::MSG_DONTWAIT | if peek { libc::MSG_PEEK } else { 0 };
    // SAFETY: zeros are a valid address.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    let mut size = size_of_val(&address) as libc::socklen_t;
    let from = (&raw mut address).cast();
    let to = buffer.as_mut_ptr().cast();
    // SAFETY: buffer and address are valid for their lengths.
    let length = unsafe { libc::recvfrom(socket.as_raw_fd(), to, buffer.len(), flags, from, &raw mut size) };
    Some((usize::try_from(length).ok()?, address.sll_pkttype != libc::PACKET_OUTGOING))
}

/// Whether there was one.
fn take(socket: &OwnedFd, reader: &mut Reader<'_>, buffer: &mut [u8]) -> bool {
    let mut wanted = FIRST;
    loop {
        let Some((length, incoming)) = receive(socket, &mut buffer[..wanted], true) else { return false };
        let Some((mut segment, data)) = segment(&buffer[..wanted.min(length)], length) else { break };
        segment.incoming = incoming;
        segment.bytes = &buffer[data.min(wanted)..wanted.min(data + segment.length).max(data.min(wanted))];
        let Some(more) = reader.feed(&segment) else { break };
        let next = (data + more).min(buffer.len());
        if next <= wanted {
            break;
        }
        wanted = next;
    }
    receive(socket, &mut [], false);
    true
}

/// A packet's segment without its data, and where that begins.
fn segment(packet: &[u8], length: usize) -> Option<(Segment<'static>, usize)> {
    let half = |at: usize| Some(u16::from_be_bytes(packet.get(at..at + 2)?.try_into().ok()?));
    let (tcp, ends, said) = match packet.first()? >> 4 {
        4 => (usize::from(packet[0] & 15) * 4, (12..16, 16..20), usize::from(half(2)?)),
        6 => (40, (8..24, 24..40), usize::from(half(4)?).checked_add(40).filter(|n| *n > 40).unwrap_or(0)),
        _ => return None,
    };
    // Short packets are filled up on the wire; long ones do not say their length.
    let length = if said > 0 { said.min(length) } else { length };
    let data = tcp + usize::from(packet.get(tcp + 12)? >> 4) * 4;
    let name = |at: std::ops::Range<usize>, port| Some(end_name(packet.get(at)?, half(port)?));
    let segment = Segment {
        from: name(ends.0, tcp)?,
        to: name(ends.1, tcp + 2)?,
        seq: u32::from_be_bytes(packet.get(tcp + 4..tcp + 8)?.try_into().ok()?),
        syn: packet.get(tcp + 13)? & 2 != 0,
        incoming: false,
        length: length.saturating_sub(data),
        bytes: &[],
    };
    Some((segment, data))
}

fn dropped(socket: &OwnedFd) -> u64 {
    let mut counts = [0u32; 2];
    let mut length = size_of_val(&counts) as libc::socklen_t;
    let to = counts.as_mut_ptr().cast();
    // SAFETY: the kernel writes at most `length` bytes to a valid address.
    let result = unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_STATISTICS, to, &raw mut length)
    };
    if result == 0 { u64::from(counts[1]) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(version: u8, data: usize) -> Vec<u8> {
        let mut bytes = if version == 4 { vec![0; 20] } else { vec![0; 40] };
        bytes[0] = if version == 4 { 0x45 } else { 0x60 };
        let tcp = bytes.len();
        bytes.resize(tcp + 32 + data, 7);
        let length = if version == 4 { bytes.len() } else { bytes.len() - 40 } as u16;
        let at = if version == 4 { 2 } else { 4 };
        bytes[at..at + 2].copy_from_slice(&length.to_be_bytes());
        bytes[tcp..tcp + 4].copy_from_slice(&[0x9c, 0x40, 0x2a, 0x39]);
        bytes[tcp + 4..tcp + 8].copy_from_slice(&9u32.to_be_bytes());
        (bytes[tcp + 12], bytes[tcp + 13]) = (0x80, 0x10);
        bytes
    }

    #[test]
    fn a_segment_says_its_ends_and_its_data_without_what_the_wire_filled_up() {
        for version in [4, 6] {
            let mut bytes = packet(version, 5);
            let whole = bytes.len();
            bytes.extend([0; 6]);
            let (found, data) = segment(&bytes, bytes.len()).unwrap();
            assert_eq!((found.length, data, found.seq, found.syn), (5, whole - 5, 9, false));
            let length = if version == 4 { 4 } else { 16 };
            assert_eq!(
                (found.from, found.to),
                (end_name(&vec![0; length], 40000), end_name(&vec![0; length], 10809))
            );
        }
        for short in 0..34 {
            assert!(segment(&packet(4, 0)[..short], 60).is_none());
        }
    }
}
