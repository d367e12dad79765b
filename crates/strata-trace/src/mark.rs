//! Events beside the block layer's, from which the way of one request is put together: system calls, io_uring, TCP.
//!
//! Addresses of the kernel (a request of io_uring, a socket) are names here and nothing else; none is followed.

use std::collections::HashMap;

use crate::format::{Field, Format};

/// What a system call does with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// `read`, `pread64` …: of a file, or of a socket.
    Read,
    /// `write`, `pwrite64` …
    Write,
    /// `fsync` and the like.
    Sync,
    /// `recvfrom`, `recvmsg`.
    Receive,
    /// `sendto`, `sendmsg`.
    Send,
    /// `io_uring_enter`.
    Ring,
    /// `io_submit`: requests of the kernel's AIO, which go on after it.
    Submit,
    /// `io_getevents`, `io_pgetevents`: their ends are fetched.
    Reap,
}

/// The system calls that are followed, by the names of the kernel's events.
pub const CALLS: [(&str, Call); 21] = [
    ("read", Call::Read),
    ("readv", Call::Read),
    ("pread64", Call::Read),
    ("preadv", Call::Read),
    ("preadv2", Call::Read),
    ("write", Call::Write),
    ("writev", Call::Write),
    ("pwrite64", Call::Write),
    ("pwritev", Call::Write),
    ("pwritev2", Call::Write),
    ("fsync", Call::Sync),
    ("fdatasync", Call::Sync),
    ("sync_file_range", Call::Sync),
    ("recvfrom", Call::Receive),
    ("recvmsg", Call::Receive),
    ("sendto", Call::Send),
    ("sendmsg", Call::Send),
    ("io_uring_enter", Call::Ring),
    ("io_submit", Call::Submit),
    ("io_getevents", Call::Reap),
    ("io_pgetevents", Call::Reap),
];

/// What happened. `placed`: the call names its place in the file, so it is no socket's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A thread entered a system call.
    Enter(Call, bool),
    /// It left it.
    Exit,
    /// A request of io_uring (`a`) of kind `n` was taken.
    Taken,
    /// It was handed to a worker of the kernel.
    Handed,
    /// It was done.
    Done,
    /// `n` bytes went into a socket (`a`).
    Sent,
    /// `n` bytes came out of one.
    Received,
    /// A segment with `m` bytes of data arrived at one: `b` is a name of its own end, `c` of the other's; `n` its port.
    Arrived,
    /// A connection of one began; names as above, `m`: 1 where this end asked for it, else 0.
    Opened,
    /// A socket (`a`) is no more; the next one may have its address.
    Gone,
    /// The thread made another, `n`.
    Forked,
}

/// One of these events, 48 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When, in ns.
    pub at_ns: u64,
    /// See [`What`].
    pub a: u64,
    /// See [`What`].
    pub b: u64,
    /// See [`What`].
    pub c: u64,
    /// See [`What`].
    pub n: i32,
    /// See [`What`].
    pub m: u32,
    /// The thread that was running.
    pub pid: i32,
    /// What happened.
    pub what: What,
}

/// Peeking leaves the bytes where they are.
const PEEK: i64 = 2;
const ENDS: [&str; 6] = ["saddr", "sport", "daddr", "dport", "skaddr", "data_len"];
const STATES: [&str; 10] =
    ["newstate", "sport", "dport", "skaddr", "oldstate", "family", "saddr", "daddr", "saddr_v6", "daddr_v6"];
/// The state of a connection that is there, and of one that was asked for.
const ESTABLISHED: i64 = 1;
const ASKED_FOR: i64 = 2;
const IPV4: i64 = 2;

struct Places {
    what: What,
    pid: Field,
    fields: Vec<Field>,
}

/// From records to marks, by the kernel's formats.
#[derive(Default)]
pub struct Marks {
    id: Option<Field>,
    by_id: HashMap<i64, Places>,
}

impl Marks {
    /// Knows these events.
    ///
    /// # Errors
    /// Which event lacks which field.
    pub fn new(formats: &[Format]) -> Result<Self, String> {
        let mut marks = Self::default();
        for format in formats {
            let Some((what, names)) = meaning(format) else { continue };
            let need = |name: &str| {
                format.field(name).cloned().ok_or_else(|| format!("{}: no field {name}", format.name))
            };
            marks.id = Some(need("common_type")?);
            let fields = names.iter().map(|name| need(name)).collect::<Result<_, _>>()?;
            marks.by_id.insert(i64::from(format.id), Places { what, pid: need("common_pid")?, fields });
        }
        Ok(marks)
    }

