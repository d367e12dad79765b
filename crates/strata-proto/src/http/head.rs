//! The head of a response.

use httparse::{EMPTY_HEADER, Response, Status};

use crate::error::ProtoError;

/// Longest head of a response, in bytes.
pub(super) const HEAD_MOST: usize = 16 * 1024;
/// Most fields of one.
const FIELDS_MOST: usize = 64;
/// What ends it.
pub(super) const END: &[u8] = b"\r\n\r\n";

/// How a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// After so many bytes.
    Length(u64),
    /// With its last chunk.
    Chunked,
    /// The head does not say.
    Unsaid,
}

/// `bytes first-last/…`: which part of the resource came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its first byte.
    pub first: u64,
    /// Its last byte.
    pub last: u64,
}

/// What of a head matters for what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The three digits.
    pub status: u16,
    /// How the body ends.
    pub body: Body,
    /// Which part came.
    pub span: Option<Span>,
    /// The server ends the connection behind it.
    pub closes: bool,
}

fn wrong(why: &'static str) -> ProtoError {
    ProtoError::Http(why)
}

/// A whole head, its empty line included.
pub(super) fn parse(bytes: &[u8]) -> Result<Head, ProtoError> {
    fields(bytes, |response| {
        let status = response.code.unwrap_or_default();
        let mut head = Head { status, body: Body::Unsaid, span: None, closes: response.version != Some(1) };
        for field in response.headers.iter() {
            let is = |name: &str| field.name.eq_ignore_ascii_case(name);
            let value = str::from_utf8(field.value).unwrap_or_default().trim();
            if is("content-length") {
                let length = Body::Length(number(value).ok_or(wrong("its Content-Length is not a number"))?);
                if !matches!(head.body, Body::Unsaid) && head.body != length {
                    return Err(wrong("it says in two ways how long its body is"));
                }
                head.body = length;
            } else if is("transfer-encoding") {
                if !matches!(head.body, Body::Unsaid) || !value.eq_ignore_ascii_case("chunked") {
                    return Err(wrong("its Transfer-Encoding is not supported"));
                }
                head.body = Body::Chunked;
            } else if is("content-range") {
                // That of a refusal has no part: "bytes */1000".
                head.span = span(value);
            } else if is("connection") {
                head.closes |= value.split(',').any(|word| word.trim().eq_ignore_ascii_case("close"));
            }
        }
        Ok(head)
    })
}

/// The value of a field of a whole head.
pub(super) fn field(bytes: &[u8], name: &str) -> Option<String> {
    fields(bytes, |response| {
        let found = response.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name));
        Ok(found.and_then(|field| str::from_utf8(field.value).ok()).map(|value| value.trim().to_owned()))
    })
    .unwrap_or_default()
}

fn fields<T>(
    bytes: &[u8],
    look: impl FnOnce(&Response<'_, '_>) -> Result<T, ProtoError>,
) -> Result<T, ProtoError> {
    let mut room = [EMPTY_HEADER; FIELDS_MOST];
    let mut response = Response::new(&mut room);
    match response.parse(bytes) {
        Ok(Status::Complete(length)) if length == bytes.len() => look(&response),
        _ => Err(wrong("its head is not HTTP/1.1")),
    }
}

fn span(value: &str) -> Option<Span> {
    let (place, _) = value.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = place.split_once('-')?;
    let (first, last) = (number(first)?, number(last)?);
    (first <= last).then_some(Span { first, last })
}

/// Digits, and nothing else.
fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}
