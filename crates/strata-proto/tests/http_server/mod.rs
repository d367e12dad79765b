//! An HTTP server in threads, whose answers a test writes.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// A request as it came.
#[derive(Debug)]
pub struct Request {
    /// Its number on its connection, from 0.
    pub number: usize,
    pub method: String,
    pub target: String,
    /// Names in lower case.
    pub fields: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(there, _)| there == name).map(|(_, value)| value.as_str())
    }

    /// First and last byte asked for.
    pub fn range(&self) -> Option<(usize, usize)> {
        let (first, last) = self.field("range")?.strip_prefix("bytes=")?.split_once('-')?;
        Some((first.parse().unwrap(), last.parse().unwrap()))
    }
}

/// A server for as long as the test runs.
pub struct Server {
    pub port: u16,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// `answer` gives the bytes of the answer, and whether the connection goes on.
    pub fn start(answer: impl Fn(&Request) -> (Vec<u8>, bool) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (answer, connections) = (Arc::new(answer), Arc::new(AtomicUsize::new(0)));
        let seen = Arc::clone(&connections);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, answer) = (stream.unwrap(), Arc::clone(&answer));
                seen.fetch_add(1, Ordering::SeqCst);
                thread::spawn(move || serve(&stream, &*answer));
            }
        });
        Self { port, connections }
    }

    /// How many there were.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

fn serve(mut stream: &TcpStream, answer: &dyn Fn(&Request) -> (Vec<u8>, bool)) {
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream);
    for number in 0.. {
        let Some(request) = request(&mut reader, number) else { return };
        let (bytes, on) = answer(&request);
        if stream.write_all(&bytes).is_err() || !on {
            return;
        }
    }
}

fn request(reader: &mut impl BufRead, number: usize) -> Option<Request> {
    let mut first = String::new();
    reader.read_line(&mut first).ok().filter(|read| *read > 0)?;
    let mut words = first.split_whitespace().map(str::to_owned);
    let (method, target) = (words.next()?, words.next()?);
    let mut fields = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        fields.push((name.to_lowercase(), value.to_owned()));
    }
    let mut request = Request { number, method, target, fields, body: Vec::new() };
    let length = request.field("content-length").map_or(0, |length| length.parse().unwrap());
    request.body.resize(length, 0);
    reader.read_exact(&mut request.body).ok()?;
    Some(request)
}

/// An answer with this status, these lines of its head and this body.
pub fn answer(status: &str, lines: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\n{lines}Content-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// The part of `data` that a request asks for, as far as it is there.
pub fn part(request: &Request, data: &[u8]) -> Vec<u8> {
    let (first, last) = request.range().unwrap();
    if first >= data.len() {
        let lines = format!("Content-Range: bytes */{}\r\n", data.len());
        return answer("416 Range Not Satisfiable", &lines, b"<Error/>");
    }
    let last = last.min(data.len() - 1);
    let lines = format!("Content-Range: bytes {first}-{last}/{}\r\n", data.len());
    answer("206 Partial Content", &lines, &data[first..=last])
}
