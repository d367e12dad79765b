//! Our client against our server: data, errors, loss, stop.

mod common;

use std::time::Duration;

use common::{MEMORY, NULL, one, target, target_with, wait_for};
use strata_io::{Io, Op, Queue};
use strata_proto::nbd::server::Server;
use strata_proto::nbd::{NbdQueue, OpenSpec, Uri, probe, read_range};

/// Longer than any test takes.
const LONG: Duration = Duration::from_secs(60);

/// Write blocks in rounds of `depth`, each filled by its number and the place in it, and read them back.
fn comes_back(queue: &mut NbdQueue, rounds: u64, depth: u32, block: u32, byte: fn(u64, usize) -> u8) {
    let number = |round: u64, slot: u32| round * u64::from(depth) + u64::from(slot);
    for round in 0..rounds {
        for slot in 0..depth {
            let filled = queue.buffer(slot).iter_mut().enumerate();
            filled.for_each(|(at, there)| *there = byte(number(round, slot), at));
            queue.push(slot, Io::write(number(round, slot) * u64::from(block), block));
        }
        let done = wait_for(queue, depth as usize);
        assert!(done.iter().all(|completion| completion.result == block as i32), "{done:?}");
    }
    for round in 0..rounds {
        for slot in 0..depth {
            queue.buffer(slot).fill(0xff);
            queue.push(slot, Io::read(number(round, slot) * u64::from(block), block));
        }
        wait_for(queue, depth as usize);
        for slot in 0..depth {
            let right = |(at, there): (usize, &u8)| *there == byte(number(round, slot), at);
            assert!(queue.buffer(slot).iter().enumerate().all(right), "round {round}, slot {slot}");
        }
    }
}

#[test]
fn what_is_written_is_read_over_many_requests_and_connections() {
    let target = target(MEMORY, "{}");
    comes_back(&mut target.queue(16, 8192, 4), 4, 16, 8192, |number, _| number as u8);
}

#[test]
fn payloads_larger_than_the_socket_takes_at_once() {
    let target = target(MEMORY, "{}");
    let block = 16 << 20;
    comes_back(&mut target.queue(3, block, 1), 1, 3, block, |number, at| (at >> 10) as u8 ^ number as u8);
}

