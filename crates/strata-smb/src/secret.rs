//! A password, and where one comes from.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use strata_proto::{named, named_as};

/// The variable that holds a password where neither the address nor a file does.
pub(crate) const VARIABLE: &str = "STRATA_SMB_PASSWORD";
/// The variable that names a credentials file where the address does not.
pub(crate) const FILE_VARIABLE: &str = "STRATA_SMB_CREDENTIALS";
/// Bits of a mode that let others than the owner in.
const OF_OTHERS: u32 = 0o077;
/// A credentials file holds three short lines.
const LONGEST_FILE: u64 = 65_536;

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
    /// It cannot be read, or others can read it too; named with its path, never with its contents.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let text = private(path).map_err(|error| {
            named(format_args!("cannot use the credentials file {}", path.display()), &error)
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

/// The text of a file that is ours and nobody else's to read: the opened one is asked, not its name.
fn private(path: &Path) -> io::Result<String> {
    let file = File::open(path)?;
    let about = file.metadata()?;
    let me = rustix::process::geteuid().as_raw();
    if !about.is_file() {
        return Err(named_as("it is not a regular file", libc::EINVAL));
    }
    if about.uid() != me {
        let why = format!("it belongs to the user {} and not to you ({me})", about.uid());
        return Err(named_as(why, libc::EACCES));
    }
    if about.mode() & OF_OTHERS != 0 {
        let mode = about.mode() & 0o777;
        let why = format!("other users may read it (mode {mode:04o}); chmod 600 {}", path.display());
        return Err(named_as(why, libc::EACCES));
    }
    let mut text = String::new();
    file.take(LONGEST_FILE).read_to_string(&mut text)?;
    Ok(text)
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
    fn a_credentials_file_is_read_by_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("credentials");
        std::fs::write(&path, "password=geheim\n").expect("a file");
        for (mode, fits) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false), (0o666, false)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("a mode");
            let found = Credentials::read(&path);
            assert_eq!(found.is_ok(), fits, "{mode:o}");
            if let Err(error) = found {
                assert!(error.to_string().contains("chmod 600"), "{error}");
            }
        }
        assert!(Credentials::read(folder.path()).is_err());
    }

    #[test]
    fn a_password_is_never_shown() {
        assert_eq!(format!("{:?}", Some(Password::new("geheim".into()))), "Some(***)");
    }
}
