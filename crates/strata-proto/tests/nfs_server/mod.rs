//! An NFS server of one file in memory, as small as it can be, with the behaviour of servers that matter to a client.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

const LAST: u32 = 1 << 31;
const HANDLE: &[u8] = b"the file";

/// How it behaves.
#[derive(Clone, Copy, Debug)]
pub struct Behaviour {
    /// Bytes of a fragment of its replies.
    pub fragment: usize,
    /// Replies that are held back and then given last one first.
    pub reorder: usize,
    /// Most bytes it moves in one call; it tells twice as many.
    pub moves: usize,
}

pub const PLAIN: Behaviour = Behaviour { fragment: 1 << 24, reorder: 1, moves: 1 << 24 };

struct File {
    data: Mutex<Vec<u8>>,
    verifier: Mutex<u64>,
    callers: Mutex<Vec<u16>>,
}

/// A server in threads of its own, for as long as the test runs.
pub struct Server {
    pub uri: String,
    file: Arc<File>,
}

impl Server {
    pub fn start(size: usize, behaviour: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let file = Arc::new(File {
            data: Mutex::new(vec![0; size]),
            verifier: Mutex::new(1),
            callers: Mutex::default(),
        });
        let served = Arc::clone(&file);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, file) = (stream.unwrap(), Arc::clone(&served));
                file.callers.lock().unwrap().push(stream.peer_addr().unwrap().port());
                thread::spawn(move || serve(stream, &file, behaviour));
            }
        });
        Self { uri: format!("nfs://127.0.0.1:{port}/export/deep/file?mountport={port}"), file }
    }

    /// The ports of all that called.
    pub fn callers(&self) -> Vec<u16> {
        self.file.callers.lock().unwrap().clone()
    }

    /// As if it had been started anew, with its connections kept.
    pub fn started_anew(&self) {
        *self.file.verifier.lock().unwrap() += 1;
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn long(bytes: &[u8], at: usize) -> usize {
    u64::from_be_bytes(bytes[at..at + 8].try_into().unwrap()) as usize
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn opaque(bytes: &[u8]) -> Vec<u8> {
    let mut out = [&(bytes.len() as u32).to_be_bytes(), bytes].concat();
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

fn serve(mut stream: TcpStream, file: &File, behaviour: Behaviour) {
    stream.set_nodelay(true).unwrap();
    let mut held = Vec::new();
    let mut mark = [0; 4];
    while stream.read_exact(&mut mark).is_ok() {
        let mut call = vec![0; (u32::from_be_bytes(mark) & !LAST) as usize];
        stream.read_exact(&mut call).unwrap();
        let (program, procedure) = (word(&call, 12), word(&call, 20));
        // Behind the credentials and the verifier.
        let at = 32 + word(&call, 28) as usize + 8;
        let results = answer(program, procedure, &call[at..], file, behaviour);
        held.push([&call[..4], &words(&[1, 0, 0, 0, 0])[..], &results[..]].concat());
        // READ, WRITE and COMMIT are in flight together; all else is waited for.
        if program == 100_003 && matches!(procedure, 6 | 7) && held.len() < behaviour.reorder {
            continue;
        }
        let mut out = Vec::new();
        for reply in held.drain(..).rev() {
            let count = reply.len().div_ceil(behaviour.fragment);
            for (number, bytes) in reply.chunks(behaviour.fragment).enumerate() {
                let last = if number + 1 == count { LAST } else { 0 };
                out.extend((bytes.len() as u32 | last).to_be_bytes());
                out.extend(bytes);
            }
        }
        stream.write_all(&out).unwrap();
    }
}

fn answer(program: u32, procedure: u32, args: &[u8], file: &File, behaviour: Behaviour) -> Vec<u8> {
    let attributes =
        |size: usize| [words(&[1, 0o600, 1, 0, 0]), words(&[0, size as u32]), vec![0; 56]].concat();
    let behind = 4 + (word(args, 0) as usize).next_multiple_of(4);
    let rest = args.get(behind..).unwrap_or(&[]);
    let verifier = || file.verifier.lock().unwrap().to_be_bytes();
    match (program, procedure) {
        // MNT: the export alone, none of the directories below it.
        (100_005, 1) if &args[4..4 + word(args, 0) as usize] == b"/export" => {
            [words(&[0]), opaque(b"root"), words(&[0])].concat()
        }
        (100_005, 1) => words(&[2]),
        (100_005, _) => vec![],
        (_, 1) => [words(&[0]), attributes(file.data.lock().unwrap().len())].concat(),
        (_, 3) => [words(&[0]), opaque(HANDLE), words(&[0, 0])].concat(),
        (_, 6) => {
            let (offset, count) = (long(rest, 0), (word(rest, 8) as usize).min(behaviour.moves));
            let data = file.data.lock().unwrap();
            let part = &data[offset.min(data.len())..(offset + count).min(data.len())];
            [words(&[0, 1]), attributes(data.len()), words(&[part.len() as u32, 0]), opaque(part)].concat()
        }
        (_, 7) => {
            let (offset, count) = (long(rest, 0), (word(rest, 8) as usize).min(behaviour.moves));
            let stable = word(rest, 12);
            file.data.lock().unwrap()[offset..offset + count].copy_from_slice(&rest[20..20 + count]);
            [words(&[0, 0, 0, count as u32, stable]), verifier().to_vec()].concat()
        }
        (_, 19) => {
            let most = (behaviour.moves as u32).saturating_mul(2);
            [words(&[0, 0, most, most, 1, most, most, 1, most]), vec![0; 24]].concat()
        }
        (_, 21) => [words(&[0, 0, 0]), verifier().to_vec()].concat(),
        other => panic!("{other:?} is not asked for"),
    }
}
