//! `nbd://` and `nbd+unix://` addresses.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

use crate::address::{self, decode, host_and_port};
use crate::named::named_as;
use crate::nbd::codec::MAX_NAME;

/// The port of NBD servers.
const PORT: u16 = 10_809;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Over TCP.
    Tcp {
        /// Name or address, IPv6 without brackets.
        host: String,
        /// Port.
        port: u16,
    },
    /// Over a unix socket.
    Unix(PathBuf),
}

/// An export of a server: `nbd://host[:port][/export][?connections=N][&replies=structured]` or
/// `nbd+unix:///[export]?socket=/path[&connections=N][&replies=structured]`. Names are percent-encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uri {
    /// Where the server listens.
    pub address: Address,
    /// The export's name; empty for the default one.
    pub export: String,
    /// Connections wished for, if the address says.
    pub connections: Option<u32>,
    /// Whether a queue asks for structured replies. They can answer a read with "a hole" instead of its data, and take
    /// a server three messages for a read where a simple one takes two.
    pub structured: bool,
    /// The network namespace it is dialled from; `None`: the caller's own.
    pub netns: Option<PathBuf>,
    text: String,
}

impl Uri {
    /// The same export, dialled from the network namespace at `path`.
    #[must_use]
    pub fn from_namespace(mut self, path: Option<PathBuf>) -> Self {
        self.netns = path;
        self
    }
}

impl fmt::Display for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Uri {
    type Err = io::Error;

    fn from_str(text: &str) -> io::Result<Self> {
        parse(text).map_err(|why| {
            let help = "write nbd://host[:port][/export] or nbd+unix:///[export]?socket=/path";
            named_as(format_args!("NBD address {text:?}: {why}; {help}"), libc::EINVAL)
        })
    }
}

fn parse(text: &str) -> Result<Uri, String> {
    let (scheme, rest) = text.split_once("://").ok_or("it has no scheme")?;
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (host, path) = place.split_once('/').unwrap_or((place, ""));
    let export = decode(path)?;
    if export.len() > MAX_NAME {
        return Err(format!("the export's name is longer than {MAX_NAME} bytes"));
    }
    let (mut socket, mut connections, mut structured) = (None, None, false);
    for (name, value) in address::query(query)? {
        match name {
            "socket" => socket = Some(decode(value)?),
            "connections" => connections = Some(address::connections(value)?),
            "replies" => {
                structured = match value {
                    "structured" => true,
                    "simple" => false,
                    other => return Err(format!("replies={other} is neither simple nor structured")),
                }
            }
            _ => return Err(format!("{name:?} is not supported")),
        }
    }
    let address = match (scheme, socket) {
        ("nbd", None) => tcp(host)?,
        ("nbd+unix", Some(socket)) if host.is_empty() => Address::Unix(PathBuf::from(socket)),
        ("nbd", Some(_)) => return Err("socket= needs nbd+unix://".into()),
        ("nbd+unix", _) => return Err("it needs ?socket=/path and no host".into()),
        ("nbds" | "nbds+unix", _) => return Err("TLS is not supported".into()),
        _ => return Err(format!("the scheme {scheme:?} is not NBD")),
    };
    Ok(Uri { address, export, connections, structured, netns: None, text: text.into() })
}

fn tcp(host: &str) -> Result<Address, String> {
    let (host, port) = host_and_port(host)?;
    Ok(Address::Tcp { host, port: port.unwrap_or(PORT) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_as_they_are_written() {
        let tcp = |host: &str, port| Address::Tcp { host: host.into(), port };
        for (text, address, export, connections) in [
            ("nbd://localhost", tcp("localhost", 10_809), "", None),
            ("nbd://10.0.0.1:77/disk%201", tcp("10.0.0.1", 77), "disk 1", None),
            ("nbd://[::1]:5/a?connections=4", tcp("::1", 5), "a", Some(4)),
            ("nbd://[fe80::1]", tcp("fe80::1", 10_809), "", None),
            ("nbd+unix:///e?socket=/run/a%3Fb", Address::Unix("/run/a?b".into()), "e", None),
            ("nbd+unix://?socket=x&connections=2", Address::Unix("x".into()), "", Some(2)),
        ] {
            let uri: Uri = text.parse().expect(text);
            assert_eq!((uri.address, uri.export.as_str(), uri.connections), (address, export, connections));
        }
    }

    #[test]
    fn replies_are_simple_unless_asked_for() {
        for (text, structured) in [
            ("nbd://a", false),
            ("nbd://a?replies=simple", false),
            ("nbd+unix:///?replies=structured&socket=x", true),
        ] {
            assert_eq!(text.parse::<Uri>().expect(text).structured, structured, "{text}");
        }
    }

    #[test]
    fn refusals_say_what_to_write() {
        for text in [
            "",
            "localhost:1",
            "http://a",
            "nbds://a",
            "nbd://",
            "nbd://a:0",
            "nbd://a:99999",
            "nbd://[::1",
            "nbd://a?socket=/x",
            "nbd+unix:///e",
            "nbd+unix://host/e?socket=/x",
            "nbd://a?connections=0",
            "nbd://a?colour=red",
            "nbd://a?replies=short",
            "nbd://a/%zz",
        ] {
            let error = text.parse::<Uri>().expect_err(text);
            assert!(error.to_string().contains("write nbd://"), "{error}");
            assert_eq!(crate::errno(&error), libc::EINVAL);
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in "(nbd|nbd\\+unix)://\\PC{0,60}") {
            let _either = text.parse::<Uri>();
        }
    }
}
