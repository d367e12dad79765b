//! `iscsi://` addresses.

use crate::address::{self, Parts, Protocol, decode, host_and_port, unsupported};

/// Who asks, unless the address says otherwise.
const INITIATOR: &str = "iqn.2026-11.invalid.strata:initiator";
/// Longest name of an initiator or target, in bytes (RFC 7143).
const MAX_NAME: usize = 223;

/// A logical unit: `iscsi://host[:port]/target-name/lun[?connections=N&initiator=NAME]`.
///
/// Each connection is a session of its own.
pub type Uri = address::Uri<Named>;

/// What an address says of a logical unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The target's name.
    pub target: String,
    /// The logical unit's number, below 2^14.
    pub lun: u16,
    /// The name by which the target knows who asks.
    pub(super) initiator: String,
}

impl Named {
    /// The unit as a PDU names it.
    pub(super) fn lun_bytes(&self) -> [u8; 8] {
        // Peripheral addressing below 256, flat space addressing above (SAM-5).
        let [high, low] = self.lun.to_be_bytes();
        [if high == 0 { 0 } else { 0x40 | high }, low, 0, 0, 0, 0, 0, 0]
    }
}

impl Protocol for Named {
    const NAME: &'static str = "iSCSI";
    const FORM: &'static str = "iscsi://host[:port]/target-name/lun";
    const PORT: u16 = 3260;

    fn read(parts: &Parts<'_>) -> Result<((String, Option<u16>), Self), String> {
        let (server, path) = parts.of("iscsi", "the target is missing")?;
        if server.contains('@') {
            return Err("names and passwords (CHAP) are not supported".into());
        }
        let place = host_and_port(server)?;
        let (target, lun) = path.split_once('/').ok_or("the logical unit is missing")?;
        let lun =
            lun.parse().ok().filter(|lun| *lun < 1 << 14).ok_or(format!("{lun:?} is not a logical unit"))?;
        let mut named = Self { target: name(target)?, lun, initiator: INITIATOR.into() };
        for &(key, value) in &parts.options {
            match key {
                "initiator" => named.initiator = name(value)?,
                _ => return unsupported(key),
            }
        }
        Ok((place, named))
    }
}

fn name(text: &str) -> Result<String, String> {
    let name = decode(text)?;
    let sound = !name.is_empty() && name.len() <= MAX_NAME && !name.contains(|c: char| c.is_control());
    if sound { Ok(name) } else { Err(format!("{text:?} is not a name")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_as_they_are_written() {
        let text = "iscsi://[::1]:3261/iqn.2026-01.example:disk%201/300?connections=2&initiator=iqn.x:me";
        let uri: Uri = text.parse().expect("one");
        assert_eq!((uri.place.host.as_str(), uri.place.port, uri.what.lun), ("::1", Some(3261), 300));
        assert_eq!(
            (uri.what.target.as_str(), uri.what.initiator.as_str()),
            ("iqn.2026-01.example:disk 1", "iqn.x:me")
        );
        assert_eq!(uri.what.lun_bytes(), [0x41, 0x2C, 0, 0, 0, 0, 0, 0]);
        let plain: Uri = "iscsi://h/iqn.x:y/1".parse().expect("one");
        assert_eq!(
            (plain.place.port, plain.connections, plain.what.lun_bytes()[..2].to_vec()),
            (None, None, vec![0, 1])
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
