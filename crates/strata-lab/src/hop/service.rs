//! From a configuration to frames that pass, until a signal.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Deserialize;
use strata_proto::nbd::server::StopOnSignals;

use super::ctl::Ctl;
use super::direction::Direction;
use super::line::{Line, Params};
use super::packet::PacketSocket;

/// How often signals and the socket are looked at.
const LOOK: Duration = Duration::from_millis(10);

/// What a hop stands between.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// An interface of this network namespace.
    pub a: String,
    /// The other one.
    pub b: String,
    /// `key=value` words.
    #[serde(default)]
    pub model: String,
    /// Where its socket is made.
    pub ctl: PathBuf,
}

/// Pass frames between the interfaces until SIGTERM or SIGINT. Frames that still wait then are lost.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] for bad words; the system's error for an interface or the socket, with its name.
pub fn run(config: &Config) -> io::Result<()> {
    let mut params = Params::default()
        .with(&config.model)
        .map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))?;
    let tap = |name: &str| {
        PacketSocket::open(name)
            .map_err(|e| io::Error::new(e.kind(), format!("interface {name}: cannot tap it: {e}")))
    };
    let (a, b) = (tap(&config.a)?, tap(&config.b)?);
    let directions =
        [0, 1].map(|i| Direction::new(Line::new(params.directions[i].clone(), params.seed, i as u64)));
    let signals = StopOnSignals::install()?;
    let ctl = Ctl::listen(&config.ctl).map_err(|e| {
        io::Error::new(e.kind(), format!("{}: cannot listen there: {e}", config.ctl.display()))
    })?;
    let ended = AtomicBool::new(false);
    let mut began = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| directions[0].carry(&a, &b, &ended));
        scope.spawn(|| directions[1].carry(&b, &a, &ended));
        while !signals.asked() {
            ctl.serve(|line| {
                let refused = match apply(&params, line) {
                    Ok((changed, reset)) => {
                        install(&directions, &params, &changed);
                        params = changed;
                        if reset {
                            directions.iter().for_each(Direction::reset);
                            began = Instant::now();
                        }
                        None
                    }
                    Err(why) => Some(why),
                };
                serde_json::json!({
                    "pid": std::process::id(),
                    "model": params.words(),
                    "elapsed_ns": began.elapsed().as_nanos() as u64,
                    "ab": directions[0].truth(),
                    "ba": directions[1].truth(),
                    "refused": refused,
                })
            });
            std::thread::sleep(LOOK);
        }
        ended.store(true, Ordering::Relaxed);
    });
    Ok(())
}

/// The parameters after `line`, and whether counting begins anew.
fn apply(params: &Params, line: &str) -> Result<(Params, bool), String> {
    let (resets, words): (Vec<&str>, Vec<&str>) = line.split_whitespace().partition(|w| *w == "reset=1");
    Ok((params.with(&words.join(" "))?, !resets.is_empty()))
}

fn install(directions: &[Direction; 2], former: &Params, changed: &Params) {
    for (i, direction) in directions.iter().enumerate() {
        direction.with_line(|line| {
            if former.seed != changed.seed {
                line.reseed(changed.seed, i as u64);
            }
            line.set(changed.directions[i].clone());
        });
    }
}
