//! Refusals, a server that is gone, and one that is short of credits, on a real smbd; and one that speaks nonsense.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail where it stands")]

mod common;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use common::{PASSWORD, PATIENCE, Smbd, one, smbd, spec};
use strata_io::{Io, Op, Queue};
use strata_smb::{SmbQueue, Spread, Uri, errno, probe};

fn refused(uri: &Uri, block: u32) -> std::io::Error {
    SmbQueue::open(uri, spec(1, block, 1)).expect_err("it is refused")
}

/// The address of something on this machine; `user` ends with @, where there is one.
fn here(user: &str, port: u16, rest: &str) -> Uri {
    format!("smb://{user}127.0.0.1:{port}/{rest}").parse().unwrap()
}

#[test]
fn refusals_name_what_and_why() {
    let Some(server) = smbd("smb2 max read = 1048576") else { return };
    server.file("data", 1 << 20);
    let bad = here("root:wrong@", server.port, "share/data");
    let sealed = |options| server.uri("sealed", "data", options);
    for (uri, code, words) in [
        (bad, libc::EACCES, "logging on as root: STATUS_LOGON_FAILURE: check user and password"),
        (
            server.uri("none", "data", ""),
            libc::ENXIO,
            "connecting to the share none: STATUS_BAD_NETWORK_NAME",
        ),
        (server.uri("share", "none", ""), libc::ENOENT, "there is no such file"),
        (server.uri("readonly", "data", ""), libc::EACCES, "opening for writing: STATUS_ACCESS_DENIED"),
        (sealed("encrypt=off"), libc::EOPNOTSUPP, "requires encryption"),
    ] {
        let error = refused(&uri, 4096);
        let said = error.to_string();
        assert!(said.contains(words), "{said}");
        assert!(
            said.starts_with(&uri.to_string()) && !said.contains("wrong") && !said.contains(PASSWORD),
            "{said}"
        );
        assert_eq!(errno(&error), code, "{said}");
    }
    let long = refused(&server.uri("share", "data", ""), 2 << 20);
    assert!(long.to_string().contains("requests of 1048576 bytes, not blocks of 2097152"), "{long}");
    // What a share requires is done without being asked for.
    let queue = SmbQueue::open(&sealed(""), spec(1, 4096, 1)).unwrap();
    assert_eq!(queue.agreed().encryption, "AES-128-GCM");
}

#[test]
fn signing_that_the_server_requires_is_done_or_refused() {
    let Some(server) = smbd("server signing = mandatory") else { return };
    server.file("data", 1 << 20);
    assert_eq!(server.queue("", 1, 4096, 1).agreed().signing, "AES-128-GMAC");
    let off = refused(&server.uri("share", "data", "sign=off"), 4096);
    assert!(off.to_string().contains("requires signing, but sign=off was given"), "{off}");
}

#[test]
fn guests_are_told_from_users() {
    let Some(server) =
        smbd("map to guest = bad user\n guest account = root\n [open]\n path = /tmp\n guest ok = yes")
    else {
        return;
    };
    let error = refused(&here("nobody-here:x@", server.port, "open/x"), 4096);
    assert!(error.to_string().contains("as a guest only, without checking the password"), "{error}");
    let error = refused(&here("", server.port, "open/there-is-none-of-this-name"), 4096);
    assert_eq!(errno(&error), libc::ENOENT, "a guest got as far as the file: {error}");
    let error = refused(&here("", server.port, "open/x?sign=on"), 4096);
    assert!(error.to_string().contains("a guest has no key to sign with"), "{error}");
}

/// The server also answers there: smbd itself only listens at addresses that an interface has.
fn stands_at(address: [u8; 4], port: u16, server: &Smbd) {
    let listener = TcpListener::bind((std::net::IpAddr::from(address), port)).expect("a free port");
    let behind = server.port;
    let carry = |mut from: TcpStream, mut to: TcpStream| {
        let _ended = std::io::copy(&mut from, &mut to);
        let _gone = to.shutdown(std::net::Shutdown::Write);
    };
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let Ok(there) = TcpStream::connect(("127.0.0.1", behind)) else { return };
            let (back, to) = (there.try_clone().expect("a socket"), client.try_clone().expect("a socket"));
            std::thread::spawn(move || carry(client, there));
            std::thread::spawn(move || carry(back, to));
        }
    });
}

