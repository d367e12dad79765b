//! `smb://` addresses.

use std::io;
use std::path::PathBuf;

use strata_proto::address::{self, Parts, Protocol, decode, host_and_port, unsupported};

use crate::secret::{Credentials, FILE_VARIABLE, Password, VARIABLE};

/// Who logs on where no user is named.
const NOBODY: &str = "guest";

/// Whether requests are signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sign {
    /// Only where the server requires it.
    #[default]
    AsServer,
    /// Never; a server that requires it is refused.
    Off,
    /// Every request, and every reply is checked.
    On,
    /// As `On`, and the server is told to refuse what is not signed.
    Required,
}

/// Whether messages are encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encrypt {
    /// Only where the server or the share requires it.
    #[default]
    AsServer,
    /// Never; a server or share that requires it is refused.
    Off,
    /// Every message after the logon.
    On,
}

/// A file on a share: `smb://[[domain;]user[:password]@]host[:port]/share/path/to/file[?options]`.
///
/// Options are `connections=N`, `multichannel=on|off`, `spread=on|off`, `sign=on|off|required`, `encrypt=on|off` and
/// `credentials=/path`. Shown without its password.
pub type Uri = address::Uri<Named>;

/// What an address says of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Who logs on, if the address says.
    pub user: Option<String>,
    /// Domain or workgroup of the user, if the address says.
    pub domain: Option<String>,
    /// The share.
    pub share: String,
    /// The file below it, with slashes.
    pub path: String,
    /// All connections of a queue under one session (channels); else each with a session of its own.
    pub multichannel: bool,
    /// Connections go to all cards that the server offers; else all to the address that is named.
    pub spread: bool,
    /// Signing.
    pub sign: Sign,
    /// Encryption.
    pub encrypt: Encrypt,
    /// A file with user and password.
    pub credentials: Option<PathBuf>,
    password: Option<Password>,
}

/// Who logs on.
pub(crate) struct Login {
    pub(crate) user: String,
    pub(crate) domain: String,
    pub(crate) password: Password,
}

impl Named {
    /// Take this password, if there is one, in place of the address's.
    pub fn set_password(&mut self, password: Option<Password>) {
        self.password = password.or(self.password.take());
    }

    /// Who logs on: the address first, then the credentials file (its own, else the environment's), then the password
    /// of the environment.
    ///
    /// # Errors
    /// The credentials file cannot be read.
    pub(crate) fn login(&self) -> io::Result<Login> {
        let elsewhere = || std::env::var_os(FILE_VARIABLE).map(PathBuf::from);
        let path = self.credentials.clone().or_else(elsewhere);
        let file = path.as_deref().map(Credentials::read).transpose()?.unwrap_or_default();
        let user = self.user.clone().or(file.user).unwrap_or_else(|| NOBODY.to_owned());
        let variable = || std::env::var(VARIABLE).ok().map(Password::new);
        let password = self.password.clone().or(file.password).or_else(variable);
        Ok(Login {
            user,
            domain: self.domain.clone().or(file.domain).unwrap_or_default(),
            password: password.unwrap_or(Password::new(String::new())),
        })
    }
}

impl Protocol for Named {
    const NAME: &'static str = "SMB";
    const FORM: &'static str = "smb://user@host[:port]/share/path/to/file";
    const PORT: u16 = 445;

