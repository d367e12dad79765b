//! Follows the command's threads, picks the one that does the I/Os, and steps it.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::args::Args;
use crate::calls;
use crate::ptrace::{self, At, Go, Stop, Tid};
use crate::symbols::Image;

/// The two bytes of the `syscall` instruction.
const SYSCALL: u16 = 0x050f;

/// What was counted.
#[derive(Debug, Default)]
pub struct Counted {
    /// Instructions executed in user mode; a repeated string instruction is one.
    pub instructions: u64,
    /// I/Os handed over meanwhile, as far as system calls tell.
    pub ios: u64,
    /// System calls made meanwhile.
    pub calls: BTreeMap<String, u64>,
    /// Name of the thread.
    pub thread: String,
    /// Executions of each address.
    pub visits: HashMap<u64, u64>,
    /// What is mapped where.
    pub images: Vec<Image>,
}

/// Why nothing was counted.
#[derive(Debug)]
pub enum Failure {
    /// This process may not trace, or cannot on this processor.
    Refused(io::Error),
    /// Anything else.
    Other(String),
}

impl From<io::Error> for Failure {
    fn from(e: io::Error) -> Self {
        match e.kind() {
            io::ErrorKind::Unsupported => Self::Refused(e),
            _ => Self::Other(e.to_string()),
        }
    }
}

/// A thread that runs freely between its system calls.
#[derive(Debug, Default)]
struct Loose {
    call: Option<(u64, u64)>,
    ios: u64,
}

/// The thread that is stepped.
struct Stepped<'a> {
    args: &'a Args,
    tid: Tid,
    counted: Counted,
    is_syscall: HashMap<u64, bool>,
    last_rip: u64,
    /// Call number and first argument of the call that the next step makes.
    calling: Option<(u64, u64)>,
}

/// Run the command and count. It is killed as soon as enough was counted.
///
/// # Errors
/// See [`Failure`].
pub fn run(args: &Args) -> Result<Counted, Failure> {
    if let Some(cpu) = args.cpu {
        ptrace::pin(cpu)?;
    }
    let mut command = Command::new(&args.command[0]);
    command.args(&args.command[1..]).stdin(Stdio::inherit()).stdout(Stdio::null());
    let mut child = ptrace::spawn(&mut command).map_err(|e| match e.raw_os_error() {
        Some(libc::EPERM | libc::ENOSYS) => Failure::Refused(e),
        _ => Failure::Other(format!("cannot run {}: {e}", args.command[0])),
    })?;
    let first = child.id() as Tid;
    let counted = follow(args, first);
    // Kills its threads with it; children of its own die with the tracer (EXITKILL).
    let _ = child.kill();
    while let Ok(Some((tid, stop))) = ptrace::wait() {
        if stop == Stop::Gone && tid == first {
            break;
        }
    }
    counted?.ok_or_else(|| Failure::Other("the command ended before enough I/Os were seen".to_owned()))
}

fn follow(args: &Args, first: Tid) -> Result<Option<Counted>, Failure> {
    let begun = Instant::now();
    let after = Duration::from_millis(args.after_ms);
    let mut loose: HashMap<Tid, Loose> = HashMap::new();
    let mut stepped: Option<Stepped<'_>> = None;
    ptrace::resume(first, Go::ToCall, 0)?;
    while let Some((tid, stop)) = ptrace::wait()? {
        if let Some(it) = stepped.as_mut().filter(|it| it.tid == tid) {
            match stop {
                Stop::Gone => return Ok(args.section.is_some().then(|| std::mem::take(&mut it.counted))),
                Stop::Signal(signal) => ptrace::resume(tid, Go::Step, signal)?,
                Stop::Call => ptrace::resume(tid, Go::Step, 0)?,
                Stop::Trap { .. } => {
                    if it.step()? {
                        return Ok(Some(std::mem::take(&mut it.counted)));
                    }
                    ptrace::resume(tid, Go::Step, 0)?;
                }
            }
            continue;
        }
        let others = if stepped.is_some() { Go::Free } else { Go::ToCall };
        match stop {
            Stop::Gone => {}
            // A new thread begins with a stop of its own, which it must not be given.
            Stop::Signal(libc::SIGSTOP) | Stop::Trap { .. } => ptrace::resume(tid, others, 0)?,
            Stop::Signal(signal) => ptrace::resume(tid, others, signal)?,
            Stop::Call
                if stepped.is_none()
                    && loose.entry(tid).or_default().arrives(tid, args)?
                    && begun.elapsed() >= after =>
            {
                stepped = Some(Stepped::new(args, tid)?);
                ptrace::resume(tid, Go::Step, 0)?;
            }
            Stop::Call => ptrace::resume(tid, others, 0)?,
        }
    }
    Ok(None)
}

impl Loose {
    /// Note a system call's entry or exit; true when this is where stepping begins.
    fn arrives(&mut self, tid: Tid, args: &Args) -> io::Result<bool> {
        match ptrace::at(tid)? {
            At::Entry { number, first } => self.call = Some((number, first)),
            At::Exit { result } => {
                let Some(call) = self.call.take() else { return Ok(false) };
                if args.section.is_some() {
                    return Ok(args.section == Some(call));
                }
                let ios = calls::ios(call.0, result);
                self.ios += ios;
                return Ok(ios > 0 && self.ios >= args.skip);
            }
            At::Elsewhere => {}
        }
        Ok(false)
    }
}

impl<'a> Stepped<'a> {
    fn new(args: &'a Args, tid: Tid) -> io::Result<Self> {
        let thread = std::fs::read_to_string(format!("/proc/{tid}/comm")).unwrap_or_default();
        let images = if args.by_symbol { Image::of(tid)? } else { Vec::new() };
        let counted = Counted { thread: thread.trim_end().to_owned(), images, ..Counted::default() };
        let mut it = Self { args, tid, counted, is_syscall: HashMap::new(), last_rip: 0, calling: None };
        // The instruction after the call is the first that counts.
        it.look()?;
        Ok(it)
    }

    /// One instruction was executed. True when enough is counted.
    fn step(&mut self) -> io::Result<bool> {
        if let Some((number, first)) = self.calling.take() {
            let result = ptrace::registers(self.tid)?.result;
            *self.counted.calls.entry(calls::name(number)).or_default() += 1;
            let ios = calls::ios(number, result);
            self.counted.ios += ios;
            let over = match self.args.section {
                Some(section) => section == (number, first),
                None => ios > 0 && self.counted.ios >= self.args.ios,
            };
            if over {
                return Ok(true);
            }
        }
        self.look()?;
        Ok(false)
    }

    /// Count the instruction that is about to be executed.
    fn look(&mut self) -> io::Result<()> {
        let registers = ptrace::registers(self.tid)?;
        let rip = registers.next;
        // A trap between the turns of a repeated string instruction finds the same address.
        if rip == self.last_rip {
            return Ok(());
        }
        self.last_rip = rip;
        self.counted.instructions += 1;
        if self.args.by_symbol {
            *self.counted.visits.entry(rip).or_default() += 1;
        }
        let tid = self.tid;
        let is_syscall = match self.is_syscall.entry(rip) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => *new.insert(ptrace::two_bytes(tid, rip)? == SYSCALL),
        };
        self.calling = is_syscall.then_some(registers.call);
        Ok(())
    }
}
