//! `nbd://` and `nbd+unix://` addresses.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

use crate::codec::MAX_NAME;
use crate::named::named_as;

/// The port of NBD servers.
const PORT: u16 = 10_809;
/// Connections one queue may open.
const MAX_CONNECTIONS: u32 = 1024;

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

/// An export of a server: `nbd://host[:port][/export][?connections=N]` or
/// `nbd+unix:///[export]?socket=/path[&connections=N]`. Names are percent-encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uri {
    /// Where the server listens.
    pub address: Address,
    /// The export's name; empty for the default one.
    pub export: String,
    /// Connections wished for, if the address says.
    pub connections: Option<u32>,
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
    let (mut socket, mut connections) = (None, None);
    for item in query.split('&').filter(|item| !item.is_empty()) {
        match item.split_once('=') {
            Some(("socket", value)) => socket = Some(decode(value)?),
            Some(("connections", value)) => {
                let count = value.parse().ok().filter(|count| (1..=MAX_CONNECTIONS).contains(count));
                connections = Some(count.ok_or(format!("connections must be 1 to {MAX_CONNECTIONS}"))?);
            }
            _ => return Err(format!("{item:?} is not known here")),
        }
    }
    let address = match (scheme, socket) {
        ("nbd", None) => tcp(host)?,
        ("nbd+unix", Some(socket)) if host.is_empty() => Address::Unix(PathBuf::from(socket)),
        ("nbd", Some(_)) => return Err("socket= needs nbd+unix://".into()),
        ("nbd+unix", _) => return Err("it needs ?socket=/path and no host".into()),
        ("nbds" | "nbds+unix", _) => return Err("TLS is not spoken here".into()),
        _ => return Err(format!("the scheme {scheme:?} is not NBD")),
    };
    Ok(Uri { address, export, connections, netns: None, text: text.into() })
}

fn tcp(host: &str) -> Result<Address, String> {
    let (name, port) = if let Some(inside) = host.strip_prefix('[') {
        let (name, after) = inside.split_once(']').ok_or("the bracket of the address is not closed")?;
        (name, if after.is_empty() { None } else { Some(after.strip_prefix(':').ok_or("bad port")?) })
    } else {
        host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port)))
    };
    if name.is_empty() {
        return Err("it has no host".into());
    }
    let port = match port {
        None => PORT,
        Some(port) => port.parse().ok().filter(|port| *port > 0).ok_or(format!("{port:?} is no port"))?,
    };
    Ok(Address::Tcp { host: name.into(), port })
}

/// Undo percent-encoding.
fn decode(text: &str) -> Result<String, String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        match (digit(bytes.next()), digit(bytes.next())) {
            (Some(high), Some(low)) => out.push((high * 16 + low) as u8), // below 256
            _ => return Err(format!("{text:?} has a % without two hexadecimal digits")),
        }
    }
    String::from_utf8(out).map_err(|_| format!("{text:?} is no UTF-8"))
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
