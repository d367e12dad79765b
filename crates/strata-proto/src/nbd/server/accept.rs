//! The server as a whole: start, accept, stop.

use std::collections::HashMap;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{FromRawFd, RawFd};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};

use super::backing::{Backing, Facts};
use super::buffers::Pool;
use super::clock::{Clock, TICK, readable};
use super::config::{Config, Listen};
use super::delay_queue::DelayQueue;
use super::peers::Peers;
use super::place::{self, Place};
use super::reader::serve_client;
use super::service::Shared;
use super::shaping::Shaping;
use super::stats::{Stats, Window};
use crate::lock::lock;
use crate::named::named;
use crate::nbd::codec::{Export, consts};
use crate::netns;
use crate::sock::Socket;

/// Where clients reach a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// Over TCP.
    Tcp(SocketAddr),
    /// Over a unix socket.
    Unix(PathBuf),
}

/// A running target. Dropping it stops it.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    endpoint: Endpoint,
    live: Arc<Live>,
    accepting: Option<JoinHandle<()>>,
    serving: Vec<JoinHandle<()>>,
    telling: Option<JoinHandle<()>>,
}

/// The sockets of connected clients, to end them at stop.
type Live = Mutex<HashMap<u64, Arc<Socket>>>;

impl Server {
    /// Open the backing, listen and serve in threads of its own.
    ///
    /// # Errors
    /// The configuration is wrong (`InvalidInput`), the backing cannot be opened as asked, or the
    /// address is taken.
    pub fn start(config: &Config) -> io::Result<Self> {
        config.check().map_err(|text| io::Error::new(io::ErrorKind::InvalidInput, text))?;
        let (backing, facts) = Backing::open(&config.backing)?;
        let (listener, endpoint) = netns::within(config.netns.as_deref(), || Listener::bind(&config.listen))?;
        let window = config.stats.as_deref().map(Window::open).transpose()?;
        let only = config.own_user.then(|| Peers::of_own_user(config.netns.as_deref())).transpose()?;
        let clock = Clock::new();
        let shared = Arc::new(Shared {
            clock,
            shaping: Shaping::new(&config.shape),
            backing: backing.with_faults(&config.faults),
            export: export(config, facts),
            service_threads: config.shape.service_threads,
            service_time_ns: config.shape.service_time_ns,
            pool: Arc::new(Pool::default()),
            budget: Arc::default(),
            jobs: DelayQueue::new(clock),
            connections: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            stats: window.is_some().then(Stats::default),
            guarded_bytes: config.guarded_bytes,
        });
        let live = Arc::new(Live::default());
        let mut server = Self {
            shared: Arc::clone(&shared),
            endpoint,
            live,
            accepting: None,
            serving: Vec::new(),
            telling: None,
        };
        // From here on a failure drops `server`, which ends the threads that run already.
        for number in 0..shared.service_threads {
            let shared = Arc::clone(&shared);
            let thread = Builder::new().name(format!("nbd-io-{number}")).spawn(move || shared.serve())?;
            server.serving.push(thread);
        }
        if let Some(window) = window {
            let shared = Arc::clone(&shared);
            let answer = move || {
                if let Some(stats) = &shared.stats {
                    window.answer(stats, || shared.stop.load(Ordering::Acquire));
                }
            };
            server.telling = Some(Builder::new().name("nbd-stats".into()).spawn(answer)?);
        }
        let live = Arc::clone(&server.live);
        let admits = Admits { most: config.max_connections, only };
        let accepting = Builder::new().name("nbd-accept".into());
        server.accepting = Some(accepting.spawn(move || accept_all(&listener, &shared, &live, &admits))?);
        if let Some(fd) = config.ready_fd {
            server.tell_ready(fd)?;
        }
        Ok(server)
    }

    /// Where clients reach it.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The TCP port, if it listens on one.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        match &self.endpoint {
            Endpoint::Tcp(address) => Some(address.port()),
            Endpoint::Unix(_) => None,
        }
    }

    /// Clients connected now.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// Serve until `asked` says stop (looked at every 50 ms), then stop cleanly.
    pub fn run_until(self, asked: impl Fn() -> bool) {
        while !asked() {
            std::thread::sleep(TICK);
        }
    }

    /// Close all sockets, join all threads, remove the unix socket. Requests in flight are dropped.
    pub fn stop(self) {}

    fn tell_ready(&self, fd: RawFd) -> io::Result<()> {
        let port = self.port().map_or("null".to_owned(), |port| port.to_string());
        let line = format!("{{\"port\":{port},\"pid\":{}}}\n", std::process::id());
        // SAFETY: the caller gave this descriptor away for this purpose; ManuallyDrop keeps it open.
        let mut file = std::mem::ManuallyDrop::new(unsafe { std::fs::File::from_raw_fd(fd) });
        file.write_all(line.as_bytes())
            .map_err(|error| named(format_args!("target ready_fd {fd}: cannot write to it"), &error))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.shared.jobs.close();
        if let Some(accepting) = self.accepting.take() {
            let _panicked = accepting.join(); // it joins the connections
        }
        for thread in self.serving.drain(..).chain(self.telling.take()) {
            let _panicked = thread.join();
        }
    }
}

