//! Asking a target to make durable what it acknowledged, beside the I/Os that go on.

use std::fs::File;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use strata_io::Queue;
use strata_proto::client::NbdQueue;

/// How a queue's target is flushed. One flush at a time.
pub(crate) trait Flush<Q: Queue> {
    /// Begin a flush; false when the target has none. Its completion comes from [`Self::done`], or from the queue
    /// with slot [`Self::slot`].
    fn begin(&mut self, queue: &mut Q) -> bool;

    /// The result of the flush (0 or a negated errno) when it comes within `wait`.
    fn done(&mut self, wait: Duration) -> Option<i32>;

    /// The slot of flushes that go through the queue.
    fn slot(&self) -> Option<u32>;
}

/// `fdatasync` on a thread of its own, which a medium that never answers may keep.
pub(crate) struct FileFlush {
    ask: Sender<()>,
    answers: Receiver<i32>,
}

impl FileFlush {
    pub(crate) fn new(file: Arc<File>) -> std::io::Result<Self> {
        let (ask, asked) = channel::<()>();
        let (answer, answers) = channel();
        std::thread::Builder::new().name("strata-flush".to_owned()).spawn(move || {
            while asked.recv().is_ok() {
                let result = file.sync_data().map_or_else(|e| -e.raw_os_error().unwrap_or(libc::EIO), |()| 0);
                if answer.send(result).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { ask, answers })
    }
}

impl<Q: Queue> Flush<Q> for FileFlush {
    fn begin(&mut self, _queue: &mut Q) -> bool {
        self.ask.send(()).is_ok()
    }

    fn done(&mut self, wait: Duration) -> Option<i32> {
        self.answers.recv_timeout(wait).ok()
    }

    fn slot(&self) -> Option<u32> {
        None
    }
}

/// `NBD_CMD_FLUSH` through the queue, in a slot that no read or write uses.
pub(crate) struct NbdFlush {
    pub(crate) slot: u32,
}

impl Flush<NbdQueue> for NbdFlush {
    fn begin(&mut self, queue: &mut NbdQueue) -> bool {
        queue.push_flush(self.slot)
    }

    fn done(&mut self, _wait: Duration) -> Option<i32> {
        None
    }

    fn slot(&self) -> Option<u32> {
        Some(self.slot)
    }
}
