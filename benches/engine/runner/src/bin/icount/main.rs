//! `icount`: how many user instructions a load generator spends on one I/O.
//!
//! The command runs under ptrace. Its threads run freely until one of them has done `--skip` I/Os (told by the
//! results of its I/O system calls); from the return of that call on, this one thread is stepped instruction by
//! instruction, until the return of the call with which it has done `--ios` more (`--after-ms` puts the start off). Both ends are the same place of
//! the loop, so whole turns are counted, and nothing of start-up or shutdown is.
//!
//! Where an I/O makes no system call (a null engine), `--section getrusage=1` steps a thread from its first call of
//! `getrusage(RUSAGE_THREAD)` to its second, or to its end: what a load thread does between reading its own cost before
//! and after. The caller does that for two numbers of I/Os and divides the difference.
//!
//! Exit status: 0 counted, 1 the command ended before enough I/Os were seen, 2 wrong words, 3 ptrace is refused.

mod args;
mod calls;
mod count;
mod ptrace;
mod symbols;

use std::io::{self, Write};
use std::process::ExitCode;

use args::Args;
use count::{Counted, Failure};

fn main() -> ExitCode {
    let args = match Args::parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(e) => {
            eprintln!("error: {e}\n{}", args::USAGE);
            return ExitCode::from(2);
        }
    };
    match count::run(&args) {
        Ok(counted) => {
            // A reader that has left wants no more.
            let _ = report(&args, &counted);
            ExitCode::SUCCESS
        }
        Err(Failure::Refused(e)) => {
            eprintln!("error: ptrace is refused: {e}");
            ExitCode::from(3)
        }
        Err(Failure::Other(e)) => {
            eprintln!("error: {e}");
            ExitCode::from(1)
        }
    }
}

fn report(args: &Args, counted: &Counted) -> io::Result<()> {
    let per_io = (counted.ios > 0).then(|| counted.instructions as f64 / counted.ios as f64);
    let line = serde_json::json!({
        "instructions": counted.instructions,
        "ios": counted.ios,
        "per_io": per_io,
        "calls": counted.calls,
        "thread": counted.thread,
    });
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    if args.by_symbol {
        write!(out, "{}", symbols::table(&counted.visits, &counted.images, counted.ios))?;
    }
    out.flush()
}