#[test]
fn what_was_read_stays_until_the_slot_is_pushed_again() {
    let simple = target(MEMORY, r#"{"service_threads":3,"service_time_ns":50000}"#);
    let structured = target(MEMORY, r#"{"service_threads":3,"service_time_ns":50000}"#).structured();
    for (target, agreed) in [(&simple, false), (&structured, true)] {
        // Runs on both sides of the length from which little is fetched behind them.
        for len in [4096_u32, 65_536, 262_144] {
            let (depth, blocks) = (8, 16_u64);
            let mut queue = target.queue(depth, len, 1);
            assert_eq!(queue.structured(), agreed);
            let stamped = |block: u64| (0..len).map(|at| (block as u32 * 31 + at / 64) as u8).collect();
            let all: Vec<Vec<u8>> = (0..blocks).map(stamped).collect();
            for block in 0..blocks {
                queue.buffer(0).copy_from_slice(&all[block as usize]);
                assert_eq!(one(&mut queue, Op::Write, block * u64::from(len), len), len as i32);
            }
            let mut held: Vec<Option<u64>> = vec![None; depth as usize];
            let mut next = (0..blocks).cycle();
            for round in 0..40 {
                // Some slots go out again at once, others keep what they have while the others read.
                let again: Vec<u32> = (0..depth).filter(|slot| round < 1 || (slot + round) % 3 > 0).collect();
                for &slot in &again {
                    let block = next.next().expect("it goes round");
                    held[slot as usize] = Some(block);
                    queue.push(slot, Io::read(block * u64::from(len), len));
                }
                let done = wait_for(&mut queue, again.len());
                assert!(done.iter().all(|completion| completion.result == len as i32), "{done:?}");
                for (slot, block) in held.iter().enumerate() {
                    let block = block.expect("every slot was pushed");
                    let right = queue.buffer(slot as u32) == all[block as usize];
                    assert!(right, "{len}: slot {slot}, round {round}");
                }
            }
        }
    }
}

#[test]
fn errors_come_by_errno_and_the_connection_lives_on() {
    let target = target(MEMORY, "{}");
    let mut queue = target.queue(1, 4096, 1);
    assert_eq!(one(&mut queue, Op::Read, 64 << 20, 4096), -libc::EINVAL);
    assert_eq!(one(&mut queue, Op::Write, (64 << 20) - 2048, 4096), -libc::ENOSPC);
    assert_eq!(one(&mut queue, Op::Read, u64::MAX - 100, 4096), -libc::EINVAL);
    assert_eq!(one(&mut queue, Op::Write, 0, 4096), 4096);
}

#[test]
fn a_file_is_served_past_the_cache_with_every_alignment_and_read_only_by_default() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory on a disk");
    let path = dir.path().join("disk");
    let content: Vec<u8> = (0..1_000_003_u32).map(|at| (at % 251) as u8).collect();
    std::fs::write(&path, &content).expect("a file");
    let target = target(&format!(r#"{{"kind":"file","path":"{}"}}"#, path.display()), "{}");
    let mut queue = target.queue(1, 65_536, 1);
    for (offset, len) in [(0, 65_536), (4096, 4096), (1, 3), (4095, 4098), (999_999, 4)] {
        assert_eq!(one(&mut queue, Op::Read, offset, len), len as i32);
        let bytes = &queue.buffer(0)[..len as usize];
        assert!(bytes.iter().enumerate().all(|(at, byte)| u64::from(*byte) == (offset + at as u64) % 251));
    }
    assert_eq!(one(&mut queue, Op::Write, 0, 4096), -libc::EPERM);
    let tail = read_range(&target.uri, 1_000_000, 3, LONG).expect("the odd tail");
    assert_eq!(tail, [(1_000_000 % 251) as u8, (1_000_001 % 251) as u8, (1_000_002 % 251) as u8]);
}

#[test]
fn durable_writes_reach_the_file_and_need_a_promise_from_the_server() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory on a disk");
    let path = dir.path().join("disk");
    std::fs::write(&path, vec![0; 1 << 20]).expect("a file");
    let json = format!(r#"{{"kind":"file","path":"{}","read_only":false}}"#, path.display());
    let target = target(&json, "{}");
    let spec = OpenSpec { depth: 1, block: 4096, connections: 1, dsync: true };
    let mut queue = NbdQueue::open(&target.uri, spec).expect("FUA is offered");
    queue.buffer(0).fill(0x5a);
    assert_eq!(one(&mut queue, Op::Write, 8192, 4096), 4096);
    let on_disk = std::fs::read(&path).expect("the file");
    assert!(on_disk[8192..12_288].iter().all(|byte| *byte == 0x5a));
    assert!(on_disk[..8192].iter().chain(&on_disk[12_288..]).all(|byte| *byte == 0));
}

#[test]
fn a_lost_server_ends_what_is_in_flight_and_is_named() {
    // Held for a minute by the modelled medium, so that the requests are in flight at the stop.
    let target = target(NULL, r#"{"service_time_ns":60000000000}"#);
    let mut queue = target.queue(4, 4096, 2);
    for slot in 0..4 {
        queue.push(slot, Io::read(0, 4096));
    }
    queue.submit(0, None).expect("they are sent");
    let uri = target.uri.clone();
    target.server.stop();
    let mut results = Vec::new();
    for (in_flight, why) in [(4, "the loss is told"), (1, "and told again")] {
        if in_flight == 1 {
            queue.push(0, Io::read(0, 4096));
        }
        let error = queue.submit(1, None).expect_err(why);
        assert!(error.to_string().contains(&uri.to_string()), "{error}");
        assert_eq!(strata_proto::errno(&error), libc::ENOTCONN);
        queue.reap(|completion| results.push(completion.result));
        assert_eq!(results, vec![-libc::ENOTCONN; in_flight]);
        results.clear();
    }
}

#[test]
fn waiting_honours_its_timeout_and_never_waits_for_nothing() {
    let target = target(NULL, r#"{"service_time_ns":60000000000}"#);
    let mut queue = target.queue(2, 4096, 1);
    queue.submit(1, None).expect("nothing in flight: returns at once");
    queue.push(0, Io::read(0, 4096));
    queue.submit(1, Some(Duration::from_millis(10))).expect("a timeout is no error");
    assert_eq!(queue.reap(|_| {}), 0);
}

#[test]
fn a_stop_removes_the_socket_so_that_a_second_server_takes_the_place() {
    let dir = tempfile::tempdir().expect("a directory");
    let socket = dir.path().join("s");
    let json = format!(r#"{{"listen":{{"unix":"{}"}},"backing":{NULL}}}"#, socket.display());
    let config = serde_json::from_str(&json).expect("a configuration");
    for _ in 0..2 {
        let server = Server::start(&config).expect("the place is free");
        let taken = Server::start(&config).expect_err("and then it is not");
        assert_eq!(strata_proto::errno(&taken), libc::EADDRINUSE);
        assert!(socket.exists(), "a refused start leaves the other's socket alone");
        server.stop();
        assert!(!socket.exists());
    }
}

#[test]
fn several_connections_need_the_servers_word() {
    let target = target_with(NULL, r#""multi_conn":false"#);
    let open = |connections| {
        NbdQueue::open(&target.uri, OpenSpec { depth: 1, block: 512, connections, dsync: false })
    };
    assert!(open(1).is_ok());
    let error = open(2).expect_err("refused");
    assert!(error.to_string().contains("connections=1"), "{error}");
}

#[test]
fn a_probe_sees_the_export_and_the_latency_but_an_unknown_export_lists_the_known() {
    let target = target(MEMORY, r#"{"latency_ns":3000000}"#);
    let seen = probe(&target.uri, 5, LONG).expect("a probe");
    assert_eq!(seen.export.size_bytes, 64 << 20);
    assert!(seen.structured && seen.export.flag_names().contains(&"can_multi_conn"));
    assert_eq!(seen.rtt_ns.len(), 5);
    assert!(seen.rtt_ns.iter().chain(&seen.connect_ns).all(|ns| *ns >= 3_000_000), "{seen:?}");
    let wrong = format!("nbd+unix:///nope?socket={}", target.socket.display()).parse().expect("an address");
    let error = probe(&wrong, 1, LONG).expect_err("no such export");
    assert_eq!(strata_proto::errno(&error), libc::ENOENT);
    assert!(error.to_string().contains("there are: \"\""), "{error}");
}

#[test]
fn a_listener_that_says_nothing_is_given_up_after_the_time_that_was_asked_for() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let uri: Uri =
        format!("nbd://{}/", listener.local_addr().expect("bound")).parse().expect("a good address");
    let short = Duration::from_millis(50);
    let spec = OpenSpec { depth: 1, block: 512, connections: 1, dsync: false };
    // The system takes the connection; nobody ever greets.
    for error in [
        probe(&uri, 1, short).expect_err("no greeting"),
        read_range(&uri, 0, 512, short).expect_err("no greeting"),
        NbdQueue::open_within(&uri, spec, short).expect_err("no greeting"),
    ] {
        assert!(error.to_string().ends_with("no NBD greeting: no answer within 50ms"), "{error}");
        assert_eq!(strata_proto::errno(&error), libc::ETIMEDOUT);
    }
}

#[test]
fn a_server_that_answers_no_read_is_given_up_as_well() {
    let target = target(MEMORY, r#"{"service_time_ns":60000000000}"#);
    let error = read_range(&target.uri, 0, 512, Duration::from_millis(50)).expect_err("no answer");
    assert_eq!(strata_proto::errno(&error), libc::ETIMEDOUT, "{error}");
    assert!(error.to_string().ends_with("no answer within 50ms"), "{error}");
}
