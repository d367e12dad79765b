//! One object of a server, asked one thing after the other.

use std::io;
use std::time::{Duration, Instant};

use rusty_s3::actions::{CompleteMultipartUploadResponse, CreateMultipartUpload};
use rusty_s3::{Credentials, S3Action};
use strata_pattern::{Rng, fill_incompressible};
use strata_proto::address::{Place, Protocol};
use strata_proto::http::{Answer, Session, WORDS_MOST, errno_of, request};
use strata_proto::{named, named_as};
use xxhash_rust::xxh3::xxh3_128;

use super::{Named, Uri, credentials};

/// Bytes asked for, or sent, at once.
pub(super) const PIECE: usize = 1 << 20;
/// Parts of an upload at most.
const PARTS_MOST: u64 = 10_000;
/// The longest that a signature may serve: 7 days.
const VALID: Duration = Duration::from_secs(604_800);
/// The object's metadata that says whose it is: a hash of the mark it begins with.
const MARK: &str = "x-amz-meta-strata-mark";

/// What a look at an object told.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) size_bytes: u64,
    pub(super) server: Option<String>,
    mark: Option<String>,
    etag: Option<String>,
}

/// An object and a connection to its server.
pub(super) struct Object<'a> {
    uri: &'a Uri,
    who: Option<Credentials>,
    session: Session,
}

/// A GET of the whole object.
pub(super) fn read_request(uri: &Uri) -> io::Result<String> {
    let who = credentials()?;
    Ok(signed(uri, uri.what.bucket.get_object(who.as_ref(), &uri.what.key), &[]))
}

/// The head of a request. Whatever the server is to keep is part of the signature.
fn signed<'a, A: S3Action<'a>>(uri: &Uri, mut action: A, fields: &[(&str, &str)]) -> String {
    for (name, value) in fields.iter().filter(|(name, _)| name.starts_with("x-amz-")) {
        action.headers_mut().insert((*name).to_owned(), (*value).to_owned());
    }
    let url = action.sign(VALID);
    let target = format!("{}?{}", url.path(), url.query().unwrap_or_default());
    let base = uri.what.bucket.base_url();
    let port = base.port().map(|port| format!(":{port}")).unwrap_or_default();
    let host = format!("{}{port}", base.host_str().unwrap_or_default());
    request(A::METHOD.to_str(), target.trim_end_matches('?'), &host, fields)
}

fn mark_of(header: &[u8]) -> String {
    format!("{:032x}", xxh3_128(header))
}

impl<'a> Object<'a> {
    pub(super) fn open(uri: &'a Uri, patience: Duration) -> io::Result<Self> {
        let who = credentials().map_err(|error| named(uri, &error))?;
        let Place { host, port, netns } = &uri.place;
        let session = Session::dial(host, port.unwrap_or(Named::PORT), netns.as_deref(), patience)
            .map_err(|error| named(format_args!("{uri}: cannot connect, check host and port"), &error))?;
        Ok(Self { uri, who, session })
    }

    /// Size and metadata.
    ///
    /// # Errors
    /// `ENOENT`: it is not there.
    pub(super) fn look(&mut self) -> io::Result<Seen> {
        let Self { uri, who, session } = self;
        let head = signed(uri, uri.what.bucket.head_object(who.as_ref(), &uri.what.key), &[]);
        let answer = session.ask(&head, true, 0);
        let answer = accepted(uri, "looking at it", answer, &[200])?;
        let strata_proto::http::Body::Length(size_bytes) = answer.head.body else {
            return Err(named_as(format_args!("{uri}: the server does not say its size"), libc::EPROTO));
        };
        let field = |name| answer.field(name);
        Ok(Seen { size_bytes, server: field("server"), mark: field(MARK), etag: field("etag") })
    }

    /// `length` bytes from `offset`, in room that grows with what has come.
    pub(super) fn read(&mut self, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        let (uri, end, mut bytes) = (self.uri, offset.saturating_add(length), Vec::new());
        while (bytes.len() as u64) < length {
            let at = offset + bytes.len() as u64;
            let last = end.min(at + PIECE as u64) - 1;
            let range = format!("bytes={at}-{last}");
            let action = uri.what.bucket.get_object(self.who.as_ref(), &uri.what.key);
            let head = signed(uri, action, &[("Range", &range)]);
            let answer = self.session.ask(&head, false, WORDS_MOST.max(PIECE as u64));
            let answer = accepted(uri, &format!("reading at {at}"), answer, &[206, 416])?;
            let fits = |first, last_there| first == at && last_there <= last;
            match answer.head.span {
                Some(span) if answer.head.status == 206 && fits(span.first, span.last) => {
                    if span.last - span.first + 1 != answer.body.len() as u64 {
                        let why = "the server sends another part than it says";
                        return Err(named_as(format_args!("{uri}: reading at {at}: {why}"), libc::EPROTO));
                    }
                    bytes.extend(answer.body);
                }
                _ if answer.head.status == 416 => {
                    let text = format!("{uri}: it ends at byte {at}, before byte {end}");
                    return Err(named_as(text, libc::EINVAL));
                }
                _ => {
                    let why = "the server sends another part than was asked for";
                    return Err(named_as(format_args!("{uri}: reading at {at}: {why}"), libc::EPROTO));
                }
            }
        }
        Ok(bytes)
    }

