//! What an S3 server may answer to the steps beside the load, and what is never done to an object of somebody else.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail where it stands")]

#[allow(dead_code)]
#[path = "../../strata-proto/tests/http_server/mod.rs"]
mod http_server;

use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http_server::{Request, Server, answer, part};
use strata_remote::s3::S3;
use strata_remote::{Place, Scheme};

const PATIENCE: Duration = Duration::from_secs(2);
const HEADER: &[u8] = &[7; 4096];
const MIB: usize = 1 << 20;

/// A server with one object, or none, which a test makes misbehave.
struct Peer {
    server: Server,
    held: Arc<Mutex<Option<Held>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

#[derive(Clone, Default)]
struct Held {
    data: Vec<u8>,
    mark: String,
}

type Twist = dyn Fn(&Request, &Option<Held>) -> Option<(Vec<u8>, bool)> + Send + Sync;

/// `twist` answers in place of the server where it has an answer.
fn peer(twist: Box<Twist>) -> Peer {
    let (held, asked) = (Arc::new(Mutex::new(None::<Held>)), Arc::new(Mutex::new(Vec::new())));
    let (holds, notes, parts) = (Arc::clone(&held), Arc::clone(&asked), Mutex::new(Held::default()));
    let server = Server::start(move |request: &Request| {
        let query = request.target.split_once('?').map_or("", |(_, query)| query);
        notes.lock().unwrap().push(format!("{} {query}", request.method).trim().to_owned());
        let (mut held, mut parts) = (holds.lock().unwrap(), parts.lock().unwrap());
        if let Some(twisted) = twist(request, &held) {
            return twisted;
        }
        let mark = || request.field("x-amz-meta-strata-mark").unwrap_or_default().to_owned();
        let found = |held: &Held| {
            let head = format!("x-amz-meta-strata-mark: {}\r\nETag: \"e\"\r\n", held.mark);
            format!("HTTP/1.1 200 OK\r\n{head}Content-Length: {}\r\n\r\n", held.data.len()).into_bytes()
        };
        let bytes = match (request.method.as_str(), &*held) {
            ("HEAD", None) => b"HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\n".to_vec(),
            ("HEAD", Some(there)) => found(there),
            ("GET", Some(there)) => part(request, &there.data),
            ("POST", _) if query == "uploads=1" => {
                *parts = Held { data: vec![], mark: mark() };
                let xml = "<InitiateMultipartUploadResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><UploadId>id</UploadId></InitiateMultipartUploadResult>";
                answer("200 OK", "", xml.as_bytes())
            }
            ("PUT", _) if query.contains("partNumber") => {
                parts.data.extend(&request.body);
                answer("200 OK", "ETag: \"p\"\r\n", b"")
            }
            ("POST", _) => {
                *held = Some(parts.clone());
                let xml = "<CompleteMultipartUploadResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><ETag>e</ETag></CompleteMultipartUploadResult>";
                answer("200 OK", "", xml.as_bytes())
            }
            ("PUT", None) => {
                *held = Some(Held { data: request.body.clone(), mark: mark() });
                answer("200 OK", "", b"")
            }
            ("PUT", Some(_)) => answer("412 Precondition Failed", "", b""),
            ("DELETE", _) => {
                *held = if query.contains("uploadId") { held.clone() } else { None };
                b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()
            }
            _ => answer("404 Not Found", "", b"<Error><Code>NoSuchKey</Code></Error>"),
        };
        (bytes, true)
    });
    Peer { server, held, asked }
}

fn sound() -> Peer {
    peer(Box::new(|_, _| None))
}

impl Peer {
    fn uri(&self, query: &str) -> <S3 as Scheme>::Uri {
        let uri = format!("s3://127.0.0.1:{}/bkt/key{query}", self.server.port);
        S3::parse(&Place { uri, netns: None, password: None }).unwrap().0
    }

    fn create(&self, size: usize, query: &str) -> io::Result<()> {
        S3::create(&self.uri(query), size as u64, HEADER, PATIENCE)
    }

    fn remove(&self) -> io::Result<()> {
        S3::remove(&self.uri(""), HEADER, PATIENCE)
    }

    fn asked(&self, word: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|asked| asked.starts_with(word)).count()
    }

    fn data(&self) -> Option<Vec<u8>> {
        self.held.lock().unwrap().as_ref().map(|held| held.data.clone())
    }
}

fn errno(error: &io::Error) -> i32 {
    strata_remote::errno(error)
}

#[test]
fn an_object_is_the_same_made_at_once_or_in_parts_and_is_removed_by_its_mark() {
    let size = 3 * MIB + 5;
    let (once, parts) = (sound(), sound());
    once.create(size, "").unwrap();
    parts.create(size, "?part=1048576").unwrap();
    assert_eq!((once.asked("PUT"), parts.asked("PUT"), parts.asked("POST")), (1, 4, 2));
    let data = once.data().unwrap();
    assert!(data.len() == size && data.starts_with(HEADER) && parts.data().unwrap() == data);
    assert_eq!(S3::read(&once.uri(""), 4000, 2 * MIB as u64, PATIENCE).unwrap(), data[4000..4000 + 2 * MIB]);
    let beyond = S3::read(&once.uri(""), size as u64 - 1, 2, PATIENCE).unwrap_err();
    assert!(beyond.to_string().contains(&format!("it ends at byte {size}")), "{beyond}");
    assert_eq!(errno(&once.create(size, "").unwrap_err()), libc::EEXIST);
    once.remove().unwrap();
    assert!(once.data().is_none());
    assert_eq!(errno(&once.remove().unwrap_err()), libc::ENOENT);
}

