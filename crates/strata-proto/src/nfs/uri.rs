//! `nfs://` addresses.

use rustix::process::{getegid, geteuid};

use crate::address::{self, Parts, Protocol, decode, host_and_port, port, unsupported};
use crate::rpc::Cred;

/// A file on a server: `nfs://host[:port]/export/path[?version=3&connections=N&uid=N&gid=N&mountport=N]`.
///
/// With a port the portmapper is not asked for NFS, with `mountport` not for MOUNT.
pub type Uri = address::Uri<Named>;

/// What an address says of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The path from the server's root.
    pub path: String,
    /// The port of MOUNT, if the address says.
    pub(super) mount_port: Option<u16>,
    /// Who the server is told is asking; unless the address says, this process's user and group.
    pub(super) cred: Cred,
}

impl Named {
    /// The names on the way to the file; the last one is its own.
    pub(super) fn names(&self) -> Vec<&str> {
        self.path.split('/').filter(|name| !name.is_empty()).collect()
    }
}

impl Protocol for Named {
    const NAME: &'static str = "NFS";
    const FORM: &'static str = "nfs://host/export/path/file";
    const PORT: u16 = 2049;

    fn read(parts: &Parts<'_>) -> Result<((String, Option<u16>), Self), String> {
        let (server, path) = parts.of("nfs", "the path of the file is missing")?;
        let place = host_and_port(server)?;
        let path = format!("/{}", decode(path)?);
        if path.ends_with('/') || path.split('/').any(|name| matches!(name, "." | "..") || name.len() > 255) {
            return Err("its path does not lead straight to a file".into());
        }
        let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
        let mut named = Self { path, mount_port: None, cred: Cred { uid, gid } };
        let number = |value: &str| value.parse().map_err(|_| format!("{value:?} is not a number"));
        for &(name, value) in &parts.options {
            match (name, value) {
                ("version", "3") => {}
                ("version", other) => return Err(format!("version {other} is not supported, only 3")),
                ("uid", value) => named.cred.uid = number(value)?,
                ("gid", value) => named.cred.gid = number(value)?,
                ("mountport", value) => named.mount_port = Some(port(value)?),
                _ => return unsupported(name),
            }
        }
        Ok((place, named))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_as_they_are_written() {
        let uri: Uri = "nfs://[::1]:2050/share/a%20b?version=3&connections=4&uid=7&gid=8&mountport=9"
            .parse()
            .expect("one");
        assert_eq!(
            (uri.place.host.as_str(), uri.place.port, uri.what.mount_port),
            ("::1", Some(2050), Some(9))
        );
        assert_eq!((uri.connections, uri.what.cred), (Some(4), Cred { uid: 7, gid: 8 }));
        assert_eq!(uri.what.names(), ["share", "a b"]);
        let plain: Uri = "nfs://h/f".parse().expect("one");
        assert_eq!((plain.place.port, plain.what.mount_port, plain.connections), (None, None, None));
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
