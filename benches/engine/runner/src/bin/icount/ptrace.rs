//! ptrace as it is needed here, with errors instead of sentinels.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::ptr::null_mut;

/// A thread.
pub type Tid = libc::pid_t;

/// Why a thread stopped, or that it is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// At the entry or the exit of a system call.
    Call,
    /// One instruction was stepped, or an event (exec, a new thread) is reported.
    Trap { event: bool },
    /// It is to get this signal.
    Signal(i32),
    /// It ended.
    Gone,
}

/// Where in a system call a thread stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// About to make call `number` with this first argument.
    Entry { number: u64, first: u64 },
    /// It returned this.
    Exit { result: i64 },
    /// Neither.
    Elsewhere,
}

const OPTIONS: libc::c_int = libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_EXITKILL;

fn checked(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Start `command` stopped at its first instruction, traced with all it will start.
pub fn spawn(command: &mut Command) -> io::Result<Child> {
    // SAFETY: the hook makes one system call, without pointers, and touches no memory of the parent.
    unsafe {
        command
            .pre_exec(|| checked(libc::ptrace(libc::PTRACE_TRACEME, 0, null_mut::<u8>(), null_mut::<u8>())));
    }
    let child = command.spawn()?;
    let tid = child.id() as Tid;
    let mut status = 0;
    // SAFETY: `status` is a valid address; the child is ours.
    checked(i64::from(unsafe { libc::waitpid(tid, &raw mut status, libc::__WALL) }))?;
    // SAFETY: the tracee is stopped; the options are a plain number.
    checked(unsafe {
        libc::ptrace(libc::PTRACE_SETOPTIONS, tid, null_mut::<u8>(), OPTIONS as usize as *mut u8)
    })?;
    Ok(child)
}

/// Wait for the next thread to stop; `None` when none is left.
pub fn wait() -> io::Result<Option<(Tid, Stop)>> {
    let mut status = 0;
    // SAFETY: `status` is a valid address.
    let tid = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL) };
    if tid < 0 {
        let e = io::Error::last_os_error();
        return if e.raw_os_error() == Some(libc::ECHILD) { Ok(None) } else { Err(e) };
    }
    if !libc::WIFSTOPPED(status) {
        return Ok(Some((tid, Stop::Gone)));
    }
    let stop = match libc::WSTOPSIG(status) {
        signal if signal == libc::SIGTRAP | 0x80 => Stop::Call,
        libc::SIGTRAP => Stop::Trap { event: status >> 16 != 0 },
        signal => Stop::Signal(signal),
    };
    Ok(Some((tid, stop)))
}

/// How a thread goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Go {
    /// To its next system call.
    ToCall,
    /// For one instruction.
    Step,
    /// Freely.
    Free,
}

/// Let a stopped thread go on, with `signal` (0: none). A thread that was killed meanwhile is no error.
pub fn resume(tid: Tid, go: Go, signal: i32) -> io::Result<()> {
    let request = match go {
        Go::ToCall => libc::PTRACE_SYSCALL,
        Go::Step => libc::PTRACE_SINGLESTEP,
        Go::Free => libc::PTRACE_CONT,
    };
    // SAFETY: no pointers; the signal travels as a number.
    let done = checked(unsafe { libc::ptrace(request, tid, null_mut::<u8>(), signal as usize as *mut u8) });
    match done {
        Err(e) if e.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        other => other,
    }
}

/// What is read of a thread's registers, by what they are for.
#[derive(Clone, Copy, Debug)]
pub struct Registers {
    /// Address of the instruction that is next.
    pub next: u64,
    /// The call that it makes, where it is one, and its first argument.
    pub call: (u64, u64),
    /// What the last call returned.
    pub result: i64,
}

/// Its registers.
#[cfg(target_arch = "x86_64")]
pub fn registers(tid: Tid) -> io::Result<Registers> {
    let mut registers = std::mem::MaybeUninit::<libc::user_regs_struct>::zeroed();
    // SAFETY: the kernel writes one such struct to the address.
    checked(unsafe { libc::ptrace(libc::PTRACE_GETREGS, tid, null_mut::<u8>(), registers.as_mut_ptr()) })?;
    // SAFETY: all zeroes is a valid value, and the kernel has overwritten it.
    let found = unsafe { registers.assume_init() };
    Ok(Registers { next: found.rip, call: (found.rax, found.rdi), result: found.rax as i64 })
}

/// Those of other processors are not read: on arm64 a stepped thread loses what it reserved by a load-exclusive with each
/// step, and waits for ever in a loop that x86-64 has as one instruction.
#[cfg(not(target_arch = "x86_64"))]
pub fn registers(_: Tid) -> io::Result<Registers> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "instructions are counted on x86-64 only"))
}

/// Where in a system call it stands.
pub fn at(tid: Tid) -> io::Result<At> {
    // struct ptrace_syscall_info: op (u8), arch, instruction and stack pointer, then a union at byte 24.
    let mut info = [0u64; 11];
    let size = std::mem::size_of_val(&info);
    // SAFETY: the kernel writes at most `size` bytes to the address.
    checked(unsafe {
        libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, tid, size as *mut u8, info.as_mut_ptr().cast::<u8>())
    })?;
    Ok(match info[0] & 0xff {
        1 => At::Entry { number: info[3], first: info[4] },
        2 => At::Exit { result: info[3] as i64 },
        _ => At::Elsewhere,
    })
}

/// The two bytes at `address` of its memory, as a little-endian number. By ptrace itself: reading another process's
/// memory in other ways is refused in more places.
pub fn two_bytes(tid: Tid, address: u64) -> io::Result<u16> {
    // A word may reach into a page that is not there; the one that ends with the two bytes then does not.
    word(tid, address).map(|w| w as u16).or_else(|_| word(tid, address - 6).map(|w| (w >> 48) as u16))
}

fn word(tid: Tid, address: u64) -> io::Result<u64> {
    // SAFETY: the thread's own errno; -1 is a value as well as a failure, and only errno tells which.
    unsafe { *libc::__errno_location() = 0 };
    // SAFETY: the kernel checks the remote address; nothing here is written to.
    let word = unsafe { libc::ptrace(libc::PTRACE_PEEKTEXT, tid, address as *mut u8, null_mut::<u8>()) };
    let e = io::Error::last_os_error();
    if word == -1 && e.raw_os_error() != Some(0) { Err(e) } else { Ok(word as u64) }
}

/// Hold this process, and what it starts, to one processor.
pub fn pin(cpu: usize) -> io::Result<()> {
    // SAFETY: a cpu_set_t of zeroes is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is valid; CPU_SET checks the range.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: the size is that of the set.
    checked(i64::from(unsafe { libc::sched_setaffinity(0, std::mem::size_of_val(&set), &raw const set) }))
}
