//! Negotiation and logon: SMB 3.1.1 alone, by NTLM.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};
use smb2::auth::ntlm::{NtlmAuthenticator, NtlmCredentials};
use smb2::crypto::encryption::Cipher;
use smb2::crypto::kdf::{DerivedKeys, derive_session_keys};
use smb2::crypto::signing::algorithm_for_dialect;
use smb2::msg::negotiate::{
    CIPHER_AES_128_CCM, CIPHER_AES_128_GCM, HASH_ALGORITHM_SHA512, NegotiateContext, NegotiateRequest,
    NegotiateResponse, SIGNING_AES_CMAC, SIGNING_AES_GMAC,
};
use smb2::msg::session_setup::{
    SessionFlags, SessionSetupRequest, SessionSetupRequestFlags, SessionSetupResponse,
};
use smb2::pack::Guid;
use smb2::types::flags::{Capabilities, SecurityMode};
use smb2::types::{Command, Dialect};
use strata_proto::{named, named_as};

use crate::guard::Signer;
use crate::status::refused;
use crate::talk::{Reply, SetupConnection};
use crate::uri::{Encrypt, Sign, Uri};

/// What both sides agreed on before anybody logged on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) max_read: u32,
    pub(crate) max_write: u32,
    pub(crate) cipher: Option<Cipher>,
    gmac: bool,
    pub(crate) signing_required: bool,
    pub(crate) multichannel: bool,
}

/// A session, as its first connection made it.
pub(crate) struct Session {
    pub(crate) signer: Signer,
    pub(crate) keys: DerivedKeys,
    /// Guests and nobody have no key: nothing of theirs can be signed.
    pub(crate) keyless: bool,
    pub(crate) must_encrypt: bool,
}

/// Who we are to the server. Connections of one session must say the same.
pub(crate) fn identity() -> io::Result<Guid> {
    let mut bytes = [0_u8; 16];
    // So few come whole or not at all.
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    let number = u128::from_le_bytes(bytes);
    Ok(Guid {
        data1: number as u32,
        data2: (number >> 32) as u16,
        data3: (number >> 48) as u16,
        data4: ((number >> 64) as u64).to_le_bytes(),
    })
}

fn mode(uri: &Uri) -> SecurityMode {
    SecurityMode::new(match uri.what.sign {
        Sign::Required => SecurityMode::SIGNING_ENABLED | SecurityMode::SIGNING_REQUIRED,
        _ => SecurityMode::SIGNING_ENABLED,
    })
}

/// Agree on the dialect and what goes with it.
///
/// # Errors
/// The server does not speak SMB 3.1.1, or not as the address asks.
pub(crate) fn negotiate(talk: &mut SetupConnection, identity: Guid) -> io::Result<Terms> {
    let mut salt = vec![0; 32];
    salt[..16].copy_from_slice(&identity_bytes(identity));
    let request = NegotiateRequest {
        security_mode: mode(&talk.uri),
        capabilities: Capabilities::new(
            Capabilities::LARGE_MTU | Capabilities::MULTI_CHANNEL | Capabilities::ENCRYPTION,
        ),
        client_guid: identity,
        dialects: vec![Dialect::Smb3_1_1],
        negotiate_contexts: vec![
            NegotiateContext::PreauthIntegrity { hash_algorithms: vec![HASH_ALGORITHM_SHA512], salt },
            NegotiateContext::Encryption { ciphers: vec![CIPHER_AES_128_GCM, CIPHER_AES_128_CCM] },
            NegotiateContext::Signing { algorithms: vec![SIGNING_AES_GMAC, SIGNING_AES_CMAC] },
        ],
    };
    let what = "agreeing on SMB 3.1.1";
    let reply = talk.demand(what, Command::Negotiate, &request, 0)?;
    talk.hash.update(&reply.message);
    let answer: NegotiateResponse =
        reply.body().map_err(|error| named(format_args!("{}: {what}", talk.uri), &error))?;
    if answer.dialect_revision != Dialect::Smb3_1_1 {
        let text = format!("{}: the server speaks {}, not SMB 3.1.1", talk.uri, answer.dialect_revision);
        return Err(named_as(text, libc::EPROTONOSUPPORT));
    }
    let (mut cipher, mut gmac) = (None, false);
    for context in &answer.negotiate_contexts {
        match context {
            NegotiateContext::Encryption { ciphers } => {
                cipher = match ciphers.first() {
                    Some(&CIPHER_AES_128_GCM) => Some(Cipher::Aes128Gcm),
                    Some(&CIPHER_AES_128_CCM) => Some(Cipher::Aes128Ccm),
                    _ => None,
                };
            }
            NegotiateContext::Signing { algorithms } => gmac = algorithms.first() == Some(&SIGNING_AES_GMAC),
            _ => {}
        }
    }
    let terms = Terms {
        max_read: answer.max_read_size,
        max_write: answer.max_write_size,
        cipher,
        gmac,
        signing_required: answer.security_mode.signing_required(),
        multichannel: answer.capabilities.contains(Capabilities::MULTI_CHANNEL),
    };
    if talk.uri.what.encrypt == Encrypt::On && cipher.is_none() {
        let text = "the server offers no supported encryption (AES-128-GCM, AES-128-CCM)";
        return Err(talk.uri.error(format_args!("{text}; leave encrypt=on out"), libc::EOPNOTSUPP));
    }
    if talk.uri.what.sign == Sign::Off && terms.signing_required {
        let text = "the server requires signing, but sign=off was given; leave it out";
        return Err(talk.uri.error(text, libc::EOPNOTSUPP));
    }
    Ok(terms)
}

