//! `iscsi://` addresses.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

use crate::address::{self, Place, decode, host_and_port};
use crate::named::named_as;

/// The port of iSCSI targets.
const PORT: u16 = 3260;
/// Who asks, unless the address says otherwise.
const INITIATOR: &str = "iqn.2026-11.invalid.strata:initiator";
/// Longest name of an initiator or target, in bytes (RFC 7143).
const MAX_NAME: usize = 223;

/// A logical unit: `iscsi://host[:port]/target-name/lun[?connections=N&initiator=NAME]`. Names are percent-encoded.
///
/// Each connection is a session of its own. `initiator` is the name by which the target knows who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uri {
    /// Connections wished for, if the address says.
    pub connections: Option<u32>,
    /// The target's name.
    pub target: String,
    /// The logical unit's number, below 2^14.
    pub lun: u16,
    pub(super) place: Place,
    pub(super) port: u16,
    pub(super) initiator: String,
    text: String,
}

impl Uri {
    /// The same unit, dialled from the network namespace at `path`.
    #[must_use]
    pub fn from_namespace(mut self, path: Option<PathBuf>) -> Self {
        self.place.netns = path;
        self
    }

    /// The unit as a PDU names it.
    pub(super) fn lun_bytes(&self) -> [u8; 8] {
        // Peripheral addressing below 256, flat space addressing above (SAM-5).
        let [high, low] = self.lun.to_be_bytes();
        [if high == 0 { 0 } else { 0x40 | high }, low, 0, 0, 0, 0, 0, 0]
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
            let help = "write iscsi://host[:port]/target-name/lun";
            named_as(format_args!("iSCSI address {text:?}: {why}; {help}"), libc::EINVAL)
        })
    }
}

fn parse(text: &str) -> Result<Uri, String> {
    let rest = text.strip_prefix("iscsi://").ok_or("the scheme is not iscsi://")?;
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (host, path) = place.split_once('/').ok_or("the target is missing")?;
    if host.contains('@') {
        return Err("names and passwords (CHAP) are not supported".into());
    }
    let (host, port) = host_and_port(host)?;
    let (target, lun) = path.split_once('/').ok_or("the logical unit is missing")?;
    let name = |text: &str| {
        let name = decode(text)?;
        let sound = !name.is_empty() && name.len() <= MAX_NAME && !name.contains(|c: char| c.is_control());
        if sound { Ok(name) } else { Err(format!("{text:?} is not a name")) }
    };
    let lun =
        lun.parse().ok().filter(|lun| *lun < 1 << 14).ok_or(format!("{lun:?} is not a logical unit"))?;
    let mut uri = Uri {
        connections: None,
        target: name(target)?,
        lun,
        place: Place { host, netns: None },
        port: port.unwrap_or(PORT),
        initiator: INITIATOR.into(),
        text: text.into(),
    };
    for (key, value) in address::query(query)? {
        match key {
            "connections" => uri.connections = Some(address::connections(value)?),
            "initiator" => uri.initiator = name(value)?,
            _ => return Err(format!("{key:?} is not supported")),
        }
    }
    Ok(uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_as_they_are_written() {
        let text = "iscsi://[::1]:3261/iqn.2026-01.example:disk%201/300?connections=2&initiator=iqn.x:me";
        let uri: Uri = text.parse().expect("one");
        assert_eq!((uri.place.host.as_str(), uri.port, uri.lun), ("::1", 3261, 300));
        assert_eq!((uri.target.as_str(), uri.initiator.as_str()), ("iqn.2026-01.example:disk 1", "iqn.x:me"));
        assert_eq!(uri.lun_bytes(), [0x41, 0x2C, 0, 0, 0, 0, 0, 0]);
        let plain: Uri = "iscsi://h/iqn.x:y/1".parse().expect("one");
        assert_eq!(
            (plain.port, plain.connections, plain.lun_bytes()[..2].to_vec()),
            (3260, None, vec![0, 1])
        );
    }

    #[test]
    fn refusals_say_what_to_write() {
        for text in [
            "iscsi:/h/t/1",
            "iscsi://h",
            "iscsi://h/t",
            "iscsi://h/t/",
            "iscsi://h//1",
            "iscsi:///t/1",
            "iscsi://h/t/1/2",
            "iscsi://h/t/16384",
            "iscsi://me%secret@h/t/1",
            "iscsi://h/t/1?connections=0",
            "iscsi://h/t/1?colour=red",
            "iscsi://h/t%0a/1",
        ] {
            let error = text.parse::<Uri>().expect_err(text);
            assert!(error.to_string().contains("write iscsi://"), "{error}");
            assert_eq!(crate::errno(&error), libc::EINVAL);
        }
    }
}