#[test]
fn an_address_at_which_another_file_of_that_name_stands_gets_no_connection() {
    let (Some(server), Some(other), Some(shorter), Some(same)) = (smbd(""), smbd(""), smbd(""), smbd(""))
    else {
        return;
    };
    for (last, one) in [(2, &other), (3, &shorter), (4, &same)] {
        stands_at([127, 0, 0, last], server.port, one);
    }
    server.file("data", 1 << 20);
    same.file("data", 1 << 20);
    shorter.file("data", 1 << 19);
    let mut content = std::fs::read(server.path("data")).expect("what was made");
    content[40] ^= 1;
    std::fs::write(other.path("data"), &content).expect("a file");
    // At the last address nobody listens.
    let offered = [2, 3, 4, 5].map(|last| [127, 0, 0, last].into());
    let uri = server.uri("share", "data", "");
    let found = Spread::among(&uri, &offered, 8, PATIENCE).expect("a server");
    assert_eq!(found.addresses().map(|a| a.to_string()).collect::<Vec<_>>(), ["127.0.0.1", "127.0.0.4"]);
    let one_more = Spread::among(&uri, &offered[..2], 8, PATIENCE).expect("a server");
    assert_eq!(one_more.addresses().count(), 0, "nobody beside the named one");
    let mut queue = SmbQueue::open_over(&uri, spec(4, 4096, 4), &found, PATIENCE).expect("the file opens");
    assert_eq!(one(&mut queue, Op::Write, 8192, 4096), 4096);
    drop(queue);
    assert_eq!(std::fs::read(other.path("data")).expect("as it was"), content);
}

#[test]
fn few_credits_make_requests_wait_and_none_hangs() {
    let Some(server) = smbd("smb2 max credits = 8") else { return };
    server.file("data", 4 << 20);
    for (options, block, depth) in
        [("", 8192, 64), ("sign=on", 8192, 64), ("", 256 << 10, 32), ("encrypt=on", 8192, 40)]
    {
        let mut queue = server.queue(options, depth, block, 1);
        assert!(queue.agreed().credits <= 8);
        for round in 0..3 {
            for slot in 0..depth {
                let op = if (slot + round) % 2 == 0 { Op::Read } else { Op::Write };
                queue.push(slot, Io::new(op, 0, u64::from(slot % 8) * u64::from(block), block));
            }
            let mut done = 0;
            while done < depth {
                queue.submit(1, Some(Duration::from_secs(30))).unwrap();
                let got = queue.reap(|completion| assert_eq!(completion.result, block as i32)) as u32;
                assert!(got > 0, "{options}: {done} of {depth} came back and then none for 30 s");
                done += got;
            }
        }
    }
    let error = refused(&server.uri("share", "data", ""), 1 << 20);
    assert!(error.to_string().contains("credits, a block needs more; choose a smaller bs"), "{error}");
}

#[test]
fn a_server_that_is_gone_ends_what_is_in_flight() {
    let Some(mut server) = smbd("") else { return };
    server.file("data", 1 << 20);
    let mut queue = server.queue("", 4, 8192, 2);
    assert_eq!(one(&mut queue, Op::Read, 0, 8192), 8192);
    for slot in 0..4 {
        queue.push(slot, Io::read(0, 8192));
    }
    server.stop();
    // What was answered before it went is as it should be, the rest says what became of it.
    let mut results = Vec::new();
    let error = loop {
        let ended = queue.submit(1, Some(Duration::from_secs(30)));
        queue.reap(|completion| results.push(completion.result));
        if let Err(error) = ended {
            break error;
        }
    };
    assert_eq!(results.len(), 4, "all that was in flight comes back");
    assert!(results.iter().all(|result| [8192, -libc::ENOTCONN].contains(result)), "{results:?}");
    assert!(queue.submit(0, None).is_err(), "and it stays so");
    assert_eq!(errno(&error), libc::ENOTCONN, "{error}");
    assert!(error.to_string().contains("/share/data?: connection lost"), "{error}");
}

#[test]
fn a_server_that_speaks_nonsense_is_an_error() {
    let nonsense: [&[u8]; 6] = [
        b"SSH-2.0-nonsense\r\n",
        b"\0\0\0\x04abcd",
        b"\0\0\0\x40\xfeSMB@\0\0\0\0\0\0\0\0\0\x01\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        b"\0\xff\xff\xff",
        b"\x82\0\0\0",
        b"",
    ];
    for bytes in nonsense {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _asked = stream.read(&mut [0; 1024]);
            let _said = stream.write_all(bytes);
        });
        let error = probe(&here("u:p@", port, "share/file"), 1, PATIENCE).unwrap_err();
        assert!(error.to_string().contains("/share/file: "), "{error}");
        server.join().unwrap();
    }
}
