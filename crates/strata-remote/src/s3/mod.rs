//! `s3://`: an object of an S3 server, read in ranges.
//!
//! An object is made as a whole and never changed, so all its data is there when [`S3::create`] returns, and nothing is
//! written later. Requests are signed by their address alone (SigV4 in the query), so one signature serves every range.

mod object;

use std::io;
use std::time::{Duration, Instant};

use rusty_s3::{Bucket, Credentials, UrlStyle};
use serde_json::{Value, json};
use strata_proto::address::{self, Parts, Protocol, decode, host_and_port, unsupported};
use strata_proto::http::{HttpQueue, OpenSpec};
use strata_proto::line::Probe;
use strata_proto::named_as;

use crate::{Facts, Load, Scheme};
use object::Object;

/// Bytes from which on an object is uploaded in parts of so many; AWS takes no longer part than 5 GiB.
const PART: u64 = 1 << 30;
/// Longest key, in bytes.
const KEY_MOST: usize = 1024;

/// An object that was found.
#[derive(Clone, Debug)]
pub struct S3 {
    uri: Uri,
    size_bytes: u64,
}

/// `s3://host[:port]/bucket/key[?connections=N&part=BYTES]`. The key is percent-encoded.
pub type Uri = address::Uri<Named>;

/// The object that an address names.
#[derive(Clone, Debug)]
pub struct Named {
    bucket: Bucket,
    key: String,
    part: u64,
}

impl Protocol for Named {
    const NAME: &'static str = "S3";
    const FORM: &'static str = "s3://host[:port]/bucket/key";
    const PORT: u16 = 80;

