//! The words that set it.

use proptest::prelude::*;

use super::{Op, Params, model};

#[test]
fn words_set_what_they_name() {
    let p = Params::default()
        .with("c=8 svc=2000 svc_w=0.5 wcache=1GiB stall_every=2.5 lame=none eio=0.5")
        .unwrap();
    assert_eq!((p.c, p.svc_r, p.svc_w, p.wcache), (8, 2_000_000, 500, 1 << 30));
    assert_eq!((p.stall_every, p.lame, p.eio_r, p.eio_w), (2_500_000, None, 0.5, 0.5));
}

#[test]
fn what_is_refused_is_named() {
    for (words, named) in [
        ("speed=1", "speed=1: there is no such parameter"),
        ("svc", "not of the form key=value"),
        ("c=1 svc=-1", "svc=-1: not a number of 0 or more"),
        ("svc=inf", "svc=inf"),
        ("svc=1e12", "longer than an hour"),
        ("wcache=1GB", "not a size"),
        ("wcache=99999999999999999999", "not a size"),
        ("eio=1.5", "not a share"),
        ("jitter=some", "none, uniform or exponential"),
    ] {
        let why = Params::default().with(words).unwrap_err();
        assert!(why.contains(named), "{words}: {why}");
    }
}

#[test]
fn the_words_of_parameters_make_them_again() {
    let words = "c=1 svc_r=12.5 svc_w=7 jitter=uniform spread=0.25 seed=9 bw=150 seek=8000 settle=900 rpm=7200 \
                 ahead=1MiB members=3 stripe=128KiB block=4096 block_svc=70 lame=2 lame_factor=3.5 wcache=1MiB wcache_svc=5 drain=20 \
                 drain_svc=100 rcache=2MiB rcache_svc=4 rcache_block=8192 flush=50 stall_every=1000 stall_for=20 \
                 gc_every=500 gc_for=100 gc_factor=4 iops=5000 iops_burst=10 mbps=200 mbps_burst=1MiB eio_r=0.1 eio_w=0.2";
    let params = Params::default().with(words).unwrap();
    params.check().unwrap();
    assert_eq!(Params::default().with(&params.words()).unwrap(), params);
    assert_eq!(Params::default().words(), "");
    // Each key of the words above is in the words made: none is forgotten where they are written.
    for key in words.split_whitespace().filter_map(|word| word.split_once('=')).map(|(key, _)| key) {
        let key = if key == "bw" { "bw_r" } else { key };
        // The default itself is not written.
        assert!(key == "c" || params.words().contains(&format!("{key}=")), "{key}");
    }
}

proptest! {
    #[test]
    fn time_never_runs_backwards_and_nothing_panics(
        words in prop::sample::select(vec![
            "c=3 svc=100 jitter=exponential",
            "c=1 svc=50 seek=8000 settle=100 rpm=7200 bw=150 ahead=1MiB wcache=1MiB",
            "svc=10 wcache=256KiB drain=10 rcache=1MiB stall_every=10 stall_for=3 gc_every=7 gc_for=2",
            "c=1 seek=900 rpm=7200 bw=90 block=16KiB block_svc=9 wcache=64KiB",
            "svc=10 members=3 stripe=4096 block=1KiB block_svc=30 lame=1 iops=5000 mbps=20 mbps_burst=64KiB",
        ]),
        ios in prop::collection::vec((0_u64..2_000_000, any::<bool>(), 0_u64..8000, 1_u64..600, any::<bool>()), 1..80),
    ) {
        let mut model = model(words);
        let mut now = 0;
        let mut bytes = 0;
        for (gap, read, block, blocks, flush) in ios {
            now += gap;
            let op = if read { Op::Read } else { Op::Write };
            let served = model.serve(now, op, block * 512, blocks * 512);
            prop_assert!(served.done_ns >= now);
            prop_assert!(served.svc_ns <= served.done_ns - now);
            bytes += blocks * 512;
            if flush {
                prop_assert!(model.flush(now) >= now);
            }
        }
        let truth = model.truth(now);
        prop_assert_eq!(truth.read.bytes + truth.write.bytes, bytes);
    }
}
