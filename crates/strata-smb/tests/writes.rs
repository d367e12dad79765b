//! What a server does for a write-through write, and requests of every size, on a real smbd.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail where it stands")]

mod common;

use std::time::{Duration, Instant};

use common::{PATIENCE, Smbd, one, smbd, spec};
use strata_io::{Op, Queue};
use strata_smb::{OpenSpec, SmbQueue, create, read_range, remove};

/// Flushes of files that the server has done, by its own count.
fn flushes(server: &Smbd) -> u64 {
    let said = std::process::Command::new("/usr/bin/smbstatus")
        .args(["-P", "-s", &server.dir.path().join("smb.conf").display().to_string()])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let count = |line: &str| line.split_whitespace().last()?.parse::<u64>().ok();
    let of = |name: &str| text.lines().find(|line| line.contains(name)).and_then(count);
    of("syscall_asys_fsync_count").unwrap_or_else(|| panic!("no such count in {text}"))
}

#[test]
fn write_through_reaches_the_medium_with_each_write_and_plain_writes_do_not() {
    let Some(server) = smbd("smbd profiling level = count") else { return };
    server.file("data", 1 << 20);
    let uri = server.uri("share", "data", "");
    let mut done = flushes(&server);
    // Samba 4.17 passes over the promise of the open file, so nothing is asked of that alone.
    for (through, through_each, expected) in [(false, false, 0), (false, true, 5), (true, true, 5)] {
        let mut queue = SmbQueue::open(&uri, OpenSpec { through, through_each, ..spec(1, 8192, 1) }).unwrap();
        for block in 0..5 {
            assert_eq!(one(&mut queue, Op::Write, block * 8192, 8192), 8192);
        }
        // The server's children add up their counts now and then.
        let begun = Instant::now();
        drop(queue);
        while flushes(&server) < done + expected && begun.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(50));
        }
        let now = flushes(&server);
        assert_eq!(now - done, expected, "open for it {through}, each write {through_each}");
        done = now;
    }
}

#[test]
fn requests_of_every_size_bring_what_is_there() {
    let Some(server) = smbd("") else { return };
    server.file("data", 4 << 20);
    let there = std::fs::read(server.path("data")).unwrap();
    for options in ["", "sign=on", "encrypt=on"] {
        let mut queue = server.queue(options, 1, 2 << 20, 1);
        assert_eq!(queue.agreed().signing == "AES-128-GMAC", options == "sign=on");
        assert_eq!(queue.agreed().encryption == "AES-128-GCM", options == "encrypt=on");
        for (offset, len) in [(0, 1), (511, 2), (4096, 65_536), (1, 65_537), (77, 1 << 20), (0, 2 << 20)] {
            queue.buffer(0).fill(0xEE);
            assert_eq!(one(&mut queue, Op::Read, offset, len), len as i32, "{options} {offset} {len}");
            let at = offset as usize;
            assert!(
                queue.buffer(0)[..len as usize] == there[at..at + len as usize],
                "{options} {offset} {len}"
            );
        }
        // Across the end as much as there is, beyond it nothing.
        assert_eq!(one(&mut queue, Op::Read, (4 << 20) - 100, 4096), 100);
        assert_eq!(one(&mut queue, Op::Read, 8 << 20, 4096), 0);
        for (offset, len) in [(3 << 20, 1), ((3 << 20) + 5, 1 << 20 >> 1)] {
            let data: Vec<u8> = (0..len).map(|at| (at * 7 + 1) as u8).collect();
            queue.buffer(0)[..data.len()].copy_from_slice(&data);
            assert_eq!(one(&mut queue, Op::Write, offset, len), len as i32);
            assert!(
                read_range(&server.uri("share", "data", options), offset, len.into(), PATIENCE).unwrap()
                    == data
            );
        }
        std::fs::write(server.path("data"), &there).unwrap();
    }
}

#[test]
fn a_file_is_made_once_and_removed_only_with_its_mark() {
    let Some(server) = smbd("") else { return };
    let uri = server.uri("share", "new one.dat", "");
    let mark = [7; 4096];
    assert!(!remove(&uri, &mark, PATIENCE).unwrap(), "there is none yet");
    create(&uri, 1 << 20, &mark, PATIENCE).unwrap();
    let made = std::fs::read(server.path("new one.dat")).unwrap();
    assert_eq!((made.len(), &made[..4096], made[4096]), (1 << 20, &mark[..], 0));
    let twice = create(&uri, 1 << 20, &mark, PATIENCE).unwrap_err();
    assert_eq!(strata_smb::errno(&twice), libc::EEXIST, "{twice}");
    let other = remove(&uri, &[8; 4096], PATIENCE).unwrap_err();
    assert_eq!(strata_smb::errno(&other), libc::EPERM, "{other}");
    assert!(server.path("new one.dat").exists());
    let held = SmbQueue::open(&uri, spec(1, 4096, 1)).unwrap();
    let busy = std::thread::spawn({
        let uri = uri.clone();
        move || remove(&uri, &mark, PATIENCE)
    });
    // Let go while it is tried: what a closed connection still holds is waited for.
    std::thread::sleep(Duration::from_millis(200));
    drop(held);
    assert!(busy.join().unwrap().unwrap());
    assert!(!server.path("new one.dat").exists());
}
