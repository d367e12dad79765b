//! A file of a trace may hold anything: whatever it says, looking at it ends, with figures or with a reason.

#![allow(clippy::unwrap_used)]

use proptest::collection::vec;
use proptest::prelude::*;
use strata_trace::device::TracedDevice;
use strata_trace::event::{Event, Kind, Names};
use strata_trace::flags::Flags;
use strata_trace::mark::{Call, Mark, What};
use strata_trace::message::{Again, Messages, Spoken, Tagged};
use strata_trace::path::join::{Stated, join};
use strata_trace::path::thread_names::ThreadNames;
use strata_trace::path::{Traced, waterfall};
use strata_trace::saved::{self, PathRecord, Saved};
use strata_trace::{Source, summarise};

const DEV: u32 = 7 << 20;

/// Small ones, which meet each other, and the largest that a file may say (of times, places and counts).
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        60 => 0u64..40,
        1 => (1u64..40).prop_map(|n| (1 << 60) - n),
        1 => (1u64..40).prop_map(|n| (1 << 56) - n),
        3 => (1u64..40).prop_map(|n| (1 << 36) - n),
        1 => any::<u64>(),
    ]
}

fn small() -> impl Strategy<Value = i32> {
    prop_oneof![6 => 0i32..12, 1 => Just(i32::MIN), 1 => Just(i32::MAX), 1 => any::<i32>()]
}

fn what() -> impl Strategy<Value = What> {
    let calls = [
        Call::Read,
        Call::Write,
        Call::Sync,
        Call::Receive,
        Call::Send,
        Call::Ring,
        Call::Submit,
        Call::Reap,
    ];
    let others = [
        What::Exit,
        What::Taken,
        What::Handed,
        What::Done,
        What::Sent,
        What::Received,
        What::Arrived,
        What::Opened,
        What::Gone,
        What::Forked,
    ];
    prop_oneof![
        (proptest::sample::select(calls.to_vec()), any::<bool>())
            .prop_map(|(call, placed)| What::Enter(call, placed)),
        proptest::sample::select(others.to_vec()),
    ]
}

prop_compose! {
    fn mark()(at_ns in number(), a in number(), b in 0u64..4, c in 0u64..4, n in small(), m in any::<u32>(), pid in small(), what in what()) -> Mark {
        Mark { at_ns, a, b, c, n, m, pid, what }
    }
}

prop_compose! {
    fn event()(at_ns in number(), sector in number(), other in number(), sectors in any::<u32>(), pid in small(), error in small(), comm in any::<u16>(), kind in 0usize..5, letters in 0usize..4) -> Event {
        let kind = [Kind::Queue, Kind::Split, Kind::Insert, Kind::Issue, Kind::Complete][kind];
        let letters: &[u8] = [b"R" as &[u8], b"WS", b"FWS", b"D"][letters];
        Event { at_ns, sector, other, dev: DEV, sectors, pid, error, comm, kind, flags: Flags::parse(letters) }
    }
}

prop_compose! {
    fn messages()(
        pairs in vec((0u64..4, 0u64..4, number(), number(), number(), number(), any::<u8>()), 0..20),
        spoken in vec((0u64..4, 0u64..4, number(), number()), 0..6),
        again in vec((0u64..4, 0u64..4, number(), number()), 0..6),
    ) -> Messages {
        Messages {
            pairs: pairs.into_iter().map(|(client, server, a, b, c, d, deed)| Tagged { client, server, asked: (a.min(b), a.max(b)), answered: (c.min(d), c.max(d)), deed }).collect(),
            spoken: spoken.into_iter().map(|(client, server, unmatched, waiting)| Spoken { client, server, unmatched, waiting }).collect(),
            again: again.into_iter().map(|(from, to, at, bytes)| Again { from, to, at, bytes: bytes as i64 }).collect(),
        }
    }
}

prop_compose! {
    fn file()(
        events in vec(event(), 0..60), marks in vec(mark(), 0..120), messages in messages(), follow in small(),
        extents in vec((number(), number(), number()), 0..4), sectors in proptest::option::of((number(), number())),
        window_ns in proptest::option::of((number(), number())), whole in any::<bool>(),
    ) -> Vec<u8> {
        let target = TracedDevice { name: "loop0".into(), dev: DEV, role: "device".into(), sectors, extents, ..TracedDevice::default() };
        let mut thread_names = ThreadNames::default();
        thread_names.put(1, 1, "dd");
        thread_names.put(i32::MAX, i32::MIN, "far");
        let way = PathRecord { marks, messages, thread_names, follow };
        let window_ns = window_ns.map(|(a, b)| (a.min(b), a.max(b)));
        let source = Source { targets: vec![target], events, names: Names::default(), window_ns, whole };
        let mut bytes = Vec::new();
        saved::write(&mut bytes, &source, Some(&way), &serde_json::json!({"began_ns": 5})).unwrap();
        bytes
    }
}

fn opened(bytes: &[u8]) -> Option<Saved> {
    let mut saved = saved::read(&mut &*bytes).ok()?;
    saved.source.events.sort_by_key(|e| e.at_ns);
    Some(saved)
}

fn looked_at(mut saved: Saved, clock: Option<&strata_trace::path::clocks::Clock>) {
    let way = saved.way.take().unwrap();
    let mut traced = Traced::of(&saved.source, &way, u64::MAX);
    traced.clock = clock;
    serde_json::to_string(&waterfall(&traced)).unwrap();
    serde_json::to_string(&summarise(&mut saved.source)).unwrap();
}

#[test]
fn numbers_that_no_trace_has_are_refused() {
    let with = |window_ns, asked| {
        let source = Source {
            targets: Vec::new(),
            events: Vec::new(),
            names: Names::default(),
            window_ns,
            whole: true,
        };
        let pair = Tagged { client: 1, server: 2, asked, answered: (0, 1), deed: 1 };
        let messages = Messages { pairs: vec![pair], ..Messages::default() };
        let way = PathRecord { messages, ..PathRecord::default() };
        let mut bytes = Vec::new();
        saved::write(&mut bytes, &source, Some(&way), &serde_json::Value::Null).unwrap();
        saved::read(&mut bytes.as_slice()).err().map(|e| e.to_string()).unwrap_or_default()
    };
    assert_eq!(with(Some((3, 9)), (4, 5)), "");
    for (window_ns, asked) in
        [(Some((9, 3)), (4, 5)), (Some((0, u64::MAX)), (4, 5)), (None, (5, 4)), (None, (0, u64::MAX))]
    {
        assert!(with(window_ns, asked).contains("that no trace has"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn one_file_says_anything(bytes in file()) {
        if let Some(saved) = opened(&bytes) {
            looked_at(saved, None);
        }
    }

    #[test]
    fn two_files_say_anything_of_each_other(
        client in file(), server in file(), stated in proptest::option::of((any::<i64>(), number())),
    ) {
        let stated = stated.map(|(offset_ns, bound_ns)| Stated { offset_ns, bound_ns });
        if let (Some(client), Some(server)) = (opened(&client), opened(&server))
            && let Ok((joined, clock)) = join(client, server, stated)
        {
            looked_at(joined, Some(&clock));
        }
    }
}