    /// Make it: `size_bytes` that begin with `header` and go on with incompressible data, in one request or in parts.
    pub(super) fn upload(&mut self, size_bytes: u64, header: &[u8], until: Instant) -> io::Result<()> {
        let (uri, mark) = (self.uri, mark_of(header));
        let mut data = Data { rng: Rng::new(xxh3_128(header) as u64, 3 << 32), header, at: 0 };
        if size_bytes <= uri.what.part {
            let length = size_bytes.to_string();
            let fields = [("Content-Length", length.as_str()), ("If-None-Match", "*"), (MARK, &mark)];
            let head = signed(uri, uri.what.bucket.put_object(self.who.as_ref(), &uri.what.key), &fields);
            self.put(&head, size_bytes, &mut data, until)?;
            return Ok(());
        }
        let part = uri.what.part.max(size_bytes.div_ceil(PARTS_MOST));
        let fields = [("Content-Length", "0"), (MARK, mark.as_str())];
        let head =
            signed(uri, uri.what.bucket.create_multipart_upload(self.who.as_ref(), &uri.what.key), &fields);
        let answer = self.session.ask(&head, false, WORDS_MOST);
        let answer = accepted(uri, "beginning the upload", answer, &[200])?;
        let begun = CreateMultipartUpload::parse_response(&String::from_utf8_lossy(&answer.body));
        let begun = begun.map_err(|_| {
            named_as(format_args!("{uri}: beginning the upload: the answer has no id of it"), libc::EPROTO)
        })?;
        let id = begun.upload_id();
        self.parts(id, part, size_bytes, &mut data, until).inspect_err(|_| {
            // Parts that nobody puts together are kept, and paid for, until they are given up.
            let _left = Object::open(uri, Duration::MAX).and_then(|mut object| object.give_up(id));
        })
    }

    fn parts(
        &mut self,
        id: &str,
        part: u64,
        size: u64,
        data: &mut Data<'_>,
        until: Instant,
    ) -> io::Result<()> {
        let (uri, mut etags) = (self.uri, Vec::new());
        for (number, at) in (1..=u16::MAX).zip((0..size).step_by(part as usize)) {
            let bytes = part.min(size - at);
            let action = uri.what.bucket.upload_part(self.who.as_ref(), &uri.what.key, number, id);
            let head = signed(uri, action, &[("Content-Length", &bytes.to_string())]);
            let answer = self.put(&head, bytes, data, until)?;
            let missing = || named_as(format_args!("{uri}: part {number} has no ETag"), libc::EPROTO);
            etags.push(answer.field("etag").ok_or_else(missing)?);
        }
        let names = || etags.iter().map(String::as_str);
        let action =
            || uri.what.bucket.complete_multipart_upload(self.who.as_ref(), &uri.what.key, id, names());
        let body = action().body();
        let fields = [("Content-Length", &*body.len().to_string()), ("If-None-Match", "*")];
        let head = signed(uri, action(), &fields);
        let answer = self.session.ask(&(head + &body), false, WORDS_MOST);
        let answer = accepted(uri, "ending the upload", answer, &[200])?;
        // A server may find out that it cannot after it has said 200.
        let told = CompleteMultipartUploadResponse::parse(&String::from_utf8_lossy(&answer.body));
        told.map(drop).map_err(|_| {
            let text =
                format!("{uri}: ending the upload: the server answers 200 with an error{}", words(&answer));
            named_as(text, libc::EIO)
        })
    }