/// Log on; with `bind`, join that session as one more channel.
///
/// # Errors
/// User or password are refused, or the server cannot prove that it knows them too.
pub(crate) fn log_on(
    talk: &mut SetupConnection,
    terms: &Terms,
    bind: Option<(u64, &Signer)>,
) -> io::Result<Session> {
    let login = talk.uri.what.login()?;
    let who = login.user.clone();
    let mut ntlm = NtlmAuthenticator::new(NtlmCredentials {
        username: login.user,
        password: login.password.reveal().to_owned(),
        domain: login.domain,
    });
    let what = format!("logging on as {who}");
    let fail = |uri: &Uri, error: io::Error| uri.explain(&what, &error);
    if let Some((session, _)) = bind {
        talk.session = session;
    }
    let flags = SessionSetupRequestFlags(if bind.is_some() { SessionSetupRequestFlags::BINDING } else { 0 });
    let mut token = ntlm.negotiate();
    let round = |talk: &mut SetupConnection, token: Vec<u8>| -> io::Result<Reply> {
        let request = SessionSetupRequest {
            flags,
            security_mode: mode(&talk.uri),
            capabilities: Capabilities::default(),
            channel: 0,
            previous_session_id: 0,
            security_buffer: token,
        };
        match bind {
            Some((_, signer)) => talk.ask_signed(&what, Command::SessionSetup, &request, signer, false),
            None => talk.ask(&what, Command::SessionSetup, &request, 0),
        }
    };
    let first = round(talk, token)?;
    if !first.header.status.is_more_processing_required() {
        return Err(refused(format_args!("{}: {what}", talk.uri), first.header.status));
    }
    talk.hash.update(&first.message);
    talk.session = first.header.session_id.0;
    let challenge: SessionSetupResponse = first.body().map_err(|error| fail(&talk.uri, error))?;
    token = ntlm
        .authenticate(&challenge.security_buffer)
        .map_err(|error| fail(&talk.uri, io::Error::other(error.to_string())))?;
    let last = round(talk, token)?;
    if !last.header.status.is_success() || last.header.status.is_pending() {
        return Err(refused(format_args!("{}: {what}", talk.uri), last.header.status));
    }
    let answer: SessionSetupResponse = last.body().map_err(|error| fail(&talk.uri, error))?;
    let key = ntlm.session_key().unwrap_or_default();
    let keys = derive_session_keys(key, Dialect::Smb3_1_1, Some(talk.hash.value()), 128);
    let algorithm = algorithm_for_dialect(Dialect::Smb3_1_1, terms.gmac);
    let signer = Signer { key: keys.signing_key.clone(), algorithm };
    let keyless = answer.session_flags.is_guest() || answer.session_flags.is_null();
    admit(&talk.uri, &who, keyless, answer.session_flags)?;
    if !keyless {
        // Only a server that knows the password can sign this.
        signer.verify(&last.message).map_err(|error| fail(&talk.uri, error))?;
    }
    Ok(Session { signer, keys, keyless, must_encrypt: answer.session_flags.encrypt_data() })
}

fn admit(uri: &Uri, who: &str, keyless: bool, flags: SessionFlags) -> io::Result<()> {
    let refuse = |why: &str| Err(uri.error(format_args!("logging on as {who}: {why}"), libc::EACCES));
    if flags.is_guest() && !who.eq_ignore_ascii_case("guest") {
        return refuse(
            "the server admits this user as a guest only, without checking the password; check the user, or log on as guest",
        );
    }
    if keyless && matches!(uri.what.sign, Sign::On | Sign::Required) {
        return refuse("a guest has no key to sign with; name a user, or leave sign= out");
    }
    if keyless && uri.what.encrypt == Encrypt::On {
        return refuse("a guest has no key to encrypt with; name a user, or leave encrypt=on out");
    }
    Ok(())
}

fn identity_bytes(guid: Guid) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&guid.data1.to_le_bytes());
    bytes[4..6].copy_from_slice(&guid.data2.to_le_bytes());
    bytes[6..8].copy_from_slice(&guid.data3.to_le_bytes());
    bytes[8..].copy_from_slice(&guid.data4);
    bytes
}
