//! TCP connections from a reserved port, which many NFS servers insist on.

use std::io;
use std::mem::size_of;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU16, Ordering};

use crate::line::Deadline;
use crate::sock::{Socket, by_turns};

/// Ports that only root may use; the lower half belongs to well-known services.
const FIRST: u16 = 512;
const COUNT: u16 = 512;

/// Connect to `host` by `until`, from a reserved port where this process may have one and one is free.
pub(super) fn connect(host: &str, port: u16, until: &Deadline) -> io::Result<Socket> {
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
    let family = if to.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    // SAFETY: socket takes integers only.
    let fd = unsafe { libc::socket(family, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and nobody else's.
    let stream = TcpStream::from(unsafe { OwnedFd::from_raw_fd(fd) });
    // Else a port would be of no use for a minute after each connection from it, whoever that was to.
    let yes: libc::c_int = 1;
    let len = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the option's value is an integer that lives through the call; a refusal leaves fewer ports.
    unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_REUSEADDR,
            (&raw const yes).cast(),
            len,
        )
    };
    // The kernel bounds a connect by it as well.
    stream.set_write_timeout(Some(until.left()?))?;
    let any = if to.is_ipv4() { SocketAddr::from(([0; 4], port)) } else { SocketAddr::from(([0; 16], port)) };
    with_address(&any, |address, len| {
        // SAFETY: `address` and `len` describe a socket address that lives through the call.
        unsafe { libc::bind(stream.as_raw_fd(), address, len) }
    })?;
    let done = with_address(to, |address, len| {
        // SAFETY: as above.
        unsafe { libc::connect(stream.as_raw_fd(), address, len) }
    });
    match done {
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Err(io::ErrorKind::TimedOut.into()),
        other => other.map(|()| stream),
    }
}

/// `call` with the kernel's form of an address.
fn with_address(
    address: &SocketAddr,
    call: impl Fn(*const libc::sockaddr, libc::socklen_t) -> libc::c_int,
) -> io::Result<()> {
    let done = match address {
        SocketAddr::V4(v4) => {
            let raw = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                sin_zero: [0; 8],
            };
            call((&raw const raw).cast(), size_of::<libc::sockaddr_in>() as libc::socklen_t)
        }
        SocketAddr::V6(v6) => {
            let raw = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            };
            call((&raw const raw).cast(), size_of::<libc::sockaddr_in6>() as libc::socklen_t)
        }
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
