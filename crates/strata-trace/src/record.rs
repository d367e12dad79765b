//! Records a window: reads the raw buffers of a tracing instance that is ready, until time, count or word end it.
//!
//! One thread looks at the buffers of all processors every [`LOOK`] and decodes what is there. Its own processor time is
//! part of the result. The instance is made, filled with events and filters, and removed by whoever calls.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::json;
use strata_io::{Awaited, Outcome};

use crate::capture::{Capture, Captured};
use crate::device::TracedDevice;
use crate::event::{Decoder, Event};
use crate::format::Format;
use crate::mark::{Mark, Marks, What};
use crate::message::Protocol;
use crate::page::Layout;
use crate::path::thread_names::ThreadNames;
use crate::path::{Traced, waterfall};
use crate::saved::{self, PathRecord};
use crate::summary::{Source, summarise};

/// From one look at the buffers to the next.
const LOOK: Duration = Duration::from_millis(10);

/// What is recorded.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordSpec {
    /// The instance's directory.
    pub instance: PathBuf,
    /// Where tracefs is mounted.
    pub tracefs: PathBuf,
    /// Names of the enabled events (of the group `block`).
    pub events: Vec<String>,
    /// Names of the others that are enabled, with their groups (`syscalls/sys_enter_read`); none: only the devices are
    /// looked at, and no waterfall is made.
    #[serde(default)]
    pub marks: Vec<String>,
    /// Protocols whose headers are read off the wire, beside marks.
    #[serde(default)]
    pub protocols: Vec<Protocol>,
    /// The devices.
    pub targets: Vec<TracedDevice>,
    /// At most so long.
    pub seconds: f64,
    /// And at most so many events.
    pub max_events: usize,
    /// Keep the trace in this file, which must not exist.
    pub save: Option<PathBuf>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    events: AtomicU64,
    follow: AtomicI32,
    result: Awaited<io::Error>,
}

/// A recording under way or done. Dropping it asks it to stop.
pub struct Recording {
    shared: Arc<Shared>,
}

impl Recording {
    /// Ask for the end of the window.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// The waterfall is of this process and of all that it starts. Say it before the process runs.
    pub fn follow(&self, pid: i32) {
        self.shared.follow.store(pid, Ordering::Relaxed);
    }

    /// Events read so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.shared.events.load(Ordering::Relaxed)
    }

    /// The result as JSON when it comes within the time.
    #[must_use]
    pub fn wait(&self, timeout: Duration) -> Option<Outcome<io::Error>> {
        self.shared.result.wait(timeout)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Open everything, switch the instance on and record in a thread of its own.
///
/// # Errors
/// What cannot be opened or understood, with its path. Nothing is switched on then.
pub fn start(job: RecordSpec) -> io::Result<Recording> {
    let buffers = Buffers::open(&job)?;
    let save = match &job.save {
        Some(path) => Some(at(path, File::create_new(path))?),
        None => None,
    };
    // Without it what it would tell is counted as not followed.
    let capture = (!job.protocols.is_empty()).then(|| Capture::start(job.protocols.clone(), job.max_events));
    let shared = Arc::new(Shared::default());
    let theirs = Arc::clone(&shared);
    let switch = job.instance.join("tracing_on");
    at(&switch, fs::write(&switch, "1"))?;
    let body = move || {
        // The buffers are closed before the end is told: an instance that is open cannot be removed.
        let result = catch_unwind(AssertUnwindSafe(|| {
            let mut buffers = buffers;
            buffers.record(&job, &theirs, save, capture)
        }));
        let panicked = || Err(io::Error::other("the recorder panicked; please report this"));
        theirs.result.finish(result.unwrap_or_else(|_| panicked()));
    };
    std::thread::Builder::new().name("strata-trace".into()).spawn(body)?;
    Ok(Recording { shared })
}

fn at<T>(path: &Path, result: io::Result<T>) -> io::Result<T> {
    result.map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))
}

/// The whole of a small file of the kernel. Some of them (`header_page`) answer the first read alone, so that has to be a
/// long one.
fn whole_text(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let (mut text, mut piece) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(String::from_utf8_lossy(&text).into_owned()),
            length => text.extend_from_slice(&piece[..length]),
        }
    }
}

struct Buffers {
    layout: Layout,
    decoder: Decoder,
    mark_decoder: Option<Marks>,
    raw: Vec<(PathBuf, File)>,
    page: Vec<u8>,
    events: Vec<Event>,
    marks: Vec<Mark>,
    thread_names: ThreadNames,
    round: u64,
    pages: u64,
    foreign: u64,
    /// What the pages told of it.
    losses: Losses,
    /// How far our monotonic clock is ahead of the kernel's, by which events are told.
    ahead_ns: i64,
}

/// What is missing: as the kernel counts it, as the pages told it, and whether some was left for being too much.
#[derive(Clone, Default, PartialEq, Serialize)]
struct Losses {
    overrun: u64,
    commit_overrun: u64,
    dropped: u64,
    missed: u64,
    gaps: u64,
    broken_pages: u64,
    cut: u64,
}

