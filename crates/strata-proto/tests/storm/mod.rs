//! Mutations of sound streams, the same ones every time, for two seconds at most.

use std::time::{Duration, Instant};

const ENOUGH: u32 = 200_000;
const LONGEST: Duration = Duration::from_secs(2);

/// xorshift64*: the test must draw the same on every machine.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 33) as usize % end.max(1)
    }
}

/// Values that lengths, types and offsets trip over.
const TELLING: [u32; 10] =
    [0, 1, 7, 8, 0x7FFF_FFFF, 0x8000_0000, 0x8000_0001, u32::MAX, 65_536, 32 * 1024 * 1024 + 1];

fn mutated(sound: &[Vec<u8>], draw: &mut Draw) -> Vec<u8> {
    let mut bytes = sound[draw.below(sound.len())].clone();
    for _ in 0..=draw.below(4) {
        let (at, len) = (draw.below(bytes.len()), bytes.len());
        match draw.below(7) {
            0 => bytes[at] ^= 1 << draw.below(8),
            1 => bytes[at] = draw.next() as u8,
            2 if at + 4 <= len => {
                bytes[at..at + 4].copy_from_slice(&TELLING[draw.below(TELLING.len())].to_be_bytes());
            }
            3 => bytes.truncate(at.max(1)),
            4 => bytes.extend_from_within(at..len.min(at + 64)),
            5 => {
                bytes.drain(at..len.min(at + 1 + draw.below(32)).max(at + 1));
            }
            _ => bytes.extend(sound[draw.below(sound.len())].iter()),
        }
        if bytes.is_empty() {
            bytes.push(draw.next() as u8);
        }
    }
    bytes
}

/// `body` on each of `sound` and on mutations of them.
pub fn storm(sound: &[Vec<u8>], body: impl Fn(&[u8]) + std::panic::RefUnwindSafe) {
    sound.iter().for_each(|stream| body(stream));
    let (begun, mut draw) = (Instant::now(), Draw(0x5EED));
    for round in 0..ENOUGH {
        let bytes = mutated(sound, &mut draw);
        let survived = std::panic::catch_unwind(|| body(&bytes));
        assert!(survived.is_ok(), "round {round}: {bytes:02x?}");
        if begun.elapsed() > LONGEST {
            // A slow machine sees fewer; a machine that sees next to none would prove nothing.
            assert!(round > 500, "only {round} rounds");
            return;
        }
    }
}
