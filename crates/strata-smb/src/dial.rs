//! From an address to an open file.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use smb2::msg::create::{CreateDisposition, CreateRequest, CreateResponse, ImpersonationLevel, ShareAccess};
use smb2::msg::tree_connect::{ShareType, TreeConnectRequest, TreeConnectRequestFlags, TreeConnectResponse};
use smb2::pack::Guid;
use smb2::types::flags::{FileAccessMask, FileAttributes, ShareFlags};
use smb2::types::{Command, OplockLevel};
use strata_proto::named_as;

use crate::frame::Handle;
use crate::guard::{Guard, Sealer, Signer};
use crate::login::{self, Session, Terms, log_on, negotiate};
use crate::talk::SetupConnection;
use crate::uri::{Encrypt, Sign, Uri};

/// Create options.
const WRITE_THROUGH: u32 = 0x02;
const NO_INTERMEDIATE_BUFFERING: u32 = 0x08;
const NON_DIRECTORY_FILE: u32 = 0x40;

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Reading alone.
    Read,
    /// Reading and writing.
    Write,
    /// Making it; it must not be there.
    Create,
    /// Removing it; nobody else may have it open.
    Remove,
}

/// How the handle shall be.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CreateOptions {
    /// Writes are on the medium when they are answered.
    pub(crate) through: bool,
    /// The server is asked to go past its cache.
    pub(crate) unbuffered: bool,
}

/// What both sides agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// The dialect: `SMB 3.1.1`, the only one spoken here.
    pub dialect: &'static str,
    /// How messages are signed: `AES-128-GMAC`, `AES-128-CMAC`, or `none` (also where they are encrypted).
    pub signing: &'static str,
    /// How messages are encrypted: `AES-128-GCM`, `AES-128-CCM` or `none`.
    pub encryption: &'static str,
    /// Longest read the server takes, in bytes.
    pub max_read: u32,
    /// Longest write the server takes, in bytes.
    pub max_write: u32,
    /// Whether the server offers several connections under one session.
    pub multichannel: bool,
    /// Credits in hand when the file was open: requests of 64 KiB that may be in flight on one connection.
    pub credits: u32,
}

/// A connection with an open file on it.
pub(crate) struct Dialled {
    pub(crate) talk: SetupConnection,
    pub(crate) handle: Handle,
    pub(crate) agreed: Agreed,
    /// Bytes of the file.
    pub(crate) size_bytes: u64,
    terms: Terms,
    session: Session,
    identity: Guid,
}

/// Connect, log on, and open the file of `uri`.
///
/// # Errors
/// Any of it is refused; named with the address and the next step.
pub(crate) fn dial(
    uri: &Uri,
    purpose: Purpose,
    options: CreateOptions,
    patience: Duration,
) -> io::Result<Dialled> {
    dial_at(uri, None, purpose, options, patience)
}

/// As [`dial`], at that address of the server, where one is given.
///
/// # Errors
/// As [`dial`].
pub(crate) fn dial_at(
    uri: &Uri,
    at: Option<IpAddr>,
    purpose: Purpose,
    options: CreateOptions,
    patience: Duration,
) -> io::Result<Dialled> {
    // What is wrong with the credentials file is said before a server is asked for anything.
    uri.what.login()?;
    let mut talk = SetupConnection::connect(uri, at, patience)?;
    let identity = login::identity()?;
    let terms = negotiate(&mut talk, identity)?;
    let session = log_on(&mut talk, &terms, None)?;
    let wanted = session.must_encrypt || uri.what.encrypt == Encrypt::On;
    talk.guard = guard(&talk, &terms, &session, wanted, 0)?;
    connect_tree(&mut talk, &terms, &session)?;
    let answer = create(&mut talk, purpose, options)?;
    let handle = Handle { session: talk.session, tree: talk.tree, file: answer.file_id };
    let agreed = agreed(&talk, &terms);
    Ok(Dialled { talk, handle, agreed, size_bytes: answer.end_of_file, terms, session, identity })
}

impl Dialled {
    /// One more connection under the same session, number `channel`, on which the same open file can be used; to that
    /// address of the server, where one is given.
    ///
    /// # Errors
    /// The server does not offer it, or refuses.
    pub(crate) fn join(
        &self,
        channel: u8,
        at: Option<IpAddr>,
        patience: Duration,
    ) -> io::Result<SetupConnection> {
        let uri = &self.talk.uri;
        if !self.terms.multichannel {
            let text = "the server offers no multichannel; leave multichannel=on out, or switch it on there";
            return Err(uri.error(text, libc::EOPNOTSUPP));
        }
        let mut talk = SetupConnection::connect(uri, at, patience)?;
        let terms = negotiate(&mut talk, self.identity)?;
        let bound = log_on(&mut talk, &terms, Some((self.handle.session, &self.session.signer)))?;
        talk.tree = self.handle.tree;
        talk.guard = match &self.talk.guard {
            Guard::Plain => Guard::Plain,
            // Each channel signs with a key of its own; encryption is the session's.
            Guard::Sign(_) => Guard::Sign(bound.signer),
            Guard::Seal(sealer) => Guard::Seal(Sealer { channel, sent: 0, ..sealer.clone() }),
        };
        Ok(talk)
    }
}