    /// The mark of a record; `None` for what is none, says nothing, or was cut short.
    #[must_use]
    pub fn decode(&self, at_ns: u64, record: &[u8]) -> Option<Mark> {
        let places = self.by_id.get(&self.id.as_ref()?.number(record)?)?;
        let number = |index: usize| places.fields.get(index)?.number(record);
        let pid = places.pid.number(record)? as i32;
        let mut mark = Mark { at_ns, a: 0, b: 0, c: 0, n: 0, m: 0, pid, what: places.what };
        match places.what {
            What::Enter(..) | What::Exit => {}
            What::Taken => {
                mark.a = number(0)? as u64;
                mark.n = number(1)? as i32;
            }
            What::Handed | What::Done | What::Gone => mark.a = number(0)? as u64,
            What::Sent | What::Received => {
                mark.a = number(0)? as u64;
                mark.n = number(1)? as i32;
                // Nothing moved, or it was looked at and left.
                if mark.n <= 0 || number(2)? & PEEK != 0 && places.what == What::Received {
                    return None;
                }
            }
            What::Arrived => {
                let end = |address: usize| {
                    let written = places.fields.get(address)?.bytes(record)?;
                    Some(end_name(address_in(written), number(address + 1)? as u16))
                };
                (mark.b, mark.c) = (end(0)?, end(2)?);
                mark.n = number(1)? as i32;
                mark.a = number(4)? as u64;
                mark.m = number(5)? as u32;
            }
            What::Opened => {
                if number(0)? != ESTABLISHED {
                    return None;
                }
                let first = if number(5)? == IPV4 { 6 } else { 8 };
                let end = |address: usize, port: usize| {
                    Some(end_name(places.fields.get(address)?.bytes(record)?, number(port)? as u16))
                };
                (mark.b, mark.c) = (end(first, 1)?, end(first + 1, 2)?);
                mark.n = number(1)? as i32;
                mark.a = number(3)? as u64;
                mark.m = u32::from(number(4)? == ASKED_FOR);
            }
            What::Forked => mark.n = number(0)? as i32,
        }
        Some(mark)
    }
}

/// What an event means, and the fields it is told by.
fn meaning(format: &Format) -> Option<(What, &'static [&'static str])> {
    if let Some(name) = format.name.strip_prefix("sys_enter_") {
        let call = CALLS.iter().find(|(known, _)| *known == name)?.1;
        let placed = format.fields.iter().any(|f| f.name == "pos" || f.name == "pos_l");
        return Some((What::Enter(call, placed), &[]));
    }
    if let Some(name) = format.name.strip_prefix("sys_exit_") {
        return CALLS.iter().any(|(known, _)| *known == name).then_some((What::Exit, &[]));
    }
    Some(match format.name.as_str() {
        "io_uring_submit_req" | "io_uring_submit_sqe" => (What::Taken, &["req", "opcode"]),
        "io_uring_queue_async_work" => (What::Handed, &["req"]),
        "io_uring_complete" => (What::Done, &["req"]),
        "sock_send_length" => (What::Sent, &["sk", "ret", "flags"]),
        "sock_recv_length" => (What::Received, &["sk", "ret", "flags"]),
        "tcp_probe" => (What::Arrived, &ENDS),
        "inet_sock_set_state" => (What::Opened, &STATES),
        "tcp_destroy_sock" => (What::Gone, &["skaddr"]),
        "sched_process_fork" => (What::Forked, &["child_pid"]),
        _ => return None,
    })
}

/// The address in a `sockaddr`.
fn address_in(written: &[u8]) -> &[u8] {
    let family = written.get(..2).map_or(0, |b| i64::from(u16::from_le_bytes([b[0], b[1]])));
    let plain = match family {
        IPV4 => written.get(4..8),
        10 => written.get(8..24),
        _ => Some(written),
    };
    plain.unwrap_or_default()
}

