//! The words of the command line.

/// Printed when they are wrong.
pub const USAGE: &str = "usage: icount [--skip N] [--after-ms N] [--ios N] [--section CALL=ARG] [--cpu N] [--by-symbol] -- COMMAND …";

/// What to count, and in what.
#[derive(Debug)]
pub struct Args {
    /// I/Os of a thread before it is stepped.
    pub skip: u64,
    /// Time from the start of the command before one is stepped, in ms.
    pub after_ms: u64,
    /// I/Os to step over.
    pub ios: u64,
    /// Step between two calls of this number with this first argument instead.
    pub section: Option<(u64, u64)>,
    /// Processor of tracer and command.
    pub cpu: Option<usize>,
    /// Say where the instructions are.
    pub by_symbol: bool,
    /// The command.
    pub command: Vec<String>,
}

impl Args {
    /// Read them.
    ///
    /// # Errors
    /// A text that says which word is wrong.
    pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut args = Self {
            skip: 512,
            after_ms: 0,
            ios: 512,
            section: None,
            cpu: None,
            by_symbol: false,
            command: Vec::new(),
        };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--skip" => args.skip = number(&word, words.next())?,
                "--after-ms" => args.after_ms = number(&word, words.next())?,
                "--ios" => args.ios = number(&word, words.next())?,
                "--cpu" => args.cpu = Some(number(&word, words.next())? as usize),
                "--section" => args.section = Some(section(words.next())?),
                "--by-symbol" => args.by_symbol = true,
                "--" => {
                    args.command = words.collect();
                    break;
                }
                _ => return Err(format!("{word} is not known")),
            }
        }
        if args.command.is_empty() {
            return Err("no command after --".to_owned());
        }
        Ok(args)
    }
}

fn number(name: &str, word: Option<String>) -> Result<u64, String> {
    word.and_then(|w| w.parse().ok()).ok_or_else(|| format!("{name} needs a number"))
}

fn section(word: Option<String>) -> Result<(u64, u64), String> {
    let call = word.as_deref().and_then(|w| w.strip_prefix("getrusage="));
    let arg = call.and_then(|a| a.parse().ok());
    arg.map(|arg| (libc::SYS_getrusage as u64, arg)).ok_or_else(|| "--section needs getrusage=WHO".to_owned())
}