fn guard(
    talk: &SetupConnection,
    terms: &Terms,
    session: &Session,
    encrypt: bool,
    channel: u8,
) -> io::Result<Guard> {
    let uri = &talk.uri;
    if encrypt {
        if uri.what.encrypt == Encrypt::Off {
            let text = "the server requires encryption, but encrypt=off was given; leave it out";
            return Err(uri.error(text, libc::EOPNOTSUPP));
        }
        let (Some(cipher), false) = (terms.cipher, session.keyless) else {
            let text = "encryption is required, and there is no cipher in common or no key (guest)";
            return Err(uri.error(format_args!("{text}; log on as a user"), libc::EACCES));
        };
        let (encrypt, decrypt) = (session.keys.encryption_key.clone(), session.keys.decryption_key.clone());
        return Ok(Guard::Seal(Sealer { encrypt, decrypt, cipher, session: talk.session, channel, sent: 0 }));
    }
    let sign = match uri.what.sign {
        Sign::On | Sign::Required => true,
        Sign::AsServer => terms.signing_required,
        Sign::Off => false,
    };
    Ok(if sign && !session.keyless { Guard::Sign(session.signer.clone()) } else { Guard::Plain })
}

fn connect_tree(talk: &mut SetupConnection, terms: &Terms, session: &Session) -> io::Result<()> {
    // The name in a share's path is for servers with several; an IPv6 address stands there without its colons.
    let host = talk.uri.place.host.replace(':', "-");
    let request = TreeConnectRequest {
        flags: TreeConnectRequestFlags::default(),
        path: format!("\\\\{host}\\{}", talk.uri.what.share),
    };
    let what = format!("connecting to the share {}", talk.uri.what.share);
    // SMB 3.1.1 wants this one signed whatever follows, where there is a key.
    let signer: Option<Signer> = (talk.guard.is_plain() && !session.keyless).then(|| session.signer.clone());
    let reply = match &signer {
        Some(signer) => talk.ask_signed(&what, Command::TreeConnect, &request, signer, true)?,
        None => talk.ask(&what, Command::TreeConnect, &request, 0)?,
    };
    if !reply.header.status.is_success() {
        return Err(crate::status::refused(format_args!("{}: {what}", talk.uri), reply.header.status));
    }
    talk.tree = reply.header.tree_id.map_or(0, |tree| tree.0);
    let share: TreeConnectResponse = reply.body()?;
    if share.share_type != ShareType::Disk {
        let text = format!("{}: {} is not a file share; give another", talk.uri, talk.uri.what.share);
        return Err(named_as(text, libc::ENOTDIR));
    }
    if share.share_flags.contains(ShareFlags::ENCRYPT_DATA) && !matches!(talk.guard, Guard::Seal(_)) {
        talk.guard = guard(talk, terms, session, true, 0)?;
    }
    Ok(())
}

fn create(
    talk: &mut SetupConnection,
    purpose: Purpose,
    options: CreateOptions,
) -> io::Result<CreateResponse> {
    let read = FileAccessMask::FILE_READ_DATA | FileAccessMask::FILE_READ_ATTRIBUTES;
    let write = read | FileAccessMask::FILE_WRITE_DATA | FileAccessMask::FILE_WRITE_ATTRIBUTES;
    let (access, disposition, what) = match purpose {
        Purpose::Read => (read, CreateDisposition::FileOpen, "opening"),
        Purpose::Write => (write, CreateDisposition::FileOpen, "opening for writing"),
        Purpose::Create => (write | FileAccessMask::DELETE, CreateDisposition::FileCreate, "making the file"),
        Purpose::Remove => (read | FileAccessMask::DELETE, CreateDisposition::FileOpen, "opening to remove"),
    };
    let share = match purpose {
        Purpose::Read | Purpose::Write => ShareAccess::FILE_SHARE_READ | ShareAccess::FILE_SHARE_WRITE,
        Purpose::Create | Purpose::Remove => 0,
    };
    let option = |on: bool, bit: u32| if on { bit } else { 0 };
    let request = CreateRequest {
        requested_oplock_level: OplockLevel::None,
        impersonation_level: ImpersonationLevel::Impersonation,
        desired_access: FileAccessMask::new(access),
        file_attributes: FileAttributes::NORMAL,
        share_access: ShareAccess(share),
        create_disposition: disposition,
        create_options: NON_DIRECTORY_FILE
            | option(options.through, WRITE_THROUGH)
            | option(options.unbuffered, NO_INTERMEDIATE_BUFFERING),
        name: smb2::encode_path(&talk.uri.what.path),
        create_contexts: Vec::new(),
    };
    talk.demand(what, Command::Create, &request, 0)?.body()
}

fn agreed(talk: &SetupConnection, terms: &Terms) -> Agreed {
    use smb2::crypto::encryption::Cipher;
    use smb2::crypto::signing::SigningAlgorithm;
    Agreed {
        dialect: "SMB 3.1.1",
        signing: match &talk.guard {
            Guard::Sign(Signer { algorithm: SigningAlgorithm::AesGmac, .. }) => "AES-128-GMAC",
            Guard::Sign(_) => "AES-128-CMAC",
            Guard::Plain | Guard::Seal(_) => "none",
        },
        encryption: match &talk.guard {
            Guard::Seal(Sealer { cipher: Cipher::Aes128Gcm, .. }) => "AES-128-GCM",
            Guard::Seal(_) => "AES-128-CCM",
            Guard::Plain | Guard::Sign(_) => "none",
        },
        max_read: terms.max_read,
        max_write: terms.max_write,
        multichannel: terms.multichannel,
        credits: talk.credits,
    }
}
