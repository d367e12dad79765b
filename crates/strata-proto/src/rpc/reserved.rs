//! TCP connections from a reserved port, which many NFS servers insist on.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering};

use rustix::io::Errno;
use rustix::net::sockopt::set_socket_reuseaddr;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};

use crate::line::Deadline;
use crate::sock::{Socket, by_turns};

/// Ports that only root may use; the lower half belongs to well-known services.
const FIRST: u16 = 512;
const COUNT: u16 = 512;

/// Connect to `host` by `until`, from a reserved port where this process may have one and one is free.
pub(super) fn dial(host: &str, port: u16, until: &Deadline) -> io::Result<Socket> {
    by_turns(host, port, until, |address| match from_reserved(address, until) {
        // No right to such a port, or none that is free for this server: an ordinary one may do.
        Err(error) if unobtainable(&error) => TcpStream::connect_timeout(address, until.left()?),
        other => other,
    })
}

fn unobtainable(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM | libc::EADDRINUSE | libc::EADDRNOTAVAIL))
}

fn from_reserved(to: &SocketAddr, until: &Deadline) -> io::Result<TcpStream> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let mut last = io::Error::from_raw_os_error(libc::EADDRINUSE);
    // Processes begin at different places, and a port just left is not taken again at once.
    let start = (std::process::id() % u32::from(COUNT)) as u16;
    for _ in 0..COUNT {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = FIRST + start.wrapping_add(step) % COUNT;
        match from_port(to, port, until) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::EADDRINUSE | libc::EADDRNOTAVAIL)) => {
                last = error;
            }
            other => return other,
        }
    }
    Err(last)
}

fn from_port(to: &SocketAddr, port: u16, until: &Deadline) -> io::Result<TcpStream> {
    let (family, any): (_, IpAddr) = match to {
        SocketAddr::V4(_) => (AddressFamily::INET, Ipv4Addr::UNSPECIFIED.into()),
        SocketAddr::V6(_) => (AddressFamily::INET6, Ipv6Addr::UNSPECIFIED.into()),
    };
    let stream = TcpStream::from(socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?);
    // Else a port would be of no use for a minute after each connection from it, whoever that was to. A refusal leaves
    // fewer ports.
    let _fewer = set_socket_reuseaddr(&stream, true);
    // The kernel bounds a connect by it as well.
    stream.set_write_timeout(Some(until.left()?))?;
    bind(&stream, &SocketAddr::new(any, port))?;
    match connect(&stream, to) {
        Err(Errno::INPROGRESS) => Err(io::ErrorKind::TimedOut.into()),
        other => Ok(other.map(|()| stream)?),
    }
}
