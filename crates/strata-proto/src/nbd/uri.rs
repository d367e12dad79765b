//! `nbd://` and `nbd+unix://` addresses.

use std::path::PathBuf;

use crate::address::{self, Parts, Protocol, decode, host_and_port, unsupported};
use crate::nbd::codec::MAX_NAME;

/// An export of a server: `nbd://host[:port][/export][?connections=N][&replies=structured]` or
/// `nbd+unix:///[export]?socket=/path[&connections=N][&replies=structured]`.
pub type Uri = address::Uri<Named>;

/// What an address says of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The unix socket the server listens at; without one it is dialled over TCP.
    pub socket: Option<PathBuf>,
    /// The export's name; empty for the default one.
    pub export: String,
    /// Whether a queue asks for structured replies. They can answer a read with "a hole" instead of its data, and take
    /// a server three messages for a read where a simple one takes two.
    pub structured: bool,
}

impl Protocol for Named {
    const NAME: &'static str = "NBD";
    const FORM: &'static str = "nbd://host[:port][/export] or nbd+unix:///[export]?socket=/path";
    const PORT: u16 = 10_809;

    fn read(parts: &Parts<'_>) -> Result<((String, Option<u16>), Self), String> {
        let export = decode(parts.path.unwrap_or_default())?;
        if export.len() > MAX_NAME {
            return Err(format!("the export's name is longer than {MAX_NAME} bytes"));
        }
        let (mut socket, mut structured) = (None, false);
        for &(name, value) in &parts.options {
            match (name, value) {
                ("socket", path) => socket = Some(PathBuf::from(decode(path)?)),
                ("replies", "structured") => structured = true,
                ("replies", "simple") => structured = false,
                ("replies", other) => {
                    return Err(format!("replies={other} is neither simple nor structured"));
                }
                _ => return unsupported(name),
            }
        }
        let place = match (parts.scheme, &socket) {
            ("nbd", None) => host_and_port(parts.server)?,
            ("nbd+unix", Some(_)) if parts.server.is_empty() => (String::new(), None),
            ("nbd", Some(_)) => return Err("socket= needs nbd+unix://".into()),
            ("nbd+unix", _) => return Err("it needs ?socket=/path and no host".into()),
            ("nbds" | "nbds+unix", _) => return Err("TLS is not supported".into()),
            (scheme, _) => return Err(format!("the scheme {scheme:?} is not NBD")),
        };
        Ok((place, Self { socket, export, structured }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_as_they_are_written() {
        let tcp = |host: &str, port| (host.to_owned(), port, None);
        let unix = |path: &str| (String::new(), None, Some(path.into()));
        for (text, place, export, connections) in [
            ("nbd://localhost", tcp("localhost", None), "", None),
            ("nbd://10.0.0.1:77/disk%201", tcp("10.0.0.1", Some(77)), "disk 1", None),
            ("nbd://[::1]:5/a?connections=4", tcp("::1", Some(5)), "a", Some(4)),
            ("nbd://[fe80::1]", tcp("fe80::1", None), "", None),
            ("nbd+unix:///e?socket=/run/a%3Fb", unix("/run/a?b"), "e", None),
            ("nbd+unix://?socket=x&connections=2", unix("x"), "", Some(2)),
        ] {
            let uri: Uri = text.parse().expect(text);
            assert_eq!((uri.place.host, uri.place.port, uri.what.socket), place);
            assert_eq!((uri.what.export.as_str(), uri.connections), (export, connections));
        }
    }

    #[test]
    fn replies_are_simple_unless_asked_for() {
        for (text, structured) in [
            ("nbd://a", false),
            ("nbd://a?replies=simple", false),
            ("nbd+unix:///?replies=structured&socket=x", true),
        ] {
            assert_eq!(text.parse::<Uri>().expect(text).what.structured, structured, "{text}");
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
