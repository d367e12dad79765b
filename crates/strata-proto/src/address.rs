//! Addresses: what those of all protocols have in common, and how it is read.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use strata_io::bounds::CONNECTIONS_MOST;

use crate::line::Line;
use crate::named::{named, named_as};

/// An address: `scheme://host[:port][/path][?connections=N&…]`. Names in it are percent-encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uri<T> {
    /// Where the server is.
    pub place: Place,
    /// Connections wished for, if the address says.
    pub connections: Option<u32>,
    /// What the rest of it says, in the protocol's own words.
    pub what: T,
    text: String,
}

/// A host, and from where it is dialled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Name or address, IPv6 without brackets.
    pub host: String,
    /// The port, if the address says.
    pub port: Option<u16>,
    /// The network namespace it is dialled from; `None`: the caller's own.
    pub netns: Option<PathBuf>,
}

/// What an address says in its protocol's own way.
pub trait Protocol: Sized {
    /// What it is called in errors.
    const NAME: &'static str;
    /// How an address is written.
    const FORM: &'static str;
    /// The port of its servers.
    const PORT: u16;

    /// The server, as [`host_and_port`] reads it, and the rest.
    ///
    /// # Errors
    /// What is wrong, without what may be secret.
    fn read(parts: &Parts<'_>) -> Result<((String, Option<u16>), Self), String>;

    /// The address without what is secret.
    fn shown(text: &str) -> String {
        text.into()
    }
}

/// An address taken apart.
#[derive(Debug)]
pub struct Parts<'a> {
    /// What stands before `://`.
    pub scheme: &'a str,
    /// What stands before the path.
    pub server: &'a str,
    /// What stands behind the first slash, if there is one; still encoded.
    pub path: Option<&'a str>,
    /// What stands behind the question mark, but for `connections`; still encoded.
    pub options: Vec<(&'a str, &'a str)>,
}

impl<'a> Parts<'a> {
    /// The server and the path, where the scheme is this one alone; `missing` says what a path is for.
    ///
    /// # Errors
    /// The scheme is another one, or there is no path.
    pub fn of(&self, scheme: &str, missing: &str) -> Result<(&'a str, &'a str), String> {
        if self.scheme != scheme {
            return Err(format!("the scheme is not {scheme}://"));
        }
        Ok((self.server, self.path.ok_or(missing)?))
    }
}

/// What is said of an option that a protocol does not know. Its value may be a secret: only the key is told.
pub fn unsupported<T>(key: &str) -> Result<T, String> {
    Err(format!("the option {key:?} is not supported"))
}

impl<T: Protocol> Uri<T> {
    /// The same, dialled from the network namespace at `path`.
    #[must_use]
    pub fn from_namespace(mut self, path: Option<PathBuf>) -> Self {
        self.place.netns = path;
        self
    }

    /// Connect to it over TCP, as [`Line::dial`] does.
    ///
    /// # Errors
    /// As [`Line::dial`].
    pub fn dial(&self, patience: Duration) -> io::Result<Line> {
        self.dial_at(&self.place.host, patience)
    }

    /// As [`Self::dial`], at another host or address of the same server.
    ///
    /// # Errors
    /// As [`Line::dial`].
    pub fn dial_at(&self, host: &str, patience: Duration) -> io::Result<Line> {
        let Place { port, netns, .. } = &self.place;
        Line::dial(host, port.unwrap_or(T::PORT), netns.as_deref(), patience)
    }

    fn read(text: &str) -> Result<Self, String> {
        let (scheme, rest) = text.split_once("://").ok_or("it has no scheme")?;
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (server, path) =
            place.split_once('/').map_or((place, None), |(server, path)| (server, Some(path)));
        let (mut options, mut connections) = (Vec::new(), None);
        for item in query.split('&').filter(|item| !item.is_empty()) {
            match item.split_once('=').ok_or(format!("{item:?} has no value"))? {
                ("connections", value) => {
                    let count = value.parse().ok().filter(|count| (1..=CONNECTIONS_MOST).contains(count));
                    connections = Some(count.ok_or(format!("connections must be 1 to {CONNECTIONS_MOST}"))?);
                }
                option => options.push(option),
            }
        }
        let ((host, port), what) = T::read(&Parts { scheme, server, path, options })?;
        Ok(Self { place: Place { host, port, netns: None }, connections, what, text: T::shown(text) })
    }
}

impl<T> Uri<T> {
    /// An error of our own making that names the address.
    #[must_use]
    pub fn error(&self, why: impl fmt::Display, errno: i32) -> io::Error {
        named_as(format_args!("{self}: {why}"), errno)
    }

    /// `error`, with the address and `what` was done before it.
    #[must_use]
    pub fn explain(&self, what: impl fmt::Display, error: &io::Error) -> io::Error {
        named(format_args!("{self}: {what}"), error)
    }
}

impl<T> fmt::Display for Uri<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<T: Protocol> FromStr for Uri<T> {
    type Err = io::Error;

    fn from_str(text: &str) -> io::Result<Self> {
        Self::read(text).map_err(|why| {
            let (name, shown, form) = (T::NAME, T::shown(text), T::FORM);
            named_as(format_args!("{name} address {shown:?}: {why}; write {form}"), libc::EINVAL)
        })
    }
}

/// Host (IPv6 without brackets) and port, as they stand before the path.
///
/// # Errors
/// There is no host, or the port cannot be connected to.
pub fn host_and_port(text: &str) -> Result<(String, Option<u16>), String> {
    let (name, port) = if let Some(inside) = text.strip_prefix('[') {
        let (name, after) = inside.split_once(']').ok_or("the bracket of the address is not closed")?;
        (name, if after.is_empty() { None } else { Some(after.strip_prefix(':').ok_or("bad port")?) })
    } else {
        text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port)))
    };
    if name.is_empty() {
        return Err("it has no host".into());
    }
    Ok((name.into(), port.map(self::port).transpose()?))
}

/// A port that can be connected to.
///
/// # Errors
/// It is none.
pub fn port(text: &str) -> Result<u16, String> {
    text.parse().ok().filter(|port| *port > 0).ok_or(format!("{text:?} is not a port"))
}

/// Undo percent-encoding.
///
/// # Errors
/// What is encoded is no text. It is not shown: it may be a part of a password.
pub fn decode(text: &str) -> Result<String, String> {
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
            _ => return Err("it has a % without two hexadecimal digits".into()),
        }
    }
    String::from_utf8(out).map_err(|_| "it is not UTF-8".into())
}
