//! What every dial and every answer outside the load loop has in common: one wait for the whole of it, and bounds on
//! what carries nothing.
//!
//! A wait for each *read* holds nobody to anything: a server that sends one byte a second is never late. Here the wait
//! begins with the question, every read and write takes what is left of it, and a length that a server states makes
//! nobody allocate before the bytes are there.

use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::named::named_as;
use crate::netns;
use crate::sock::{self, Socket};

/// Longest wait for a connection and for each answer, whatever the caller's patience.
const LONGEST: Duration = Duration::from_secs(10);
/// Messages that may come before an answer and are none: keep-alives, notices, "later", empty fragments.
pub const NOTICES: usize = 1024;
/// Bytes of a long answer that are made room for at once.
const PIECE: usize = 64 * 1024;

/// The end of a wait.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    at: Instant,
    patience: Duration,
}

impl Deadline {
    /// `patience` from now, and at most 10 s.
    #[must_use]
    pub fn after(patience: Duration) -> Self {
        // The system takes no wait of nothing.
        let patience = patience.clamp(Duration::from_millis(1), LONGEST);
        Self { at: Instant::now() + patience, patience }
    }

    /// The same wait, beginning now.
    fn anew(self) -> Self {
        Self::after(self.patience)
    }

    /// What is left of it, never nothing.
    ///
    /// # Errors
    /// `ETIMEDOUT`: it is over.
    pub fn left(&self) -> io::Result<Duration> {
        let left = self.at.saturating_duration_since(Instant::now());
        // The system counts in microseconds, and takes a wait of none for one without end.
        if left < Duration::from_micros(1) { Err(self.over()) } else { Ok(left) }
    }

    /// What to say when it is over.
    #[must_use]
    pub fn over(&self) -> io::Error {
        named_as(format_args!("no answer within {:?}", self.patience), libc::ETIMEDOUT)
    }

    /// `error`, or [`Self::over`] where it is a socket's word for that ("resource temporarily unavailable").
    pub(crate) fn told(&self, error: io::Error) -> io::Error {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut if error.get_ref().is_none() => self.over(),
            _ => error,
        }
    }
}

/// A connection on which one thing is asked after the other.
#[derive(Debug)]
pub struct Line {
    socket: Socket,
    until: Deadline,
}

impl Line {
    /// Connect to `host` from the network namespace at `netns`; `patience` is for all of it, and later for each answer.
    ///
    /// # Errors
    /// The name is not known, nobody listens at any of its addresses, or no answer in time.
    pub fn dial(host: &str, port: u16, netns: Option<&Path>, patience: Duration) -> io::Result<Self> {
        Self::by(netns, patience, |until| sock::dial(host, port, until))
    }

    /// As [`Self::dial`], to a unix socket.
    pub(crate) fn dial_unix(path: &Path, netns: Option<&Path>, patience: Duration) -> io::Result<Self> {
        Self::by(netns, patience, |until| sock::dial_unix(path, until))
    }

    /// As [`Self::dial`], in a way of one's own.
    pub(crate) fn by(
        netns: Option<&Path>,
        patience: Duration,
        connect: impl FnOnce(&Deadline) -> io::Result<Socket> + Send,
    ) -> io::Result<Self> {
        let until = Deadline::after(patience);
        let socket = netns::within(netns, || connect(&until)).map_err(|error| until.told(error))?;
        Ok(Self { socket, until })
    }

    /// Over a socket that is connected.
    #[must_use]
    pub fn over(socket: Socket, patience: Duration) -> Self {
        Self { socket, until: Deadline::after(patience) }
    }

    /// Ask something: the wait for its answer begins.
    ///
    /// # Errors
    /// The server does not take it in time, or is gone.
    pub fn ask(&mut self, message: &[u8]) -> io::Result<()> {
        self.begin();
        self.write_all(message)
    }

    /// The wait for what comes next begins.
    pub fn begin(&mut self) {
        self.until = self.until.anew();
    }

    /// `len` bytes, in room that grows with what has come.
    ///
    /// # Errors
    /// They do not come in time, or the server hung up before.
    pub fn take_bytes(&mut self, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        while bytes.len() < len {
            let from = bytes.len();
            bytes.resize(len.min(from + PIECE), 0);
            self.read_exact(&mut bytes[from..])?;
        }
        Ok(bytes)
    }

    /// The address at the other end, where there is one.
    #[must_use]
    pub fn peer(&self) -> Option<IpAddr> {
        self.socket.peer()
    }

    /// The socket, for what goes on without waiting.
    #[must_use]
    pub fn into_socket(self) -> Socket {
        self.socket
    }
}

