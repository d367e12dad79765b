//! Whole runs and fills over a network, on servers of our own.
#![allow(clippy::unwrap_used, reason = "a test that cannot set itself up should fail where it stands")]

#[allow(dead_code)]
#[path = "../../strata-proto/tests/http_server/mod.rs"]
mod http_server;
#[allow(dead_code)]
#[path = "../../strata-proto/tests/nfs_server/mod.rs"]
mod nfs_server;

#[path = "../../strata-smb/tests/common/mod.rs"]
mod samba;

use std::time::Duration;

use serde_json::{Value, json};
use strata_engine::{BuildInfo, Error, Job, RemoteFillSpec, Run, fill_remote, start};
use strata_proto::nbd::server::{Config, Endpoint, Server};
use strata_remote::smb::Smb;
use strata_remote::{Kind, Password, Place, Scheme, dispatch};

const MIB: u64 = 1 << 20;

fn nbd() -> (Server, String) {
    let config = json!({"listen": {"tcp": "127.0.0.1:0"}, "backing": {"kind": "memory", "size_bytes": MIB}});
    let server = Server::start(&serde_json::from_value::<Config>(config).unwrap()).unwrap();
    let Endpoint::Tcp(address) = server.endpoint() else { panic!("tcp was asked for") };
    let uri = format!("nbd://{address}/");
    (server, uri)
}

/// A job of 64 reads of the whole of it, with these changes of its target and its workload.
fn run(kind: &str, uri: &str, target: &Value, length: u64) -> Result<Run, Error> {
    let mut to = json!({"kind": kind, "uri": uri});
    to.as_object_mut().unwrap().extend(target.as_object().unwrap().clone());
    let segments = json!([{"start": 0, "length": length, "target": 0}]);
    let job = json!({
        "schema": 1, "target": to, "runtime_ns": 60_000_000_000_u64, "stop_after": {"ios": 64},
        "workload": {"rw": "randread", "bs": 4096, "iodepth": 4, "threads": 2, "segments": segments},
    });
    start(&Job::parse(&job.to_string())?, BuildInfo::default())
}

fn finish(run: &Run) -> Value {
    serde_json::from_str(&run.wait(Duration::from_secs(60)).unwrap().unwrap()).unwrap()
}

fn refusal(run: Result<Run, Error>) -> String {
    run.expect_err("refused").to_string()
}

/// Fill it: behind its head nothing is there twice, or was left out.
fn fills(place: &Place) {
    let (size_bytes, header) = (MIB + 700, b"MARK".to_vec());
    let spec = RemoteFillSpec { place: place.clone(), size_bytes, seed: 3, header };
    assert_eq!(finish(&fill_remote(&spec, BuildInfo::default()).unwrap())["stop_reason"], "ios");
    let kind = Kind::of(&place.uri).unwrap();
    let data =
        dispatch!(kind, S => S::read(&S::parse(place).unwrap().0, 0, size_bytes, samba::PATIENCE)).unwrap();
    assert_eq!(&data[..4], b"MARK");
    let mut pages: Vec<_> = data.chunks(512).collect();
    pages.sort_unstable();
    assert!(pages.windows(2).all(|two| two[0] != two[1]));
}

#[test]
fn every_thread_has_a_connection_and_the_scheme_says_what_was_agreed_on() {
    let (_server, uri) = nbd();
    let result = finish(&run("nbd", &uri, &json!({"connections": 3}), MIB).unwrap());
    assert_eq!((&result["read"]["ops"], &result["stop_reason"]), (&json!(64), &json!("ios")));
    assert_eq!(
        (&result["engine"]["kind"], &result["engine"]["setup"][0]),
        (&json!("nbd"), &json!("simple_replies"))
    );
    let in_effect = &result["effective"];
    assert_eq!((&in_effect["connections"], &in_effect["sync"]), (&json!(3), &json!("none")));
    assert_eq!((in_effect.get("smb"), in_effect.get("netns")), (None, None));
    let served = nfs_server::Server::start(MIB as usize, nfs_server::PLAIN);
    let result = finish(&run("nfs", &served.uri, &json!({"sync": "dsync"}), MIB).unwrap());
    let setup = &result["engine"]["setup"];
    assert_eq!((&setup[0], &setup[1]), (&json!("nfs3"), &json!("file_sync")));
    assert_eq!(
        (&result["effective"]["connections"], &result["effective"]["sync"]),
        (&json!(2), &json!("dsync"))
    );
}

