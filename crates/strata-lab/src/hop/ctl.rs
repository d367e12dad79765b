//! A socket for words in and JSON out: one line, one answer, one connection.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A client that says nothing is left after this.
const PATIENCE: Duration = Duration::from_secs(1);

/// A listening socket whose file goes with it.
#[derive(Debug)]
pub struct Ctl {
    listener: UnixListener,
    path: PathBuf,
}

impl Ctl {
    /// At `path`. A file that a crashed hop left there is replaced; one that answers is another hop's.
    pub fn listen(path: &Path) -> io::Result<Self> {
        if let Err(error) = UnixStream::connect(path)
            && error.kind() == io::ErrorKind::ConnectionRefused
        {
            std::fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, path: path.to_owned() })
    }

    /// Answer everybody who waits.
    pub fn serve(&self, mut answer: impl FnMut(&str) -> serde_json::Value) {
        while let Ok((stream, _)) = self.listener.accept() {
            // A client that goes away in between has no answer to miss.
            let _gone = converse(&stream, &mut answer);
        }
    }
}

impl Drop for Ctl {
    fn drop(&mut self) {
        let _gone = std::fs::remove_file(&self.path);
    }
}

fn converse(mut stream: &UnixStream, answer: &mut impl FnMut(&str) -> serde_json::Value) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    writeln!(stream, "{}", answer(&line))
}
