//! `nfs://` addresses.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

use crate::address::{self, Place, decode, host_and_port};
use crate::named::named_as;
use crate::rpc::Cred;

/// A file on a server:
/// `nfs://host[:port]/export/path[?version=3&connections=N&uid=N&gid=N&mountport=N]`. Names are percent-encoded.
///
/// With a port the portmapper is not asked for NFS, with `mountport` not for MOUNT. `uid` and `gid` are who the server
/// is told is asking; without them this process's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uri {
    /// Connections wished for, if the address says.
    pub connections: Option<u32>,
    /// The path from the server's root.
    pub path: String,
    pub(super) place: Place,
    pub(super) port: Option<u16>,
    pub(super) mount_port: Option<u16>,
    pub(super) cred: Cred,
    text: String,
}

impl Uri {
    /// The same file, dialled from the network namespace at `path`.
    #[must_use]
    pub fn from_namespace(mut self, path: Option<PathBuf>) -> Self {
        self.place.netns = path;
        self
    }

    /// The names on the way to the file; the last one is its own.
    pub(super) fn names(&self) -> Vec<&str> {
        self.path.split('/').filter(|name| !name.is_empty()).collect()
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
            let help = "write nfs://host/export/path/file";
            named_as(format_args!("NFS address {text:?}: {why}; {help}"), libc::EINVAL)
        })
    }
}

fn parse(text: &str) -> Result<Uri, String> {
    let rest = text.strip_prefix("nfs://").ok_or("the scheme is not nfs://")?;
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (host, path) = place.split_once('/').ok_or("the path of the file is missing")?;
    let (host, port) = host_and_port(host)?;
    let path = format!("/{}", decode(path)?);
    if path.ends_with('/') || path.split('/').any(|name| matches!(name, "." | "..") || name.len() > 255) {
        return Err("its path does not lead straight to a file".into());
    }
    // SAFETY: these two only return numbers.
    let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
    let place = Place { host, netns: None };
    let cred = Cred { uid, gid };
    let mut uri = Uri { connections: None, path, place, port, mount_port: None, cred, text: text.into() };
    let number = |value: &str| value.parse().map_err(|_| format!("{value:?} is not a number"));
    for (name, value) in address::query(query)? {
        match (name, value) {
            ("version", "3") => {}
            ("version", other) => return Err(format!("version {other} is not supported, only 3")),
            ("connections", value) => uri.connections = Some(address::connections(value)?),
            ("uid", value) => uri.cred.uid = number(value)?,
            ("gid", value) => uri.cred.gid = number(value)?,
            ("mountport", value) => uri.mount_port = Some(address::port(value)?),
            _ => return Err(format!("{name:?} is not supported")),
        }
    }
    Ok(uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_as_they_are_written() {
        let uri: Uri = "nfs://[::1]:2050/share/a%20b?version=3&connections=4&uid=7&gid=8&mountport=9"
            .parse()
            .expect("one");
        assert_eq!((uri.place.host.as_str(), uri.port, uri.mount_port), ("::1", Some(2050), Some(9)));
        assert_eq!((uri.connections, uri.cred), (Some(4), Cred { uid: 7, gid: 8 }));
        assert_eq!(uri.names(), ["share", "a b"]);
        let plain: Uri = "nfs://h/f".parse().expect("one");
        assert_eq!((plain.port, plain.mount_port, plain.connections), (None, None, None));
    }

    #[test]
    fn refusals_say_what_to_write() {
        for text in [
            "nfs:/h/f",
            "nfs://h",
            "nfs://h/",
            "nfs://h/d/",
            "nfs://h/d/../f",
            "nfs:///f",
            "nfs://h/f?version=4",
            "nfs://h/f?connections=0",
            "nfs://h/f?uid=x",
            "nfs://h/f?mountport=0",
            "nfs://h/f?colour=red",
            "nfs://h/f?uid",
        ] {
            let error = text.parse::<Uri>().expect_err(text);
            assert!(error.to_string().contains("write nfs://"), "{error}");
            assert_eq!(crate::errno(&error), libc::EINVAL);
        }
    }
}