fn export(config: &Config, facts: Facts) -> Export {
    let mut flags = facts.flags | consts::TX_HAS_FLAGS | consts::TX_SEND_FLUSH | consts::TX_SEND_FUA;
    if config.multi_conn {
        flags |= consts::TX_CAN_MULTI_CONN;
    }
    Export { name: config.export.clone(), size_bytes: facts.size_bytes, flags, blocks: Some(facts.blocks) }
}

enum Listener {
    Tcp(TcpListener),
    /// With the name that goes when it is dropped.
    Unix(UnixListener, #[expect(dead_code, reason = "it is held")] Place),
}

impl Listener {
    fn bind(listen: &Listen) -> io::Result<(Self, Endpoint)> {
        let explain = |at: String| {
            move |error: io::Error| named(format_args!("target {at}: cannot listen there"), &error)
        };
        match listen {
            Listen::Tcp(address) => {
                let listener = TcpListener::bind(address).map_err(explain(format!("tcp {address}")))?;
                listener.set_nonblocking(true)?;
                let endpoint = Endpoint::Tcp(listener.local_addr()?);
                Ok((Self::Tcp(listener), endpoint))
            }
            Listen::Unix(path) => {
                let (listener, place) =
                    place::bind(path).map_err(explain(format!("unix {}", path.display())))?;
                listener.set_nonblocking(true)?;
                Ok((Self::Unix(listener, place), Endpoint::Unix(path.clone())))
            }
        }
    }

    fn accept(&self) -> io::Result<Socket> {
        let socket = match self {
            Self::Tcp(listener) => Socket::tcp(listener.accept()?.0)?,
            Self::Unix(listener, _) => Socket::Unix(listener.accept()?.0),
        };
        socket.set_nonblocking(false)?;
        Ok(socket)
    }

    /// Wait for a client, at most one tick.
    fn wait(&self) {
        let _ready_or_not = match self {
            Self::Tcp(listener) => readable(listener),
            Self::Unix(listener, _) => readable(listener),
        };
    }
}

/// Who is let in.
struct Admits {
    /// Clients at a time.
    most: usize,
    /// Nobody but these.
    only: Option<Peers>,
}

impl Admits {
    fn one_more(&self, connected: usize, socket: &Socket) -> bool {
        connected < self.most && self.only.as_ref().is_none_or(|only| only.own(socket))
    }
}

/// Accept until the server stops, then end and join every connection.
fn accept_all(listener: &Listener, shared: &Arc<Shared>, live: &Arc<Live>, admits: &Admits) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    let mut number = 0;
    while !shared.stop.load(Ordering::Acquire) {
        listener.wait();
        threads.retain(|thread| !thread.is_finished()); // a finished thread needs no join to be freed
        let socket = match listener.accept() {
            Ok(socket) => Arc::new(socket),
            Err(error) => {
                if error.kind() != io::ErrorKind::WouldBlock {
                    // Out of descriptors, perhaps: do not spin on a client that stays in the backlog.
                    std::thread::sleep(TICK);
                }
                continue;
            }
        };
        if !admits.one_more(threads.len(), &socket) {
            continue; // dropping the socket hangs up
        }
        number += 1;
        lock(live).insert(number, Arc::clone(&socket));
        shared.connections.fetch_add(1, Ordering::Relaxed);
        let leave = Leave { shared: Arc::clone(shared), live: Arc::clone(live), number };
        let spawned = Builder::new().name(format!("nbd-{number}")).spawn(move || {
            serve_client(&leave.shared, &socket);
        });
        threads.extend(spawned); // a thread that could not start drops `leave`, and with it the client
    }
    for socket in lock(live).values() {
        socket.shutdown();
    }
    for thread in threads {
        let _panicked = thread.join();
    }
}

/// Takes a connection off the books when its thread ends, however it ends.
struct Leave {
    shared: Arc<Shared>,
    live: Arc<Live>,
    number: u64,
}

impl Drop for Leave {
    fn drop(&mut self) {
        lock(&self.live).remove(&self.number);
        self.shared.connections.fetch_sub(1, Ordering::Relaxed);
    }
}
