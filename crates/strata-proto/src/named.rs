//! I/O errors that name where and why, and keep their errno.

use std::fmt;
use std::io;

/// An error of the system with the sentence that explains it.
#[derive(Debug)]
struct Named {
    text: String,
    errno: i32,
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Named {}

/// `error` with `text` before its own: "`text`: `error`". Its kind and errno stay.
pub(crate) fn named(text: impl fmt::Display, error: &io::Error) -> io::Error {
    let errno = errno(error);
    let kind = error.kind();
    io::Error::new(kind, Named { text: format!("{text}: {error}"), errno })
}

/// An error of this crate's own making: `text`, reported as `errno`.
pub(crate) fn named_as(text: impl fmt::Display, errno: i32) -> io::Error {
    let kind = io::Error::from_raw_os_error(errno).kind();
    io::Error::new(kind, Named { text: text.to_string(), errno })
}

/// The errno that `error` stands for: its own, or the nearest one (`EIO` if there is none).
#[must_use]
pub fn errno(error: &io::Error) -> i32 {
    if let Some(errno) = error.raw_os_error() {
        return errno;
    }
    if let Some(named) = error.get_ref().and_then(|inner| inner.downcast_ref::<Named>()) {
        return named.errno;
    }
    match error.kind() {
        io::ErrorKind::InvalidInput => libc::EINVAL,
        io::ErrorKind::InvalidData => libc::EPROTO,
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => libc::ETIMEDOUT,
        io::ErrorKind::UnexpectedEof => libc::ECONNRESET,
        io::ErrorKind::NotConnected => libc::ENOTCONN,
        io::ErrorKind::Unsupported => libc::EOPNOTSUPP,
        io::ErrorKind::AddrNotAvailable => libc::EADDRNOTAVAIL,
        _ => libc::EIO,
    }
}

/// A number that is another one each time, for names that must not begin alike. Not for secrets.
pub(crate) fn any_number() -> u32 {
    use std::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_errno_survives_being_explained_twice() {
        let inner = io::Error::from_raw_os_error(libc::ENOSPC);
        let outer = named("writing b", &named("writing a", &inner));
        assert_eq!(errno(&outer), libc::ENOSPC);
        assert!(outer.to_string().starts_with("writing b: writing a: "));
    }
}