/// A name of (address, port), the same for an IPv4 address however the kernel writes it, on every machine.
#[must_use]
pub fn end_name(address: &[u8], port: u16) -> u64 {
    let plain = match address.strip_prefix(&[0; 10]).and_then(|rest| rest.strip_prefix(&[0xff, 0xff])) {
        Some(short) if address.len() == 16 => short,
        _ => address,
    };
    // FNV-1a: two machines of other versions have to come to the same.
    let bytes = plain.iter().copied().chain(port.to_be_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn formats() -> Vec<Format> {
        let folder = std::fs::read_dir("tests/data/format/path").unwrap();
        folder.map(|f| Format::parse(&std::fs::read_to_string(f.unwrap().path()).unwrap()).unwrap()).collect()
    }

    fn put(format: &Format, values: &[(&str, &[u8])]) -> Vec<u8> {
        let mut record = vec![0; 200];
        record[..2].copy_from_slice(&format.id.to_le_bytes());
        for (name, bytes) in values {
            let field = format.field(name).unwrap();
            record[field.offset..field.offset + bytes.len()].copy_from_slice(bytes);
        }
        record
    }

    fn one<'a>(formats: &'a [Format], name: &str) -> &'a Format {
        formats.iter().find(|f| f.name == name).unwrap()
    }

    #[test]
    fn calls_say_whether_they_name_their_place() {
        let formats = formats();
        let marks = Marks::new(&formats).unwrap();
        let told =
            |name| marks.decode(5, &put(one(&formats, name), &[("common_pid", &[7, 0, 0, 0])])).unwrap();
        assert_eq!(told("sys_enter_pread64").what, What::Enter(Call::Read, true));
        assert_eq!(told("sys_enter_read").what, What::Enter(Call::Read, false));
        assert_eq!((told("sys_exit_read").what, told("sys_exit_read").pid), (What::Exit, 7));
    }

    #[test]
    fn what_moved_no_byte_or_was_only_looked_at_says_nothing() {
        let formats = formats();
        let marks = Marks::new(&formats).unwrap();
        let format = one(&formats, "sock_recv_length");
        let told = |ret: i32, flags: i32| {
            let values: [(&str, &[u8]); 2] = [("ret", &ret.to_le_bytes()), ("flags", &flags.to_le_bytes())];
            marks.decode(5, &put(format, &values)).map(|m| m.n)
        };
        assert_eq!((told(9, 0), told(9, 2), told(0, 0), told(-11, 0)), (Some(9), None, None, None));
    }

    #[test]
    fn both_ends_of_a_connection_name_each_other_also_when_one_writes_ipv4_as_ipv6() {
        let formats = formats();
        let marks = Marks::new(&formats).unwrap();
        let format = one(&formats, "tcp_probe");
        let four = |last: u8| [2, 0, 0, 0, 10, 0, 0, last];
        let six = |last: u8| {
            let mut bytes = [0; 24];
            bytes[0] = 10;
            bytes[18..24].copy_from_slice(&[0xff, 0xff, 10, 0, 0, last]);
            bytes
        };
        let record = |s: &[u8], sp: u16, d: &[u8], dp: u16| {
            let values: [(&str, &[u8]); 4] =
                [("saddr", s), ("sport", &sp.to_le_bytes()), ("daddr", d), ("dport", &dp.to_le_bytes())];
            marks.decode(5, &put(format, &values)).unwrap()
        };
        let (client, server) = (record(&four(1), 40000, &four(2), 445), record(&six(2), 445, &six(1), 40000));
        assert_eq!((client.b, client.c), (server.c, server.b));
        assert_ne!(client.b, client.c);
        assert_eq!((client.n, server.n), (40000, 445));
    }

    #[test]
    fn a_connection_that_begins_says_who_asked_for_it() {
        let formats = formats();
        let marks = Marks::new(&formats).unwrap();
        let format = one(&formats, "inet_sock_set_state");
        let record = |family: u16, old: i32, new: i32| {
            let mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1];
            let values: [(&str, &[u8]); 8] = [
                ("family", &family.to_le_bytes()),
                ("oldstate", &old.to_le_bytes()),
                ("newstate", &new.to_le_bytes()),
                ("saddr", &[10, 0, 0, 1]),
                ("saddr_v6", &mapped),
                ("sport", &445u16.to_le_bytes()),
                ("daddr", &[10, 0, 0, 2]),
                ("skaddr", &[9, 0, 0, 0, 0, 0, 0, 0]),
            ];
            marks.decode(5, &put(format, &values))
        };
        let (asked, waited) = (record(2, 2, 1).unwrap(), record(10, 3, 1).unwrap());
        assert_eq!((asked.what, asked.a, asked.m, waited.m), (What::Opened, 9, 1, 0));
        assert_eq!((asked.b, asked.b), (waited.b, end_name(&[10, 0, 0, 1], 445)));
        assert_eq!(record(2, 1, 8), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_mark_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..200), pick in 0usize..64) {
            let formats = formats();
            let marks = Marks::new(&formats).unwrap();
            let mut bytes = bytes;
            if bytes.len() >= 2 {
                bytes[..2].copy_from_slice(&formats[pick % formats.len()].id.to_le_bytes());
            }
            if let Some(mark) = marks.decode(1, &bytes) {
                prop_assert_eq!(mark.at_ns, 1);
            }
        }
    }
}
