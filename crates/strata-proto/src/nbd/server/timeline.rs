//! Time lines on which shaping is exact: pure, no clock.

/// A resource that serves one thing after another: a link, or the spacing of a cap.
///
/// Its state is the instant at which it is free again, kept as `f64` nanoseconds since the
/// server's start (whole nanoseconds stay exact for 104 days), so that a spacing such as
/// 1/3000 s does not lose its fraction. An item that comes while the resource is busy starts at
/// the very instant the last one ended, however late the thread that asks is woken.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timeline {
    free_ns: f64,
}

/// When an item held the resource, in nanoseconds since the server's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// It got the resource.
    pub start_ns: u64,
    /// It gave it back.
    pub end_ns: u64,
}

impl Timeline {
    /// Put an item that comes at `at_ns` and holds the resource for `cost_ns` behind those before it.
    pub fn pass(&mut self, at_ns: u64, cost_ns: f64) -> Span {
        let start = self.free_ns.max(at_ns as f64);
        self.free_ns = start + cost_ns;
        Span { start_ns: start as u64, end_ns: self.free_ns as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::Timeline;
    use proptest::prelude::*;

    #[test]
    fn an_idle_resource_starts_at_once() {
        let mut line = Timeline::default();
        assert_eq!(line.pass(100, 50.0).end_ns, 150);
        assert_eq!(line.pass(1_000, 50.0).start_ns, 1_000);
    }

    #[test]
    fn fractions_of_a_nanosecond_are_kept() {
        let mut line = Timeline::default();
        let spacing = 1e9 / 3_000.0;
        for _ in 0..3_000_000 {
            line.pass(0, spacing);
        }
        let end = line.pass(0, 0.0).start_ns;
        assert!(end.abs_diff(1_000_000_000_000) < 1_000, "{end}");
    }

    proptest! {
        /// Items never overlap, never start before they come, and under a standing queue the
        /// whole takes exactly the sum of the costs.
        #[test]
        fn serial_and_work_conserving(items in proptest::collection::vec((0_u64..1_000, 1_u32..500), 1..200)) {
            let mut line = Timeline::default();
            let (mut at, mut last_end, mut busy) = (0, 0, 0);
            for (gap, cost) in items {
                at += gap;
                let span = line.pass(at, f64::from(cost));
                prop_assert!(span.start_ns >= at && span.start_ns >= last_end);
                prop_assert_eq!(span.start_ns, at.max(last_end));
                busy += u64::from(cost);
                prop_assert!(span.end_ns >= busy);
                last_end = span.end_ns;
            }
        }
    }
}
