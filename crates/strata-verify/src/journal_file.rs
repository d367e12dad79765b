//! The journal on disk: made new or gone on with, appended to before a batch of writes begins.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rustix::fs::{FlockOperation, flock};

use crate::block_states::Event;
use crate::error::Result;
use crate::journal::{self, Head, Replayed};

/// A journal that is being written.
#[derive(Debug)]
pub struct JournalFile {
    file: Mutex<File>,
    sync: bool,
}

impl JournalFile {
    /// A new journal; durable when this returns.
    ///
    /// # Errors
    /// Something is there already, or it cannot be written.
    pub fn create(path: &Path, head: &Head, sync: bool) -> Result<Self> {
        let made = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path);
        let fail = |e: io::Error| match e.kind() {
            io::ErrorKind::AlreadyExists => {
                strata_io::Error::new("the file of the journal exists already; give another path", path, e)
            }
            _ => strata_io::Error::new("cannot create the journal", path, e),
        };
        let mut file = made.map_err(fail)?;
        alone(&file, path)?;
        let begun = head.encode().and_then(|bytes| file.write_all(&bytes)).and_then(|()| file.sync_all());
        begun.map_err(|e| strata_io::Error::new("cannot write the journal", path, e))?;
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(|e| strata_io::Error::new("cannot make the journal durable", path, e))?;
        Ok(Self { file: Mutex::new(file), sync })
    }

    /// Go on with a journal behind its last whole frame.
    ///
    /// # Errors
    /// It is no journal, another process uses it, or it cannot be written.
    pub fn resume(path: &Path, sync: bool) -> Result<(Self, Replayed)> {
        let opened = OpenOptions::new().read(true).write(true).open(path);
        let mut file = opened.map_err(|e| strata_io::Error::new("cannot open the journal", path, e))?;
        alone(&file, path)?;
        let replayed = read(&file, path)?;
        file.set_len(replayed.good_bytes)
            .and_then(|()| file.seek(SeekFrom::End(0)))
            .map_err(|e| strata_io::Error::new("cannot continue the journal", path, e))?;
        Ok((Self { file: Mutex::new(file), sync }, replayed))
    }

    /// Append what happened.
    ///
    /// # Errors
    /// It cannot be written: nothing that it announces may begin.
    pub fn append(&self, events: &[Event]) -> io::Result<()> {
        if events.is_empty() {
            return Ok(());
        }
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&journal::frame(events))?;
        if self.sync { file.sync_data() } else { Ok(()) }
    }
}

/// Read a journal without changing it.
///
/// # Errors
/// It cannot be read, is no journal, or a run is writing to it.
pub fn look(path: &Path) -> Result<Replayed> {
    let file = File::open(path).map_err(|e| strata_io::Error::new("cannot open the journal", path, e))?;
    // What a run that goes on is writing would be taken for faults.
    locked(&file, path, FlockOperation::NonBlockingLockShared)?;
    read(&file, path)
}

fn read(file: &File, path: &Path) -> Result<Replayed> {
    journal::replay(BufReader::new(file)).map_err(|e| {
        let errno = if e.kind() == io::ErrorKind::InvalidData { libc::EINVAL } else { libc::EIO };
        strata_io::Error::refused(format!("cannot use the journal: {e}"), path, errno).into()
    })
}

/// Two processes must not append to one journal.
fn alone(file: &File, path: &Path) -> Result<()> {
    locked(file, path, FlockOperation::NonBlockingLockExclusive)
}

fn locked(file: &File, path: &Path, how: FlockOperation) -> Result<()> {
    flock(file, how)
        .map_err(|e| strata_io::Error::new("another process is using the journal", path, e.into()).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block_states::Loss;
    use crate::journal::tests::head;

    #[test]
    fn it_goes_on_behind_what_was_cut_short() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("j");
        let made = JournalFile::create(&path, &head(), true).expect("new");
        made.append(&[Event::Issued(0), Event::Acked(0)]).expect("room");
        assert!(JournalFile::resume(&path, false).is_err(), "in use");
        drop(made);
        assert!(JournalFile::create(&path, &head(), false).is_err(), "never overwritten");
        let mut cut = OpenOptions::new().append(true).open(&path).expect("there");
        cut.write_all(&journal::frame(&[Event::Issued(1)])[..13]).expect("room");
        let (again, replayed) = JournalFile::resume(&path, false).expect("a journal");
        assert!(replayed.cut_short);
        again.append(&[Event::Issued(1), Event::Acked(1)]).expect("room");
        assert!(look(&path).is_err(), "a run is writing to it");
        drop(again);
        let now = look(&path).expect("a journal");
        assert!(!now.cut_short);
        assert_eq!(now.head, head());
        assert_eq!([0, 1].map(|b| now.states.expect(b, Loss::Process, false).must), [1, 1]);
        std::fs::write(&path, "something else that is long enough").expect("room");
        assert!(look(&path).is_err());
    }
}