    fn read(parts: &Parts<'_>) -> Result<((String, Option<u16>), Self), String> {
        let (server, path) = parts.of("s3", "the bucket is missing")?;
        let (host, port) = host_and_port(server)?;
        let (bucket, key) = path.split_once('/').ok_or("the key of the object is missing")?;
        let key = decode(key)?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        if bucket.is_empty() || !bucket.bytes().all(plain) || matches!(bucket, "." | "..") {
            return Err(format!("{bucket:?} is not the name of a bucket"));
        }
        if key.len() > KEY_MOST || key.split('/').any(|name| matches!(name, "" | "." | "..")) {
            return Err("its key does not name one object".into());
        }
        let mut part = PART;
        for &(name, value) in &parts.options {
            match name {
                "part" => {
                    part =
                        value.parse().ok().filter(|part| (1..=5 * PART).contains(part)).ok_or("bad part")?;
                }
                _ => return unsupported(name),
            }
        }
        let bare = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let endpoint = format!("http://{bare}:{}", port.unwrap_or(Self::PORT));
        let endpoint = endpoint.parse().map_err(|_| format!("{host:?} is not a host"))?;
        let region = ["AWS_REGION", "AWS_DEFAULT_REGION"].iter().find_map(|name| variable(name));
        let region = region.unwrap_or_else(|| "us-east-1".to_owned());
        let made = Bucket::new(endpoint, UrlStyle::Path, bucket.to_owned(), region);
        let bucket = made.map_err(|error| error.to_string())?;
        Ok(((host, port), Self { bucket, key, part }))
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// Who asks: the environment says, and nothing else does. Without either variable nobody in particular.
fn credentials() -> io::Result<Option<Credentials>> {
    let names = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
    let [there, missing] = [true, false].map(|set| names.iter().find(|name| variable(name).is_some() == set));
    match (there, missing) {
        (Some(there), Some(missing)) => {
            let why =
                format!("{there} is set and {missing} is not; set both, or neither to ask without a name");
            Err(named_as(why, libc::EINVAL))
        }
        _ => Ok(Credentials::from_env()),
    }
}

impl Scheme for S3 {
    const NAME: &'static str = "s3";
    const ONE_AT_A_TIME: bool = true;
    type Uri = Uri;
    type Queue = HttpQueue;

    fn open(uri: &Uri, load: &Load) -> io::Result<Self> {
        let seen = Object::open(uri, load.patience)?.look()?;
        Ok(Self { uri: uri.clone(), size_bytes: seen.size_bytes })
    }

    fn facts(&self) -> Facts {
        Facts {
            noun: "object",
            longest: Some(object::PIECE as u32 * 32),
            read_only: Some("made as a whole and cannot be changed"),
            flushes: false,
            ..Facts::file(self.size_bytes)
        }
    }

    fn queue(&self, load: &Load, depth: u32, connections: u32) -> io::Result<HttpQueue> {
        let address::Place { host, port, netns } = &self.uri.place;
        let (name, port) = (self.uri.to_string(), port.unwrap_or(Named::PORT));
        let spec = OpenSpec { depth, block: load.block, connections, dsync: load.dsync };
        let request = object::read_request(&self.uri)?;
        HttpQueue::open(&name, (host, port, netns.as_deref()), &request, spec, load.patience)
    }

    fn setup(_queue: &HttpQueue, _load: &Load) -> Vec<String> {
        vec!["http/1.1".to_owned(), "ranged_get".to_owned()]
    }

    fn probe(uri: &Uri, rounds: u32, patience: Duration) -> io::Result<Value> {
        let look = |object: &mut Object<'_>| object.look();
        let seen = Probe::of(rounds, || Object::open(uri, patience), look, |object| look(object).map(drop))?;
        Ok(json!({
            "size_bytes": seen.found.size_bytes,
            "server": seen.found.server,
            "multi_conn": true, // one object, which nobody changes
            "connect_ns": seen.connect_ns,
            "rtt_ns": seen.rtt_ns,
        }))
    }

    fn read(uri: &Uri, offset: u64, length: u64, patience: Duration) -> io::Result<Vec<u8>> {
        Object::open(uri, patience)?.read(offset, length)
    }

    /// The whole object, with its data. `patience` is for all of it, and at most 10 s for each step.
    fn create(uri: &Uri, size_bytes: u64, header: &[u8], patience: Duration) -> io::Result<()> {
        let until = Instant::now() + patience;
        let mut object = Object::open(uri, patience)?;
        match object.look() {
            Ok(_) => {
                return Err(named_as(format_args!("{uri}: an object of this name exists"), libc::EEXIST));
            }
            Err(error) if crate::errno(&error) == libc::ENOENT => {}
            Err(error) => return Err(error),
        }
        let made = object.upload(size_bytes, header, until);
        made.and_then(|()| object.check(size_bytes, header)).inspect_err(|_| {
            // Where it is there all the same, and ours.
            let _left = Object::open(uri, patience).and_then(|mut object| object.remove(header));
        })
    }

    fn remove(uri: &Uri, header: &[u8], patience: Duration) -> io::Result<()> {
        Object::open(uri, patience)?.remove(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_as_they_are_written() {
        let uri: Uri = "s3://[::1]:9000/bkt/a%20b/c?connections=4&part=5242880".parse().expect("one");
        assert_eq!(
            (uri.place.host.as_str(), uri.place.port, uri.what.key.as_str()),
            ("::1", Some(9000), "a b/c")
        );
        assert_eq!((uri.connections, uri.what.part), (Some(4), 5 << 20));
        assert_eq!(uri.what.bucket.object_url(&uri.what.key).as_str(), "http://[::1]:9000/bkt/a%20b/c");
        let plain: Uri = "s3://h/bkt/k".parse().expect("one");
        assert_eq!((plain.place.port, plain.connections, plain.what.part), (None, None, PART));
    }

    #[test]
    fn refusals_say_what_to_write() {
        for text in [
            "s3:/h/b/k",
            "s3://h",
            "s3://h/b",
            "s3://h/b/",
            "s3://h//k",
            "s3://h/b/../k",
            "s3://h/b/%2e%2e/k",
            "s3://h/b/a//k",
            "s3://h/b%0d%0a/k",
            "s3:///b/k",
            "s3://h:0/b/k",
            "s3://h/b/k?part=0",
            "s3://h/b/k?connections=65",
            "s3://h/b/k?key=x",
        ] {
            let error = text.parse::<Uri>().expect_err(text);
            assert!(error.to_string().contains("write s3://"), "{error}");
            assert_eq!(crate::errno(&error), libc::EINVAL);
        }
    }

    #[test]
    fn no_line_of_a_request_can_be_written_by_an_address() {
        let uri: Uri = "s3://h/b/a%0d%0aX-Evil:%201".parse().expect("a strange key");
        let request = object::read_request(&uri).expect("signed");
        assert!(request.starts_with("GET /b/a%0D%0AX-Evil"), "{request}");
    }
}