impl Buffers {
    fn open(job: &RecordSpec) -> io::Result<Self> {
        let text = |path: PathBuf| at(&path, whole_text(&path));
        let bad = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
        let header_page = text(job.tracefs.join("events/header_page"))?;
        let header_event = text(job.tracefs.join("events/header_event"))?;
        let mut formats = Vec::new();
        for name in &job.events {
            let path = job.instance.join("events/block").join(name).join("format");
            formats.push(Format::parse(&text(path)?).map_err(bad)?);
        }
        let mut others = Vec::new();
        for name in &job.marks {
            let path = job.instance.join("events").join(name).join("format");
            others.push(Format::parse(&text(path)?).map_err(bad)?);
        }
        let layout = Layout::parse(&header_page, &header_event).map_err(bad)?;
        let mut raw = Vec::new();
        let processors = job.instance.join("per_cpu");
        for entry in at(&processors, fs::read_dir(&processors))? {
            let folder = entry?.path();
            let path = folder.join("trace_pipe_raw");
            let file = fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&path);
            raw.push((folder, at(&path, file)?));
        }
        Ok(Self {
            page: vec![0; layout.page_bytes()],
            decoder: Decoder::new(&formats).map_err(bad)?,
            mark_decoder: if others.is_empty() { None } else { Some(Marks::new(&others).map_err(bad)?) },
            layout,
            raw,
            events: Vec::new(),
            marks: Vec::new(),
            thread_names: ThreadNames::default(),
            round: 0,
            pages: 0,
            foreign: 0,
            losses: Losses::default(),
            ahead_ns: ahead_of_the_kernel(),
        })
    }

    fn record(
        &mut self,
        job: &RecordSpec,
        shared: &Shared,
        save: Option<File>,
        capture: Option<io::Result<Capture>>,
    ) -> io::Result<String> {
        let (begun, begun_ns, cpu) =
            (Instant::now(), clock(libc::CLOCK_MONOTONIC), clock(libc::CLOCK_THREAD_CPUTIME_ID));
        let limit = Duration::try_from_secs_f64(job.seconds).unwrap_or(Duration::MAX);
        not_ourselves(job)?;
        let reason = loop {
            self.drain(job.max_events)?;
            shared.events.store(self.read() as u64, Ordering::Relaxed);
            if self.read() >= job.max_events {
                break "events";
            }
            if shared.stop.load(Ordering::Relaxed) {
                break "stopped";
            }
            let left = limit.saturating_sub(begun.elapsed());
            if left.is_zero() {
                break "time";
            }
            std::thread::sleep(LOOK.min(left));
        };
        let switch = job.instance.join("tracing_on");
        at(&switch, fs::write(&switch, "0"))?;
        let ended_ns = clock(libc::CLOCK_MONOTONIC);
        // What the buffers still hold belongs to the window; how much that can be is bounded by their size.
        let most = job.max_events.saturating_mul(2);
        self.drain(most)?;
        shared.events.store(self.read() as u64, Ordering::Relaxed);
        let (captured, no_capture) = match capture {
            Some(Ok(capture)) => (capture.finish(), None),
            Some(Err(e)) => (Captured::default(), Some(e.to_string())),
            None => (Captured::default(), None),
        };
        let cpu_ns = clock(libc::CLOCK_THREAD_CPUTIME_ID) - cpu + captured.cpu_ns;
        let losses = Losses { cut: u64::from(self.read() >= most), ..self.losses()? };
        let whole = losses == Losses::default();
        let mut source = Source {
            targets: job.targets.clone(),
            events: std::mem::take(&mut self.events),
            names: std::mem::take(&mut self.decoder.names),
            window_ns: Some((begun_ns, ended_ns.max(begun_ns))),
            whole,
        };
        let figures = summarise(&mut source);
        let marks = self.marks.len() as u64;
        let way = self.mark_decoder.is_some().then(|| {
            self.marks.sort_by_key(|m| m.at_ns);
            PathRecord {
                marks: std::mem::take(&mut self.marks),
                messages: captured.messages,
                thread_names: std::mem::take(&mut self.thread_names),
                follow: shared.follow.load(Ordering::Relaxed),
            }
        });
        let fallen = way.as_ref().map(|way| waterfall(&Traced::of(&source, way, begun_ns)));
        let recording = json!({
            "ended_by": reason,
            "began_ns": begun_ns,
            "whole": whole,
            "losses": losses,
            "wire": {"dropped": captured.dropped, "absent": no_capture},
            "recorder": {
                "cpu_ns": cpu_ns, "wall_ns": ended_ns.saturating_sub(begun_ns),
                "pages": self.pages, "records": figures.events + marks + self.foreign, "foreign": self.foreign,
            },
        });
        if let (Some(file), Some(path)) = (save, &job.save) {
            let mut to = BufWriter::new(file);
            at(path, saved::write(&mut to, &source, way.as_ref(), &recording).and_then(|()| to.flush()))?;
        }
        Ok(json!({"figures": figures, "recording": recording, "waterfall": fallen}).to_string())
    }

    fn read(&self) -> usize {
        self.events.len() + self.marks.len()
    }

    /// Everything that is in the buffers now, up to `most` events in all.
    fn drain(&mut self, most: usize) -> io::Result<()> {
        self.round += 1;
        for index in 0..self.raw.len() {
            // A processor that writes as fast as it is read must not keep the others waiting.
            for _ in 0..4096 {
                if self.read() >= most {
                    return Ok(());
                }
                let (path, file) = &mut self.raw[index];
                match file.read(&mut self.page) {
                    Ok(0) => break,
                    Ok(length) => self.keep(length),
                    Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                        break;
                    }
                    // A processor that was taken away.
                    Err(e) if e.raw_os_error() == Some(libc::ENODEV) => break,
                    Err(e) => return at(path, Err(e)),
                }
            }
        }
        Ok(())
    }

    fn keep(&mut self, length: usize) {
        let Self {
            layout,
            decoder,
            mark_decoder,
            events,
            marks,
            thread_names,
            page,
            foreign,
            round,
            ahead_ns,
            ..
        } = self;
        // What this thread did before its filter held is no part of what is looked at.
        let own = own_thread();
        let read = layout.records(&page[..length], |at_ns, record| {
            let at_ns = at_ns.saturating_add_signed(*ahead_ns);
            if let Some(event) = decoder.decode(at_ns, record) {
                events.push(event);
            } else if let Some(mark) = mark_decoder.as_ref().and_then(|m| m.decode(at_ns, record)) {
                if mark.pid == own {
                    return;
                }
                // An arrival happens beside whoever runs at that moment.
                if mark.what != What::Arrived {
                    thread_names.meet(mark.pid, *round);
                }
                marks.push(mark);
            } else {
                *foreign += 1;
            }
        });
        self.pages += 1;
        self.losses.gaps += u64::from(read.gap);
        self.losses.missed += read.missed;
        self.losses.broken_pages += u64::from(read.broken);
    }

    /// What the kernel counts as lost, and what the pages told.
    fn losses(&self) -> io::Result<Losses> {
        let mut losses = self.losses.clone();
        for (folder, _) in &self.raw {
            let path = folder.join("stats");
            let text = at(&path, whole_text(&path))?;
            let count = |key: &str| {
                let line = text.lines().find_map(|line| line.strip_prefix(key));
                line.and_then(|rest| rest.trim().parse::<u64>().ok()).unwrap_or(0)
            };
            losses.overrun += count("overrun:");
            losses.commit_overrun += count("commit overrun:");
            losses.dropped += count("dropped events:");
        }
        Ok(losses)
    }
}

