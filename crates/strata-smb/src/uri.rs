//! `smb://` addresses.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

use strata_io::bounds::CONNECTIONS_MOST;
use strata_proto::named_as;

use crate::secret::{Credentials, FILE_VARIABLE, Password, VARIABLE};

/// The port of SMB servers.
const PORT: u16 = 445;
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
/// Options are `connections=N`, `multichannel=on|off`, `sign=on|off|required`, `encrypt=on|off` and
/// `credentials=/path`. Names are percent-encoded. Shown without its password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uri {
    /// Name or address, IPv6 without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Who logs on, if the address says.
    pub user: Option<String>,
    /// Domain or workgroup of the user, if the address says.
    pub domain: Option<String>,
    /// The share.
    pub share: String,
    /// The file below it, with slashes.
    pub path: String,
    /// Connections wished for, if the address says.
    pub connections: Option<u32>,
    /// All connections of a queue under one session (channels); else each with a session of its own.
    pub multichannel: bool,
    /// Signing.
    pub sign: Sign,
    /// Encryption.
    pub encrypt: Encrypt,
    /// A file with user and password.
    pub credentials: Option<PathBuf>,
    /// The network namespace it is dialled from; `None`: the caller's own.
    pub netns: Option<PathBuf>,
    password: Option<Password>,
    text: String,
}

/// Who logs on.
pub(crate) struct Login {
    pub(crate) user: String,
    pub(crate) domain: String,
    pub(crate) password: Password,
}

impl Uri {
    /// The same with a password from elsewhere, if there is one.
    #[must_use]
    pub fn with_password(mut self, password: Option<Password>) -> Self {
        self.password = password.or(self.password);
        self
    }

    /// The same file, dialled from the network namespace at `path`.
    #[must_use]
    pub fn from_namespace(mut self, path: Option<PathBuf>) -> Self {
        self.netns = path;
        self
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

impl fmt::Display for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Uri {
    type Err = io::Error;

    fn from_str(text: &str) -> io::Result<Self> {
        parse(text).map_err(|why| {
            let shown = shown(text);
            let help = "write smb://user@host[:port]/share/path/to/file";
            named_as(format_args!("SMB address {shown:?}: {why}; {help}"), libc::EINVAL)
        })
    }
}

/// The address without its password.
fn shown(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.into() };
    let place = rest.split(['/', '?']).next().unwrap_or(rest);
    let Some((who, _)) = place.rsplit_once('@') else { return text.into() };
    let user = who.split(':').next().unwrap_or(who);
    format!("{scheme}://{user}{}", &rest[who.len()..])
}

fn parse(text: &str) -> Result<Uri, String> {
    let (scheme, rest) = text.split_once("://").ok_or("it has no scheme")?;
    if scheme != "smb" {
        return Err(format!("the scheme {scheme:?} is not SMB"));
    }
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (server, below) = place.split_once('/').unwrap_or((place, ""));
    let (who, server) = server.rsplit_once('@').map_or((None, server), |(who, server)| (Some(who), server));
    let (host, port) = host_and_port(server)?;
    let (user, password) = match who.map(|who| who.split_once(':').map_or((who, None), |(u, p)| (u, Some(p))))
    {
        None => (None, None),
        Some((user, password)) => (Some(decode(user)?), password.map(decode).transpose()?.map(Password::new)),
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
    let mut uri = Uri {
        host,
        port,
        user,
        domain,
        share: share.to_owned(),
        path: path.to_owned(),
        connections: None,
        multichannel: false,
        sign: Sign::AsServer,
        encrypt: Encrypt::AsServer,
        credentials: None,
        netns: None,
        password,
        text: shown(text),
    };
    for item in query.split('&').filter(|item| !item.is_empty()) {
        option(&mut uri, item)?;
    }
    Ok(uri)
}

fn option(uri: &mut Uri, item: &str) -> Result<(), String> {
    match item.split_once('=') {
        Some(("connections", value)) => {
            let count = value.parse().ok().filter(|count| (1..=CONNECTIONS_MOST).contains(count));
            uri.connections = Some(count.ok_or(format!("connections must be 1 to {CONNECTIONS_MOST}"))?);
        }
        Some(("multichannel", "on")) => uri.multichannel = true,
        Some(("multichannel", "off")) => uri.multichannel = false,
        Some(("sign", "on")) => uri.sign = Sign::On,
        Some(("sign", "off")) => uri.sign = Sign::Off,
        Some(("sign", "required")) => uri.sign = Sign::Required,
        Some(("encrypt", "on")) => uri.encrypt = Encrypt::On,
        Some(("encrypt", "off")) => uri.encrypt = Encrypt::Off,
        Some(("credentials", value)) => uri.credentials = Some(PathBuf::from(decode(value)?)),
        Some(("multichannel" | "encrypt", _)) => return Err(format!("{item:?}: write on or off")),
        Some(("sign", _)) => return Err(format!("{item:?}: write on, off or required")),
        // The value may be a secret: only the key is told.
        Some((key, _)) => return Err(format!("the option {key:?} is not supported")),
        None => return Err(format!("{item:?} is not supported")),
    }
    Ok(())
}

fn host_and_port(server: &str) -> Result<(String, u16), String> {
    let (name, port) = if let Some(inside) = server.strip_prefix('[') {
        let (name, after) = inside.split_once(']').ok_or("the bracket of the address is not closed")?;
        (name, if after.is_empty() { None } else { Some(after.strip_prefix(':').ok_or("bad port")?) })
    } else {
        server.split_once(':').map_or((server, None), |(name, port)| (name, Some(port)))
    };
    if name.is_empty() {
        return Err("it has no host".into());
    }
    let port = match port {
        None => PORT,
        Some(port) => port.parse().ok().filter(|port| *port > 0).ok_or("its port is invalid")?,
    };
    Ok((name.into(), port))
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
            // Not shown: it may be a part of the password.
            _ => return Err("it has a % without two hexadecimal digits".into()),
        }
    }
    String::from_utf8(out).map_err(|_| "it is not UTF-8".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_address_with_everything() {
        let uri: Uri = "smb://LAB;ann:p%40ss@[::1]:4450/my%20share/a/b.dat?connections=3&multichannel=on&sign=required&encrypt=on&credentials=/c%3Fd"
            .parse()
            .expect("an address");
        assert_eq!((uri.host.as_str(), uri.port), ("::1", 4450));
        assert_eq!((uri.user.as_deref(), uri.domain.as_deref()), (Some("ann"), Some("LAB")));
        assert_eq!((uri.share.as_str(), uri.path.as_str()), ("my share", "a/b.dat"));
        assert_eq!((uri.connections, uri.multichannel), (Some(3), true));
        assert_eq!((uri.sign, uri.encrypt), (Sign::Required, Encrypt::On));
        assert_eq!(uri.credentials, Some(PathBuf::from("/c?d")));
        assert_eq!(uri.password.as_ref().map(Password::reveal), Some("p@ss"));
        assert!(!format!("{uri} {uri:?}").contains("p%40ss"));
        assert!(uri.to_string().starts_with("smb://LAB;ann@[::1]:4450/my%20share/a/b.dat?"));
    }

    #[test]
    fn the_least_there_may_be() {
        let uri: Uri = "smb://nas/data/x".parse().expect("an address");
        assert_eq!((uri.port, uri.user, uri.connections), (445, None, None));
        assert_eq!((uri.sign, uri.encrypt), (Sign::AsServer, Encrypt::AsServer));
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
