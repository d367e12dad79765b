//! What lies behind a network, asked in one way whatever is spoken there.
//!
//! A scheme is one module with one type, its [`Scheme`]. [`schemes!`] is the one list of them. The engine, the
//! verification and Python's door go from a [`Kind`] to the type by [`dispatch!`], so the load loop is compiled for each
//! queue and calls it directly.

mod facts;
mod scheme;

pub mod iscsi;
pub mod nbd;
pub mod nfs;
pub mod s3;
pub mod smb;

use std::io;

use strata_io::RunError;

pub use facts::{Facts, Need};
pub use scheme::{Address, Load, Place, Remote, Scheme};
pub use strata_proto::errno;
pub use strata_smb::Password;

/// The one list of schemes. Hands `module Type,` of each to the macro named in brackets, behind `(` what follows it `)`.
#[macro_export]
macro_rules! schemes {
    ([$($then:tt)+] $($with:tt)*) => {
        $($then)+! { ($($with)*)
            /// An export of an NBD server.
            nbd Nbd,
            /// A file on an SMB 3.1.1 share.
            smb Smb,
            /// A file on an NFS server, version 3.
            nfs Nfs,
            /// A logical unit of an iSCSI target.
            iscsi Iscsi,
            /// An object of an S3 server.
            s3 S3,
        }
    };
}

/// `dispatch!(kind, S => expression)`: the expression with `S` as the [`Scheme`] of `kind`.
#[macro_export]
macro_rules! dispatch {
    ($kind:expr, $scheme:ident => $body:expr) => {
        $crate::schemes! { [$crate::arms] $kind, $scheme => $body }
    };
}

/// The arms of [`dispatch!`].
#[doc(hidden)]
#[macro_export]
macro_rules! arms {
    (($kind:expr, $scheme:ident => $body:expr) $($(#[$doc:meta])* $module:ident $Scheme:ident,)*) => {
        match $kind {
            $($crate::Kind::$Scheme => {
                type $scheme = $crate::$module::$Scheme;
                $body
            })*
        }
    };
}

macro_rules! kinds {
    (() $($(#[$doc:meta])* $module:ident $Scheme:ident,)*) => {
        /// Which scheme it is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            $($(#[$doc])* $Scheme,)*
        }

        /// Every scheme.
        pub const KINDS: &[Kind] = &[$(Kind::$Scheme),*];
    };
}
schemes! { [kinds] }

impl Kind {
    /// The word by which jobs and addresses name it.
    #[must_use]
    pub fn name(self) -> &'static str {
        dispatch!(self, S => S::NAME)
    }

    /// That of an address. A variant of a scheme has its word behind a plus: `nbd+unix`.
    ///
    /// # Errors
    /// `EINVAL`: its scheme is none of ours.
    pub fn of(uri: &str) -> io::Result<Self> {
        let scheme = uri.split([':', '+']).next().unwrap_or_default();
        KINDS.iter().copied().find(|kind| kind.name() == scheme).ok_or_else(|| {
            let names: Vec<_> = KINDS.iter().map(|kind| kind.name()).collect();
            let text = format!("the scheme {scheme:?} is none of {}", names.join(", "));
            strata_proto::named_as(text, libc::EINVAL)
        })
    }
}

/// What a client says, as an error that the engine and the verification pass on.
#[must_use]
pub fn refused(error: io::Error) -> RunError {
    let source = io::Error::from_raw_os_error(errno(&error));
    RunError::Io(strata_io::Error { what: error.to_string(), path: None, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_tells_its_scheme() {
        for kind in KINDS {
            assert_eq!(Kind::of(&format!("{}://host/x", kind.name())).expect("known"), *kind);
        }
        assert_eq!(Kind::of("nbd+unix:///?socket=/s").expect("known"), Kind::Nbd);
        let error = Kind::of("http://somewhere").expect_err("unknown");
        assert_eq!((errno(&error), error.kind()), (libc::EINVAL, io::ErrorKind::InvalidInput));
        assert!(error.to_string().contains("nbd, smb, nfs, iscsi"), "{error}");
    }
}
