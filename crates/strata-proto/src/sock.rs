//! One stream socket, TCP or unix, so that the rest need not know which.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A connected stream.
#[derive(Debug)]
pub(crate) enum Socket {
    /// Over TCP; Nagle's algorithm is off, because a delayed small packet reads as a slow disk.
    Tcp(TcpStream),
    /// Over a unix socket.
    Unix(UnixStream),
}

impl Socket {
    /// Wrap an accepted or connected TCP stream.
    pub(crate) fn tcp(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self::Tcp(stream))
    }

    /// Longest wait of one read; `None` waits for ever.
    pub(crate) fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Tcp(s) => s.set_read_timeout(timeout),
            Self::Unix(s) => s.set_read_timeout(timeout),
        }
    }

    /// Longest wait of one write; `None` waits for ever.
    pub(crate) fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Tcp(s) => s.set_write_timeout(timeout),
            Self::Unix(s) => s.set_write_timeout(timeout),
        }
    }

    /// Switch between blocking and polled use.
    pub(crate) fn set_nonblocking(&self, on: bool) -> io::Result<()> {
        match self {
            Self::Tcp(s) => s.set_nonblocking(on),
            Self::Unix(s) => s.set_nonblocking(on),
        }
    }

    /// End both directions; every thread blocked on the socket wakes. Errors mean it is already over.
    pub(crate) fn shutdown(&self) {
        let _already_over = match self {
            Self::Tcp(s) => s.shutdown(Shutdown::Both),
            Self::Unix(s) => s.shutdown(Shutdown::Both),
        };
    }

    /// Send what fits now, without waiting, whatever the socket's mode. Returns the bytes taken.
    ///
    /// # Errors
    /// `WouldBlock` when nothing fits; others mean the connection is gone.
    pub(crate) fn send_now(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        // SAFETY: all-zero is a valid msghdr (null pointers, zero lengths).
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        // IoSlice is ABI-compatible with iovec (std documents this on Unix).
        message.msg_iov = parts.as_ptr().cast_mut().cast();
        message.msg_iovlen = parts.len() as _;
        // SAFETY: `message` points at `parts`, which outlive the call; the kernel only reads them.
        let sent =
            unsafe { libc::sendmsg(self.as_raw_fd(), &message, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }
}

/// Connect to `host` over TCP, waiting at most `patience` for each of its addresses.
pub(crate) fn dial(host: &str, port: u16, patience: Duration) -> io::Result<Socket> {
    let mut last = io::Error::from_raw_os_error(libc::EADDRNOTAVAIL);
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, patience) {
            Ok(stream) => return Socket::tcp(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            Self::Tcp(s) => s.as_raw_fd(),
            Self::Unix(s) => s.as_raw_fd(),
        }
    }
}

impl Read for &Socket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(s) => (&mut &*s).read(into),
            Socket::Unix(s) => (&mut &*s).read(into),
        }
    }

    fn read_vectored(&mut self, into: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        match self {
            Socket::Tcp(s) => (&mut &*s).read_vectored(into),
            Socket::Unix(s) => (&mut &*s).read_vectored(into),
        }
    }
}

impl Write for &Socket {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(s) => (&mut &*s).write(from),
            Socket::Unix(s) => (&mut &*s).write(from),
        }
    }

    fn write_vectored(&mut self, from: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Socket::Tcp(s) => (&mut &*s).write_vectored(from),
            Socket::Unix(s) => (&mut &*s).write_vectored(from),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
