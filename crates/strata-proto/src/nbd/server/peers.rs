//! Who is at the other end: the kernel's own table of sockets says which user made the one that connected.
//!
//! A port of the loopback is open to every user of the machine, where a file is not. A server over somebody's file asks
//! here, so that whoever could not open the file cannot reach it through the port either.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::Mutex;

use rustix::process::geteuid;

use crate::lock::lock;
use crate::named::named;
use crate::netns;
use crate::sock::Socket;

/// The kernel's tables of TCP sockets, one of each version of IP.
const TABLES: [&str; 2] = ["/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"];
/// The only state in which the table names a user for sure: a socket that was let go is listed under user 0.
const ESTABLISHED: &str = "01";
/// A table is read in pieces, between which a neighbour may leave and a line be passed over.
const LOOKS: usize = 3;

/// The user whose clients are served, and the tables that tell them.
#[derive(Debug)]
pub(super) struct Peers {
    own: u32,
    tables: Mutex<Vec<File>>,
}

impl Peers {
    /// Those of this process's own user, as the network namespace at `at` sees them.
    ///
    /// # Errors
    /// The namespace cannot be entered, or has no table.
    pub(super) fn of_own_user(at: Option<&Path>) -> io::Result<Self> {
        // An open table stays that of the namespace it was opened in.
        let tables = netns::within(at, || {
            let open =
                |path: &&str| File::open(path).map_err(|e| named(format_args!("cannot open {path}"), &e));
            TABLES.iter().filter(|path| Path::new(path).exists()).map(open).collect()
        })?;
        Ok(Self { own: geteuid().as_raw(), tables: Mutex::new(tables) })
    }

    /// Whether the other end of `socket` was made by the user this process runs as. What cannot be told is not.
    pub(super) fn own(&self, socket: &Socket) -> bool {
        let user = match socket {
            Socket::Tcp(stream) => {
                let (Ok(here), Ok(there)) = (stream.local_addr(), stream.peer_addr()) else { return false };
                let user = self.user_at(there, here);
                // Still connected after the look: then these addresses were this connection's all the time.
                user.filter(|_| stream.peer_addr().is_ok())
            }
            Socket::Unix(stream) => user_of(stream.as_raw_fd()),
        };
        user == Some(self.own)
    }

    fn user_at(&self, local: SocketAddr, remote: SocketAddr) -> Option<u32> {
        let (local, remote) = (listed(local), listed(remote));
        let mut text = String::new();
        for file in &mut *lock(&self.tables) {
            for _ in 0..LOOKS {
                text.clear();
                file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_string(&mut text)).ok()?;
                if let Some(user) = find(&text, &local, &remote) {
                    return Some(user);
                }
            }
        }
        None
    }
}

/// An address as the table has it: each 32 bits in this machine's order, in hexadecimal.
fn listed(address: SocketAddr) -> String {
    let octets = match address {
        SocketAddr::V4(v4) => v4.ip().octets().to_vec(),
        SocketAddr::V6(v6) => v6.ip().octets().to_vec(),
    };
    let words = octets.chunks_exact(4).map(|word| {
        let word = word.try_into().map_or(0, u32::from_ne_bytes);
        format!("{word:08X}")
    });
    format!("{}:{:04X}", words.collect::<String>(), address.port())
}

/// The user of the established socket with these ends.
fn find(table: &str, local: &str, remote: &str) -> Option<u32> {
    table.lines().find_map(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let found = fields.next() == Some(local) && fields.next() == Some(remote);
        if !found || fields.next() != Some(ESTABLISHED) {
            return None;
        }
        // Queues, timer and retransmissions stand between.
        fields.nth(3)?.parse().ok()
    })
}

/// Not by rustix: to that a process has a number, and one of another namespace of processes is told as 0.
fn user_of(unix: std::os::fd::RawFd) -> Option<u32> {
    let mut found = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: both pointers are to locals that outlive the call, and `length` is the size of the first.
    let status = unsafe {
        libc::getsockopt(unix, libc::SOL_SOCKET, libc::SO_PEERCRED, (&raw mut found).cast(), &raw mut length)
    };
    (status == 0).then_some(found.uid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    fn pair(at: &str) -> Option<(Socket, TcpStream)> {
        let listener = TcpListener::bind(at).ok()?;
        let client = TcpStream::connect(listener.local_addr().ok()?).ok()?;
        Some((Socket::tcp(listener.accept().ok()?.0).ok()?, client))
    }

    #[test]
    fn a_client_of_our_own_is_known_and_of_another_user_is_not() {
        let ours = Peers::of_own_user(None).expect("tables");
        let others = Peers { own: ours.own + 1, ..Peers::of_own_user(None).expect("tables") };
        for (served, _client) in ["127.0.0.1:0", "[::1]:0"].into_iter().filter_map(pair) {
            assert!(ours.own(&served));
            assert!(!others.own(&served));
        }
        let (served, _client) = UnixStream::pair().expect("a pair");
        let served = Socket::Unix(served);
        assert!(ours.own(&served) && !others.own(&served));
    }

    #[test]
    fn what_has_let_go_is_nobody_s() {
        // The table lists it under user 0 then: a server of root must not take it for its own.
        let root = Peers { own: 0, ..Peers::of_own_user(None).expect("tables") };
        let (served, client) = pair("127.0.0.1:0").expect("loopback");
        drop(client);
        assert!(!root.own(&served));
    }

    #[test]
    fn a_line_is_found_by_both_ends_and_its_state() {
        let line = |state| {
            format!(
                "  1: 0100007F:1F90 0100007F:A000 {state} 00000000:00000000 00:00000000 00000000  1000        0 77 1\n"
            )
        };
        let at = |port| listed(SocketAddr::from(([127, 0, 0, 1], port)));
        assert_eq!(at(0x1f90), "0100007F:1F90");
        assert_eq!(find(&line("01"), &at(0x1f90), &at(0xa000)), Some(1000));
        assert_eq!(find(&line("01"), &at(0xa000), &at(0x1f90)), None);
        assert_eq!(find(&line("06"), &at(0x1f90), &at(0xa000)), None);
    }
}
