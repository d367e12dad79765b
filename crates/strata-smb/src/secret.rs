//! A password, and where one comes from.

use std::fmt;
use std::io;
use std::path::Path;

use strata_proto::{named, named_as};

/// The variable that holds a password where neither the address nor a file does.
pub(crate) const VARIABLE: &str = "STRATA_SMB_PASSWORD";

/// A password. It shows itself to nobody.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    /// Keep `text` as a password.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text)
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// What a credentials file says.
#[derive(Debug, Default)]
pub(crate) struct Credentials {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<Password>,
    pub(crate) domain: Option<String>,
}

impl Credentials {
    /// Read a file as mount.cifs does: lines `username=`, `password=`, `domain=`; others are ignored.
    ///
    /// # Errors
    /// It cannot be read; named with its path, never with its contents.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            named(format_args!("cannot read the credentials file {}", path.display()), &error)
        })?;
        Self::parse(&text).ok_or_else(|| {
            let text = "it has none of the lines username=, password=, domain=";
            named_as(format_args!("credentials file {}: {text}", path.display()), libc::EINVAL)
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let mut found = Self::default();
        let mut any = false;
        for line in text.lines() {
            let Some((key, value)) = line.split_once('=') else { continue };
            let value = value.trim_end_matches('\r').to_owned();
            let place = match key.trim() {
                "username" | "user" => &mut found.user,
                "domain" | "dom" | "workgroup" => &mut found.domain,
                "password" | "pass" => {
                    found.password = Some(Password(value));
                    any = true;
                    continue;
                }
                _ => continue,
            };
            *place = Some(value.trim().to_owned());
            any = true;
        }
        any.then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credentials_file_is_read_as_mount_does() {
        let found =
            Credentials::parse("# mine\nusername = ann\npassword= with=signs and spaces \ndomain=LAB\r\n")
                .expect("three lines");
        assert_eq!((found.user.as_deref(), found.domain.as_deref()), (Some("ann"), Some("LAB")));
        assert_eq!(found.password, Some(Password::new(" with=signs and spaces ".into())));
        assert!(Credentials::parse("nothing here").is_none());
    }

    #[test]
    fn a_password_is_never_shown() {
        assert_eq!(format!("{:?}", Some(Password::new("geheim".into()))), "Some(***)");
    }
}