    fn put(&mut self, head: &str, length: u64, data: &mut Data<'_>, until: Instant) -> io::Result<Answer> {
        let (uri, session) = (self.uri, &mut self.session);
        let sent = session.send(head.as_bytes()).and_then(|()| {
            let mut left = length;
            while left > 0 {
                if Instant::now() > until {
                    return Err(named_as("the server takes too long for its data", libc::ETIMEDOUT));
                }
                let piece = data.next(left.min(PIECE as u64) as usize);
                session.send(&piece)?;
                left -= piece.len() as u64;
            }
            Ok(())
        });
        // A server that refuses says why, and may do so before it has all.
        let answer = session.answer(false, WORDS_MOST);
        let answer = if answer.is_err() { sent.and(answer) } else { answer };
        accepted(uri, "writing it", answer, &[200, 201])
    }

    fn give_up(&mut self, id: &str) -> io::Result<()> {
        let Self { uri, who, session } = self;
        let head = signed(uri, uri.what.bucket.abort_multipart_upload(who.as_ref(), &uri.what.key, id), &[]);
        let answer = session.ask(&head, false, WORDS_MOST);
        accepted(uri, "giving up the upload", answer, &[200, 204]).map(drop)
    }

    /// Whether it is there with this size and the mark of `header`.
    pub(super) fn check(&mut self, size_bytes: u64, header: &[u8]) -> io::Result<()> {
        let (seen, uri) = (self.look()?, self.uri);
        let refuse = |why: &str| Err(named_as(format_args!("{uri}: {why}"), libc::EIO));
        if seen.size_bytes != size_bytes {
            return refuse(&format!("it has {} bytes, and {size_bytes} were written", seen.size_bytes));
        }
        if seen.mark.as_deref() != Some(&*mark_of(header)) {
            return refuse("the server does not keep metadata, which says whose it is");
        }
        Ok(())
    }

    /// Remove it if it is what was made with this `header`.
    ///
    /// # Errors
    /// `EPERM`: it is another one.
    pub(super) fn remove(&mut self, header: &[u8]) -> io::Result<()> {
        let (seen, uri) = (self.look()?, self.uri);
        let same = seen.mark.as_deref() == Some(&*mark_of(header))
            && seen.size_bytes >= header.len() as u64
            && self.read(0, header.len() as u64)? == header;
        if !same {
            return Err(named_as(format_args!("{uri}: it does not carry this run's mark"), libc::EPERM));
        }
        // Where the server can, only while it is the one that was looked at.
        let etag = seen.etag.unwrap_or_default();
        let only = [("If-Match", etag.as_str())];
        let action = uri.what.bucket.delete_object(self.who.as_ref(), &uri.what.key);
        let head = signed(uri, action, if etag.is_empty() { &[] } else { &only });
        let answer = self.session.ask(&head, false, WORDS_MOST);
        accepted(uri, "removing it", answer, &[200, 204]).map(drop).map_err(|error| {
            let changed = crate::errno(&error) == libc::EEXIST;
            if changed { named_as(error, libc::EPERM) } else { error }
        })
    }
}

/// The data of an object in the order of its bytes, the same for the same header.
struct Data<'a> {
    rng: Rng,
    header: &'a [u8],
    at: usize,
}

impl Data<'_> {
    fn next(&mut self, bytes: usize) -> Vec<u8> {
        let mut piece = vec![0; bytes];
        fill_incompressible(&mut piece, &mut self.rng);
        let head = self.header.get(self.at..).unwrap_or_default();
        let length = head.len().min(bytes);
        piece[..length].copy_from_slice(&head[..length]);
        self.at = self.at.saturating_add(bytes);
        piece
    }
}

/// The answer, if it is one of those that are hoped for; else an error that names the address, the step, what the server
/// says, and the next step.
fn accepted(uri: &Uri, step: &str, answer: io::Result<Answer>, hoped: &[u16]) -> io::Result<Answer> {
    let answer = answer.map_err(|error| named(format_args!("{uri}: {step}"), &error))?;
    let status = answer.head.status;
    if hoped.contains(&status) {
        return Ok(answer);
    }
    let next = match status {
        301 | 302 | 307 | 308 => "; it is at another address: check host and AWS_REGION",
        400 | 401 | 403 => "; check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION",
        404 => "; check bucket and key",
        429 | 503 => "; try again later",
        _ => "",
    };
    let text = format!("{uri}: {step}: the server answers {status}{}{next}", words(&answer));
    Err(named_as(text, errno_of(status)))
}

/// The code that an answer gives in XML, as far as it is a word.
fn words(answer: &Answer) -> String {
    let text = String::from_utf8_lossy(&answer.body);
    let code = text.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>"));
    let word = code.map(|(code, _)| code).filter(|code| code.len() < 64);
    let word = word.filter(|code| code.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    word.map(|code| format!(" {code}")).unwrap_or_default()
}
