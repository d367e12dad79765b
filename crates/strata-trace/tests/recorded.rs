//! Pages as a kernel wrote them (6.18): 16 direct reads of 256 KiB that the device cuts into 64 KiB, then 40 writes of
//! 8 KiB and a flush, by one `dd` each.

#![allow(clippy::unwrap_used)]

use strata_trace::device::TracedDevice;
use strata_trace::event::{Decoder, EVENTS};
use strata_trace::format::Format;
use strata_trace::mark::{Call, Mark, What};
use strata_trace::message::{Messages, Spoken, Tagged};
use strata_trace::page::Layout;
use strata_trace::path::thread_names::ThreadNames;
use strata_trace::saved::PathRecord;
use strata_trace::{Event, Source, saved, summarise};

const LOOP0: u32 = 7 << 20;

fn text(name: &str) -> String {
    std::fs::read_to_string(format!("tests/data/format/{name}")).unwrap()
}

fn recorded() -> Source {
    let formats: Vec<Format> = EVENTS.iter().map(|(name, _)| Format::parse(&text(name)).unwrap()).collect();
    let layout = Layout::parse(&text("header_page"), &text("header_event")).unwrap();
    let mut decoder = Decoder::new(&formats).unwrap();
    let mut events: Vec<Event> = Vec::new();
    for page in std::fs::read("tests/data/split-and-flush.pages").unwrap().chunks(layout.page_bytes()) {
        let read = layout.records(page, |at, record| events.extend(decoder.decode(at, record)));
        assert!(!read.gap && !read.broken);
    }
    Source { targets: vec![target()], events, names: decoder.names, window_ns: None, whole: true }
}

fn target() -> TracedDevice {
    TracedDevice { name: "loop0".into(), dev: LOOP0, role: "device".into(), ..TracedDevice::default() }
}

#[test]
fn every_record_of_the_pages_is_understood() {
    let source = recorded();
    assert_eq!(source.events.len(), 316);
    assert!(source.events.iter().all(|e| e.dev == LOOP0));
    assert!(source.names.all().iter().any(|name| name == "dd"));
}

#[test]
fn splits_are_counted_against_what_entered_and_all_is_paired() {
    let figures = summarise(&mut recorded());
    let device = &figures.devices[0];
    assert_eq!((device.read.entered.ios, device.splits, device.read.issued.ios), (16, 48, 64));
    assert_eq!(device.read.entered.lengths, [(256 << 10, 16)]);
    assert_eq!(device.read.issued.lengths, [(64 << 10, 64)]);
    assert_eq!(
        (device.write.entered.ios, device.write.issued.ios, device.write.issued.bytes),
        (40, 40, 40 * 8192)
    );
    assert_eq!((device.began_before, device.under_way, device.errors, device.forgotten), (0, 0, 0, 0));
    assert_eq!(device.flush.as_ref().map(|times| times.count), Some(1));
    // Each of the 64 reads has its entrance, by way of the splits.
    assert_eq!(device.read.wait.as_ref().unwrap().count, 64);
    assert_eq!(device.parts, 64 + 40);
}

#[test]
fn one_thread_read_and_wrote_from_the_beginning_to_the_end() {
    let figures = summarise(&mut recorded());
    let device = &figures.devices[0];
    for half in [&device.read, &device.write] {
        let order = &half.issued.order;
        assert_eq!((order.strict_share, order.windowed_share), (Some(1.0), Some(1.0)));
        assert_eq!((order.backward_share, order.reordered, order.streams), (Some(0.0), 0, 1));
    }
    // Four pieces at a time.
    assert_eq!(device.depth.last().unwrap().0, 4);
    // One dd after the other, and the kernel's worker for the flush.
    assert_eq!((device.issuing.threads, device.issuing.per_window_max), (3, 1));
    assert_eq!(device.entering.busiest[0].comm, "dd");
}

#[test]
fn a_saved_trace_reads_back_as_it_was() {
    let source = recorded();
    let note = serde_json::json!({"whole": true});
    let mut file = Vec::new();
    saved::write(&mut file, &source, None, &note).unwrap();
    let found = saved::read(&mut file.as_slice()).unwrap();
    let again = found.source;
    assert_eq!((again.events, again.names.all(), found.recording), (source.events, source.names.all(), note));
    assert!(found.way.is_none());
    for length in [3, 17, file.len() - 1] {
        assert!(saved::read(&mut &file[..length]).is_err());
    }
    file[0] = b'x';
    assert!(saved::read(&mut file.as_slice()).is_err());
}

#[test]
fn text_of_blkparse_gives_the_same_figures_as_the_events_it_was_made_of() {
    let mut source = recorded();
    source.events.sort_by_key(|e| e.at_ns);
    let lines =
        source.events.iter().zip(1..).filter_map(|(e, n)| strata_trace::blkparse::line(e, &source.names, n));
    let text = lines.collect::<Vec<_>>().join("\n");
    let (mine, theirs) =
        (summarise(&mut source), summarise(&mut strata_trace::blkparse::read(&text).unwrap().source));
    let (mine, theirs) = (&mine.devices[0], &theirs.devices[0]);
    assert_eq!(mine.read.issued, theirs.read.issued);
    assert_eq!(mine.write.service, theirs.write.service);
    assert_eq!((mine.splits, &mine.depth, &mine.issuing), (theirs.splits, &theirs.depth, &theirs.issuing));
}

#[test]
fn what_a_waterfall_is_made_of_reads_back_as_it_was() {
    let mut source = recorded();
    source.targets[0].extents = vec![(1, 2, 3)];
    let calls = [
        What::Enter(Call::Reap, true),
        What::Enter(Call::Read, false),
        What::Exit,
        What::Opened,
        What::Forked,
    ];
    let marks = calls.into_iter().enumerate().map(|(n, what)| Mark {
        at_ns: (1 << 60) - 1 - n as u64,
        a: 1 << 63,
        b: 2,
        c: 3,
        n: -4,
        m: u32::MAX,
        pid: 6,
        what,
    });
    let pair = Tagged { client: 1, server: 2, asked: (3, 4), answered: (5, 6), deed: 3 };
    let spoken = Spoken { client: 1, server: 2, unmatched: 7, waiting: 8 };
    let mut thread_names = ThreadNames::default();
    thread_names.put(6, 5, "naïve");
    let messages = Messages { pairs: vec![pair], spoken: vec![spoken], again: Vec::new() };
    let way = PathRecord { marks: marks.collect(), messages, thread_names, follow: 6 };
    let mut file = Vec::new();
    saved::write(&mut file, &source, Some(&way), &serde_json::Value::Null).unwrap();
    let again = saved::read(&mut file.as_slice()).unwrap();
    let found = again.way.unwrap();
    assert_eq!(
        (&found.marks, &found.messages.pairs, &found.messages.spoken),
        (&way.marks, &vec![pair], &vec![spoken])
    );
    assert_eq!((found.follow, found.thread_names.group(6), found.thread_names.name(6)), (6, 5, "naïve"));
    assert_eq!(again.source.targets[0].extents, [(1, 2, 3)]);
    for length in [file.len() - 1, file.len() - 57] {
        assert!(saved::read(&mut &file[..length]).is_err());
    }
    let kind = file.len() - 56 - 4;
    file[kind] = 99;
    assert!(saved::read(&mut file.as_slice()).is_err());
}
