//! One stream socket, TCP or unix, so that the rest need not know which.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use crate::line::Deadline;

/// A connected stream.
#[derive(Debug)]
pub enum Socket {
    /// Over TCP; Nagle's algorithm is off, because a delayed small packet reads as a slow disk.
    Tcp(TcpStream),
    /// Over a unix socket.
    Unix(UnixStream),
}

/// The same call on the stream, whichever it is.
macro_rules! either {
    ($socket:expr, $stream:ident => $call:expr) => {
        match $socket {
            Socket::Tcp($stream) => $call,
            Socket::Unix($stream) => $call,
        }
    };
}

impl Socket {
    /// Wrap an accepted or connected TCP stream.
    ///
    /// # Errors
    /// It is no socket any more.
    pub fn tcp(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self::Tcp(stream))
    }

    /// The address at the other end, where there is one.
    #[must_use]
    pub fn peer(&self) -> Option<IpAddr> {
        match self {
            Self::Tcp(stream) => stream.peer_addr().ok().map(|address| address.ip()),
            Self::Unix(_) => None,
        }
    }

    /// Longest wait of one read; `None` waits for ever.
    pub(crate) fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        either!(self, s => s.set_read_timeout(timeout))
    }

    /// Longest wait of one write; `None` waits for ever.
    pub(crate) fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        either!(self, s => s.set_write_timeout(timeout))
    }

    /// Switch between blocking and polled use.
    ///
    /// # Errors
    /// The system refuses.
    pub fn set_nonblocking(&self, on: bool) -> io::Result<()> {
        either!(self, s => s.set_nonblocking(on))
    }

    /// End both directions; every thread blocked on the socket wakes. Errors mean it is already over.
    pub(crate) fn shutdown(&self) {
        let _already_over = either!(self, s => s.shutdown(Shutdown::Both));
    }

    /// Send what fits now, without waiting, whatever the socket's mode. Returns the bytes taken.
    ///
    /// # Errors
    /// `WouldBlock` when nothing fits; others mean the connection is gone.
    pub fn send_now(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
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

/// Connect to `host` over TCP, trying its addresses in turn; all of it by `until`.
pub(crate) fn dial(host: &str, port: u16, until: &Deadline) -> io::Result<Socket> {
    by_turns(host, port, until, |address| TcpStream::connect_timeout(address, until.left()?))
}

/// What `connect` makes of the first address of `host` that it can connect to; the last one's error.
pub(crate) fn by_turns(
    host: &str,
    port: u16,
    until: &Deadline,
    connect: impl Fn(&SocketAddr) -> io::Result<TcpStream>,
) -> io::Result<Socket> {
    let mut last = io::Error::from_raw_os_error(libc::EADDRNOTAVAIL);
    for address in addresses(host, port, until)? {
        match connect(&address) {
            Ok(stream) => return Socket::tcp(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// The addresses of a name. The system's resolver takes as long as it likes, so a thread asks it that nobody waits for
/// beyond `until`; it is in the caller's network namespace.
fn addresses(host: &str, port: u16, until: &Deadline) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![(address, port).into()]);
    }
    let (tell, told) = mpsc::channel();
    let name = host.to_owned();
    std::thread::Builder::new().name("resolver".into()).spawn(move || {
        // A receiver that is gone has waited long enough.
        let _late = tell.send((name.as_str(), port).to_socket_addrs().map(Vec::from_iter));
    })?;
    told.recv_timeout(until.left()?).unwrap_or_else(|_| Err(until.over()))
}

/// Connect to the unix socket at `path` by `until`: a server that accepts nobody holds a connect up once its queue is full.
pub(crate) fn dial_unix(path: &Path, until: &Deadline) -> io::Result<Socket> {
    let address = SocketAddrUnix::new(path)?;
    let stream =
        UnixStream::from(socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?);
    // The kernel bounds a connect by it as well.
    stream.set_write_timeout(Some(until.left()?))?;
    connect(&stream, &address)?;
    Ok(Socket::Unix(stream))
}

/// Bytes that came; `None` if none are there now.
///
/// # Errors
/// The other side closed the connection, or it is gone.
pub fn received(result: io::Result<usize>) -> io::Result<Option<usize>> {
    match result {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(got) => Ok(Some(got)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None), // poll will tell again
        Err(error) => Err(error),
    }
}

impl AsRawFd for Socket {
    fn as_raw_fd(&self) -> RawFd {
        either!(self, s => s.as_raw_fd())
    }
}

impl Read for &Socket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        either!(self, s => (&mut &*s).read(into))
    }

    fn read_vectored(&mut self, into: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        either!(self, s => (&mut &*s).read_vectored(into))
    }
}

impl Write for &Socket {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        either!(self, s => (&mut &*s).write(from))
    }

    fn write_vectored(&mut self, from: &[IoSlice<'_>]) -> io::Result<usize> {
        either!(self, s => (&mut &*s).write_vectored(from))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