#[test]
fn an_object_is_read_over_a_connection_for_each_io_in_flight_and_takes_no_writes() {
    let served = http_server::Server::start(|request: &http_server::Request| {
        let data = vec![7; MIB as usize];
        if request.method == "HEAD" {
            return (format!("HTTP/1.1 200 OK\r\nContent-Length: {MIB}\r\n\r\n").into_bytes(), true);
        }
        (http_server::part(request, &data), true)
    });
    let uri = format!("s3://127.0.0.1:{}/bucket/key", served.port);
    let result = finish(&run("s3", &uri, &json!({}), MIB).unwrap());
    assert_eq!((&result["read"]["ops"], &result["stop_reason"]), (&json!(64), &json!("ios")));
    assert_eq!((&result["read"]["errors"], &result["effective"]["connections"]), (&json!([]), &json!(8)));
    let few = finish(&run("s3", &format!("{uri}?connections=3"), &json!({}), MIB).unwrap());
    assert_eq!((&few["read"]["ops"], &few["effective"]["connections"]), (&json!(64), &json!(3)));
    let writes = json!({
        "schema": 1, "target": {"kind": "s3", "uri": uri}, "runtime_ns": 1_000_000_000,
        "workload": {"rw": "randwrite", "bs": 4096, "iodepth": 1, "threads": 1,
            "segments": [{"start": 0, "length": MIB, "target": 0}]},
    });
    let said = refusal(start(&Job::parse(&writes.to_string()).unwrap(), BuildInfo::default()));
    assert!(
        said.contains("the object is made as a whole and cannot be changed and the workload writes"),
        "{said}"
    );
}

#[test]
fn what_cannot_be_is_refused_with_the_address_and_the_next_step() {
    let (_server, uri) = nbd();
    let said = refusal(run("nbd", &uri, &json!({}), 2 * MIB));
    let end = format!("{uri}: the blocks end at byte 2097152, the export has 1048576; shorten the segments");
    assert!(said.starts_with(&end), "{said}");
    let said = refusal(run("iscsi", &uri, &json!({}), MIB));
    assert!(said.contains("target.uri: iSCSI address") && said.contains("write iscsi://"), "{said}");
    let said = refusal(run("nbd", &uri, &json!({"direct": true, "password": "p"}), MIB));
    assert!(said.contains("target.direct: a target of nbd has none"), "{said}");
    assert!(said.contains("target.password: a target of nbd has none"), "{said}");
    let said = refusal(run("ftp", &uri, &json!({}), MIB));
    assert!(said.contains("`null`, `nbd`, `smb`, `nfs`, `iscsi`"), "{said}");
}

#[test]
fn a_file_is_filled_behind_its_head_with_other_data_in_each_block() {
    for moves in [1 << 24, 8 << 10] {
        let behaviour = nfs_server::Behaviour { moves, ..nfs_server::PLAIN };
        let served = nfs_server::Server::start(MIB as usize + 700, behaviour);
        fills(&Place { uri: served.uri.clone(), netns: None, password: None });
    }
    let (_server, uri) = nbd();
    let place = Place { uri, netns: None, password: None };
    let spec = RemoteFillSpec { place, size_bytes: MIB, seed: 3, header: vec![] };
    let said = refusal(fill_remote(&spec, BuildInfo::default()));
    assert!(said.contains("it is no file"), "{said}");
}

#[test]
fn a_share_is_driven_through_the_same_calls_and_says_what_was_agreed_on() {
    let Some(served) = samba::smbd("") else { return };
    let uri = format!("smb://root@127.0.0.1:{}/share/new?connections=2", served.port);
    let password = Some(Password::new(samba::PASSWORD.to_owned()));
    let place = Place { uri: uri.clone(), netns: None, password };
    let (address, patience) = (Smb::parse(&place).unwrap().0, samba::PATIENCE);
    Smb::create(&address, MIB + 700, b"MARK", patience).unwrap();
    fills(&place);
    let asked = json!({"password": samba::PASSWORD, "direct": true, "sync": "dsync"});
    let result = finish(&run("smb", &uri, &asked, MIB).unwrap());
    let (setup, in_effect) = (&result["engine"]["setup"], &result["effective"]);
    assert_eq!((&setup[0], &result["read"]["ops"]), (&json!("SMB 3.1.1"), &json!(64)));
    assert_eq!((&in_effect["connections"], &in_effect["direct"]), (&json!(2), &json!(false)));
    let agreed = in_effect["smb"].as_object().unwrap();
    assert_eq!((&agreed["sessions"], &agreed["channels"]), (&json!(2), &json!(1)));
    assert_eq!((&agreed["credits_needed"], &agreed["unbuffered_asked"]), (&json!(4), &json!(true)));
    assert_eq!(agreed.len(), 11);
    assert!(Smb::remove(&address, b"OTHER", patience).is_err());
    Smb::remove(&address, b"MARK", patience).unwrap();
}