impl Read for Line {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(Some(self.until.left()?))?;
        (&self.socket).read(into).map_err(|error| self.until.told(error))
    }
}

impl Write for Line {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(Some(self.until.left()?))?;
        (&self.socket).write(from).map_err(|error| self.until.told(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsRawFd for Line {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.socket.as_raw_fd()
    }
}

/// What `f` gives; how long it took is put to `times_ns`, in ns, unless it fails.
///
/// # Errors
/// Those of `f`.
pub fn timed<T>(times_ns: &mut Vec<u64>, f: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let begun = Instant::now();
    let given = f()?;
    times_ns.push(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX));
    Ok(given)
}

/// Connections a probe makes to time them.
const CONNECTS: u32 = 3;

/// What a probe saw, and the times it took.
#[derive(Clone, Debug)]
pub struct Probe<T> {
    /// What is there.
    pub found: T,
    /// Of each connection that was made, in ns: until it can be used.
    pub connect_ns: Vec<u64>,
    /// Of each exchange, in ns: wire, protocol and the server's front end, no data.
    pub rtt_ns: Vec<u64>,
}

impl<T> Probe<T> {
    /// Connect three times, look at what is there over the last connection, and carry out `rounds` exchanges on it.
    ///
    /// # Errors
    /// Those of the three.
    pub fn of<C>(
        rounds: u32,
        mut connect: impl FnMut() -> io::Result<C>,
        look: impl FnOnce(&mut C) -> io::Result<T>,
        exchange: impl Fn(&mut C) -> io::Result<()>,
    ) -> io::Result<Self> {
        let (mut connect_ns, mut rtt_ns) = (Vec::new(), Vec::new());
        for _ in 1..CONNECTS {
            timed(&mut connect_ns, &mut connect)?;
        }
        let mut connection = timed(&mut connect_ns, &mut connect)?;
        let found = look(&mut connection)?;
        for _ in 0..rounds {
            timed(&mut rtt_ns, || exchange(&mut connection))?;
        }
        Ok(Self { found, connect_ns, rtt_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::thread;

    const SHORT: Duration = Duration::from_millis(80);

    fn pair() -> (Line, UnixStream) {
        let (ours, theirs) = UnixStream::pair().expect("two ends");
        (Line::over(Socket::Unix(ours), SHORT), theirs)
    }

    #[test]
    fn a_byte_now_and_then_does_not_make_the_wait_longer() {
        let (mut line, mut theirs) = pair();
        let drips = thread::spawn(move || {
            while theirs.write_all(&[0]).is_ok() {
                thread::sleep(SHORT / 8);
            }
        });
        line.ask(b"?").expect("taken");
        let error = line.take_bytes(1 << 20).expect_err("not in time");
        assert_eq!(crate::errno(&error), libc::ETIMEDOUT);
        assert!(error.to_string().contains("no answer within 80ms"), "{error}");
        drop(line);
        drips.join().expect("it ends with the line");
    }

    #[test]
    fn each_question_has_a_wait_of_its_own() {
        // Long enough for one answer on a busy machine, too short for all of them.
        let wait = SHORT * 12;
        let (ours, mut theirs) = UnixStream::pair().expect("two ends");
        let mut line = Line::over(Socket::Unix(ours), wait);
        let answers = thread::spawn(move || {
            let mut question = [0];
            while theirs.read_exact(&mut question).is_ok() {
                thread::sleep(wait / 3);
                theirs.write_all(&question).expect("heard");
            }
        });
        for number in 0..4 {
            line.ask(&[number]).expect("taken");
            assert_eq!(line.take_bytes(1).expect("in time"), [number]);
        }
        drop(line);
        answers.join().expect("it ends with the line");
    }

    #[test]
    fn a_stated_length_takes_no_room_before_its_bytes_are_there() {
        let (mut line, mut theirs) = pair();
        theirs.write_all(&[7; 100]).expect("room");
        drop(theirs);
        // More than any machine has: making room for it at once would be the end.
        let error = line.take_bytes(usize::MAX / 2).expect_err("it hung up");
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_unix_socket_whose_server_accepts_nobody_is_given_up() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s");
        let _listener = UnixListener::bind(&path).expect("a socket");
        let mut waiting = Vec::new();
        let error = loop {
            match Line::dial_unix(&path, None, SHORT) {
                Ok(line) => waiting.push(line),
                Err(error) => break error,
            }
            assert!(waiting.len() < 10_000, "a queue without end");
        };
        assert_eq!(crate::errno(&error), libc::ETIMEDOUT, "{error}");
    }
}