    fn read(parts: &Parts<'_>) -> Result<((String, Option<u16>), Self), String> {
        let (server, below) = parts.of("smb", "the path of a file below the share is missing")?;
        let (who, server) =
            server.rsplit_once('@').map_or((None, server), |(who, server)| (Some(who), server));
        let place = host_and_port(server)?;
        let (user, password) =
            match who.map(|who| who.split_once(':').map_or((who, None), |(u, p)| (u, Some(p)))) {
                None => (None, None),
                Some((user, password)) => {
                    (Some(decode(user)?), password.map(decode).transpose()?.map(Password::new))
                }
            };
        let (domain, user) = match user.as_deref().map(|user| user.split_once(';')) {
            Some(Some((domain, user))) => (Some(domain.to_owned()), Some(user.to_owned())),
            _ => (None, user),
        };
        if user.as_deref() == Some("") {
            return Err("it has an @ and no user before it".into());
        }
        let below = decode(below)?;
        let (share, path) = below.split_once('/').unwrap_or((&below, ""));
        let path = path.trim_matches('/');
        if share.is_empty() || path.is_empty() {
            return Err("the path of a file below the share is missing".into());
        }
        if path.split('/').any(|part| part.is_empty() || part == "." || part == "..") {
            return Err("its path has an empty part, . or ..".into());
        }
        let mut named = Self {
            user,
            domain,
            share: share.to_owned(),
            path: path.to_owned(),
            multichannel: false,
            spread: true,
            sign: Sign::AsServer,
            encrypt: Encrypt::AsServer,
            credentials: None,
            password,
        };
        for &(key, value) in &parts.options {
            match (key, value) {
                ("multichannel", "on") => named.multichannel = true,
                ("multichannel", "off") => named.multichannel = false,
                ("spread", "on") => named.spread = true,
                ("spread", "off") => named.spread = false,
                ("sign", "on") => named.sign = Sign::On,
                ("sign", "off") => named.sign = Sign::Off,
                ("sign", "required") => named.sign = Sign::Required,
                ("encrypt", "on") => named.encrypt = Encrypt::On,
                ("encrypt", "off") => named.encrypt = Encrypt::Off,
                ("credentials", value) => named.credentials = Some(PathBuf::from(decode(value)?)),
                ("multichannel" | "spread" | "encrypt", _) => {
                    return Err(format!("{key}={value}: write on or off"));
                }
                ("sign", _) => return Err(format!("{key}={value}: write on, off or required")),
                _ => return unsupported(key),
            }
        }
        Ok((place, named))
    }

    fn shown(text: &str) -> String {
        let Some((scheme, rest)) = text.split_once("://") else { return text.into() };
        let place = rest.split(['/', '?']).next().unwrap_or(rest);
        let Some((who, _)) = place.rsplit_once('@') else { return text.into() };
        let user = who.split(':').next().unwrap_or(who);
        format!("{scheme}://{user}{}", &rest[who.len()..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_address_with_everything() {
        let uri: Uri = "smb://LAB;ann:p%40ss@[::1]:4450/my%20share/a/b.dat?connections=3&multichannel=on&spread=off&sign=required&encrypt=on&credentials=/c%3Fd"
            .parse()
            .expect("an address");
        assert_eq!((uri.place.host.as_str(), uri.place.port), ("::1", Some(4450)));
        assert_eq!((uri.what.user.as_deref(), uri.what.domain.as_deref()), (Some("ann"), Some("LAB")));
        assert_eq!((uri.what.share.as_str(), uri.what.path.as_str()), ("my share", "a/b.dat"));
        assert_eq!((uri.connections, uri.what.multichannel, uri.what.spread), (Some(3), true, false));
        assert_eq!((uri.what.sign, uri.what.encrypt), (Sign::Required, Encrypt::On));
        assert_eq!(uri.what.credentials, Some(PathBuf::from("/c?d")));
        assert_eq!(uri.what.password.as_ref().map(Password::reveal), Some("p@ss"));
        assert!(!format!("{uri} {uri:?}").contains("p%40ss"));
        assert!(uri.to_string().starts_with("smb://LAB;ann@[::1]:4450/my%20share/a/b.dat?"));
    }

    #[test]
    fn the_least_there_may_be() {
        let uri: Uri = "smb://nas/data/x".parse().expect("an address");
        assert_eq!(
            (uri.place.port, uri.what.user, uri.connections, uri.what.spread),
            (None, None, None, true)
        );
        assert_eq!((uri.what.sign, uri.what.encrypt), (Sign::AsServer, Encrypt::AsServer));
    }

    #[test]
    fn refusals_say_what_to_write_and_keep_the_password() {
        for text in [
            "",
            "nas/data/x",
            "nbd://u:geheim@nas/data/x",
            "smb://u:geheim@/data/x",
            "smb://:geheim@nas/data/x",
            "smb://u:geheim@nas",
            "smb://u:geheim@nas/data",
            "smb://u:geheim@nas/data/",
            "smb://u:geheim@nas/data/../x",
            "smb://u:geheim@nas:0/data/x",
            "smb://u:geheim@nas/data/x?connections=0",
            "smb://u:geheim@nas/data/x?sign=maybe",
            "smb://u:geheim@nas/data/x?spread=wide",
            "smb://u:geheim@nas/data/x?encrypt=required",
            "smb://nas/data/x?password=geheim",
            "smb://u:geheim%@nas/data/x",
        ] {
            let error = text.parse::<Uri>().expect_err(text);
            let said = error.to_string();
            assert!(said.contains("write smb://"), "{said}");
            assert!(!said.contains("geheim") || text.contains("password="), "{said}");
            assert_eq!(crate::errno(&error), libc::EINVAL);
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in "smb://\\PC{0,60}") {
            let _either = text.parse::<Uri>();
        }
    }
}