/// In a time namespace the monotonic clock of a process is ahead of the one by which the kernel stamps its events.
///
/// The file tells of the namespace that children get; a process that has not entered that one itself is in none of its own.
fn ahead_of_the_kernel() -> i64 {
    let of = |name: &str| fs::read_link(Path::new("/proc/self/ns").join(name)).ok();
    let inside = of("time").is_some_and(|own| of("time_for_children").is_some_and(|theirs| own == theirs));
    let told = if inside {
        fs::read_to_string("/proc/self/timens_offsets").unwrap_or_default()
    } else {
        String::new()
    };
    monotonic_of(&told)
}

/// `monotonic SECONDS NANOSECONDS`, of which the latter are never below zero; 0 where it is not there.
fn monotonic_of(offsets: &str) -> i64 {
    let line = offsets.lines().find_map(|line| line.trim_start().strip_prefix("monotonic"));
    let mut words = line.unwrap_or_default().split_whitespace().map(str::parse::<i64>);
    match (words.next(), words.next()) {
        (Some(Ok(seconds)), Some(Ok(ns))) => seconds.saturating_mul(1_000_000_000).saturating_add(ns),
        _ => 0,
    }
}

/// Every read of a buffer would be two events in it, for the next one to read.
fn not_ourselves(job: &RecordSpec) -> io::Result<()> {
    for name in job.marks.iter().filter(|name| name.ends_with("_read")) {
        let filter = job.instance.join("events").join(name).join("filter");
        at(&filter, fs::write(&filter, format!("common_pid != {}", own_thread())))?;
    }
    Ok(())
}

fn own_thread() -> i32 {
    // SAFETY: it takes nothing and always succeeds.
    unsafe { libc::gettid() }
}

pub(crate) fn clock(which: libc::clockid_t) -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec to a valid address; both clocks always exist.
    unsafe { libc::clock_gettime(which, &raw mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::monotonic_of;

    #[test]
    fn the_offset_of_a_time_namespace_is_read_and_nothing_else_is_one() {
        assert_eq!(
            monotonic_of("monotonic       3600         5\nboottime           0         0\n"),
            3_600_000_000_005
        );
        assert_eq!(monotonic_of("monotonic         -2 500000000\n"), -1_500_000_000);
        for other in ["", "monotonic", "monotonic x 0", "boottime 3 0\n"] {
            assert_eq!(monotonic_of(other), 0, "{other}");
        }
    }
}