#[test]
fn what_somebody_else_made_is_never_removed() {
    let made = sound();
    made.create(2 * MIB, "").unwrap();
    let (ours, mark) = {
        let held = made.held.lock().unwrap().clone().unwrap();
        (held.data, held.mark)
    };
    let other = [&[8; 4096][..], &ours[4096..]].concat();
    for (data, mark) in [(ours.clone(), String::new()), (other, mark.clone()), (ours[..100].to_vec(), mark)] {
        let peer = sound();
        *peer.held.lock().unwrap() = Some(Held { data: data.clone(), mark });
        assert_eq!(errno(&peer.remove().unwrap_err()), libc::EPERM);
        assert_eq!(errno(&peer.create(2 * MIB, "").unwrap_err()), libc::EEXIST);
        assert_eq!((peer.asked("DELETE"), peer.asked("PUT"), peer.data()), (0, 0, Some(data)));
    }
}

#[test]
fn one_that_appears_while_ours_is_made_is_left_alone() {
    // The first look finds nothing; by the time of the upload somebody has been there.
    let seen = Mutex::new(0);
    let peer = peer(Box::new(move |request, _| {
        let mut seen = seen.lock().unwrap();
        *seen += usize::from(request.method == "HEAD");
        (request.method == "HEAD" && *seen == 1).then(|| (answer("404 Not Found", "", b""), false))
    }));
    *peer.held.lock().unwrap() = Some(Held { data: b"somebody's".to_vec(), mark: String::new() });
    let error = peer.create(2 * MIB, "").unwrap_err();
    assert!(peer.asked("DELETE") == 0 && peer.data().unwrap() == b"somebody's", "{error}");
}

#[test]
fn an_upload_that_fails_is_given_up_and_says_why() {
    let full = b"<Error><Code>QuotaExceeded</Code></Error>";
    let cases: [(&str, &str, Box<Twist>); 4] = [
        (
            "",
            "answers 507 QuotaExceeded",
            Box::new(|request, _| (request.method == "PUT").then(|| (answer("507 Full", "", full), false))),
        ),
        (
            "?part=1048576",
            "answers 507 QuotaExceeded",
            Box::new(|request, _| {
                let third = request.target.contains("partNumber=3");
                third.then(|| (answer("507 Full", "", full), true))
            }),
        ),
        (
            "?part=1048576",
            "ending the upload: the server answers 200 with an error QuotaExceeded",
            Box::new(|request, _| {
                let last = request.method == "POST" && request.target.contains("uploadId");
                let late = b"<Error xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Code>QuotaExceeded</Code></Error>";
                last.then(|| (answer("200 OK", "", late), true))
            }),
        ),
        (
            "?part=1048576",
            "has no ETag",
            Box::new(|request, _| {
                request.target.contains("partNumber=2").then(|| (answer("200 OK", "", b""), true))
            }),
        ),
    ];
    for (query, why, twist) in cases {
        let peer = peer(twist);
        let error = peer.create(4 * MIB, query).unwrap_err();
        assert!(error.to_string().contains(why), "{error}, not {why}");
        assert_eq!(peer.asked("DELETE"), usize::from(!query.is_empty()), "parts are given up");
        assert!(peer.data().is_none());
    }
}

#[test]
fn a_server_that_keeps_no_metadata_is_found_out_and_asked_for_nothing_more() {
    let peer = peer(Box::new(|request, held| {
        let length = held.as_ref().filter(|_| request.method == "HEAD")?.data.len();
        Some((format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").into_bytes(), true))
    }));
    let error = peer.create(2 * MIB, "").unwrap_err();
    assert!(error.to_string().contains("does not keep metadata"), "{error}");
}

#[test]
fn a_read_believes_only_what_was_asked_for() {
    let range = |range: &str, body: &[u8]| {
        answer("206 Partial Content", &format!("Content-Range: {range}\r\n"), body)
    };
    for (bytes, why) in [
        (range("bytes 1-10/100", &[0; 10]), "another part than was asked for"),
        (range("bytes 0-10/100", &[0; 11]), "another part than was asked for"),
        (range("bytes 0-9/100", &[0; 9]), "another part than it says"),
        (range("bytes */100", &[0; 10]), "another part than was asked for"),
        (answer("200 OK", "", &[0; 10]), "the server answers 200"),
        (answer("301 Moved", "", b""), "check host and AWS_REGION"),
        (
            answer("403 Forbidden", "", b"<Code>x\x1b[31m</Code>"),
            "the server answers 403; check AWS_ACCESS_KEY_ID",
        ),
        (b"HTTP/1.1 206 x\r\nContent-Length: 99999999999\r\n\r\n".to_vec(), "bytes is more than the"),
        (b"HTTP/1.1 206 x\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec(), "no answer within"),
    ] {
        let peer = peer(Box::new(move |_, _| Some((bytes.clone(), true))));
        let begun = Instant::now();
        let error = S3::read(&peer.uri(""), 0, 10, Duration::from_millis(300)).unwrap_err();
        assert!(error.to_string().contains(why), "{error}, not {why}");
        assert!(!error.to_string().contains('\x1b') && begun.elapsed() < PATIENCE);
    }
}
