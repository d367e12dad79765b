//! The TCP socket under a connection.

use std::io::{self, IoSlice};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::time::Duration;

/// Connect to `host`, trying its addresses in turn. Nagle's algorithm is off, because a delayed small packet reads as a
/// slow disk.
///
/// # Errors
/// The name is not known, or no address answers; the last one's error.
pub(crate) fn connect(host: &str, port: u16, patience: Duration) -> io::Result<TcpStream> {
    let mut last = io::Error::from_raw_os_error(libc::EADDRNOTAVAIL);
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, patience) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Send what fits now, without waiting. Returns the bytes taken.
///
/// # Errors
/// `WouldBlock` when nothing fits; others mean the connection is gone.
pub(crate) fn send_now(socket: &TcpStream, parts: &[IoSlice<'_>]) -> io::Result<usize> {
    // SAFETY: all-zero is a valid msghdr (null pointers, zero lengths).
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    // IoSlice is ABI-compatible with iovec (std documents this on Unix).
    message.msg_iov = parts.as_ptr().cast_mut().cast();
    message.msg_iovlen = parts.len() as _;
    // SAFETY: `message` points at `parts`, which outlive the call; the kernel only reads them.
    let sent =
        unsafe { libc::sendmsg(socket.as_raw_fd(), &message, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}
