//! A medium that does wrong on purpose, so that a check of integrity can be shown to find it.
//!
//! A fault strikes a block at its second write, once: the first write is honest, so that there is something older to
//! show, and a third makes the block good again. Which blocks are struck depends on their offsets alone, never on
//! the order in which requests come. A healthy target has none of this in its path.

use std::collections::HashMap;
use std::io;
use std::sync::Mutex;

use serde::Deserialize;

use super::backing::Backing;
use crate::lock::lock;

/// Where the mark of a test file lies: nothing is misdirected into it.
const HEAD_BYTES: u64 = 1 << 20;

/// What is done wrong.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// The write is acknowledged and not done.
    Lost,
    /// Half of it is done and all of it acknowledged.
    Torn,
    /// It is done; the first read gives it, all later ones give what was there before.
    Stale,
    /// It is done at the block before.
    Misdirected,
    /// It is done with one bit wrong.
    Corrupted,
    /// Half of it is done and answered with `EIO`, and so is the first read after it.
    ShortError,
}

/// One fault, planted.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultConfig {
    /// What is done wrong.
    pub kind: FaultKind,
    /// One block in this many; blocks are counted in the length of the request.
    pub every: Option<u64>,
    /// The block that holds this byte.
    pub offset: Option<u64>,
    /// Which one of `every`, and which bit is wrong.
    #[serde(default)]
    pub seed: u64,
}

impl FaultConfig {
    fn strikes(&self, offset: u64, length: u64) -> bool {
        let (every, chosen) = (self.every, self.offset);
        let at = chosen.is_none_or(|byte| (offset..offset + length).contains(&byte));
        at && every.is_none_or(|every| (offset / length) % every == self.seed % every)
    }

    /// What is wrong with its values.
    pub(super) fn problem(&self) -> Option<String> {
        (self.every == Some(0)).then(|| "faults.every: 0 affects no write; leave the fault out".to_owned())
    }
}

/// What happened at one offset.
#[derive(Debug, Default)]
struct Past {
    writes: u64,
    /// What reads give after the first, once a stale fault has struck.
    before: Option<Vec<u8>>,
    reads_since: u64,
    fails_once: bool,
}

/// A backing with faults planted in it.
#[derive(Debug)]
pub(super) struct Faulty {
    inner: Backing,
    faults: Vec<FaultConfig>,
    past: Mutex<HashMap<u64, Past>>,
}

impl Faulty {
    pub(super) fn new(inner: Backing, faults: Vec<FaultConfig>) -> Self {
        Self { inner, faults, past: Mutex::default() }
    }

    pub(super) fn inner(&self) -> &Backing {
        &self.inner
    }

    fn fault_at(&self, offset: u64, length: usize) -> Option<&FaultConfig> {
        self.faults.iter().find(|fault| length > 0 && fault.strikes(offset, length as u64))
    }

    pub(super) fn write(&self, from: &[u8], offset: u64, fua: bool) -> io::Result<()> {
        let Some(fault) = self.fault_at(offset, from.len()) else {
            return self.inner.write(from, offset, fua);
        };
        let mut past = lock(&self.past);
        let here = past.entry(offset).or_default();
        here.writes += 1;
        here.before = None;
        if here.writes != 2 {
            drop(past);
            return self.inner.write(from, offset, fua);
        }
        let half = &from[..from.len() / 2];
        match fault.kind {
            FaultKind::Lost => Ok(()),
            FaultKind::Torn => self.inner.write(half, offset, fua),
            FaultKind::Stale => {
                let mut before = vec![0; from.len()];
                self.inner.read(&mut before, offset)?;
                here.before = Some(before);
                here.reads_since = 0;
                self.inner.write(from, offset, fua)
            }
            FaultKind::Misdirected => match offset.checked_sub(from.len() as u64) {
                Some(elsewhere) if elsewhere >= HEAD_BYTES => self.inner.write(from, elsewhere, fua),
                _ => self.inner.write(from, offset, fua),
            },
            FaultKind::Corrupted => {
                let mut wrong = from.to_vec();
                let at = (offset ^ fault.seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
                if let Some(byte) = wrong.get_mut((at % from.len() as u64) as usize) {
                    *byte ^= 1 << (fault.seed % 8);
                }
                self.inner.write(&wrong, offset, fua)
            }
            FaultKind::ShortError => {
                here.fails_once = true;
                self.inner.write(half, offset, fua)?;
                Err(io::Error::from_raw_os_error(libc::EIO))
            }
        }
    }

    pub(super) fn read(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        if self.fault_at(offset, into.len()).is_some()
            && let Some(here) = lock(&self.past).get_mut(&offset)
        {
            here.reads_since += 1;
            if std::mem::take(&mut here.fails_once) {
                return Err(io::Error::from_raw_os_error(libc::EIO));
            }
            if let Some(before) = here.before.as_ref().filter(|before| before.len() == into.len())
                && here.reads_since > 1
            {
                into.copy_from_slice(before);
                return Ok(());
            }
        }
        self.inner.read(into, offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nbd::server::config::BackingConfig;

    const AT: u64 = 3 << 20;

    fn faulty(kind: FaultKind) -> Faulty {
        faulty_at(kind, AT + 5)
    }

    fn faulty_at(kind: FaultKind, offset: u64) -> Faulty {
        let (inner, _) =
            Backing::open(&BackingConfig::Memory { size_bytes: 4 << 20, read_only: false }).expect("memory");
        Faulty::new(inner, vec![FaultConfig { kind, every: None, offset: Some(offset), seed: 3 }])
    }

    type Reads = Vec<Result<u8, i32>>;

    fn read(disk: &Faulty, offset: u64) -> Result<u8, i32> {
        let mut bytes = [0; 4096];
        disk.read(&mut bytes, offset).map_err(|e| e.raw_os_error().unwrap_or(0))?;
        Ok(bytes[4095])
    }

    /// Blocks of 1s, 2s and 3s are written in turn; what reads give after the second and after the third.
    fn story(kind: FaultKind) -> (Reads, Reads) {
        let disk = faulty(kind);
        let write = |n: u8| drop(disk.write(&[n; 4096], AT, false));
        write(1);
        assert_eq!(read(&disk, AT), Ok(1));
        write(2);
        let second = (0..3).map(|_| read(&disk, AT)).collect();
        write(3);
        (second, (0..2).map(|_| read(&disk, AT)).collect())
    }

    #[test]
    fn each_fault_does_what_it_says_once() {
        let good = vec![Ok(3), Ok(3)];
        assert_eq!(story(FaultKind::Lost), (vec![Ok(1); 3], good.clone()));
        assert_eq!(story(FaultKind::Torn), (vec![Ok(1); 3], good.clone()));
        assert_eq!(story(FaultKind::Stale), (vec![Ok(2), Ok(1), Ok(1)], good.clone()));
        assert_eq!(story(FaultKind::Misdirected), (vec![Ok(1); 3], good.clone()));
        assert_eq!(story(FaultKind::ShortError), (vec![Err(libc::EIO), Ok(1), Ok(1)], good));
    }

    #[test]
    fn a_misdirected_write_lands_at_the_block_before_and_never_in_the_mark() {
        for (at, struck, there, before) in [(AT, AT + 5, 1, 2), (HEAD_BYTES, HEAD_BYTES, 2, 0)] {
            let disk = faulty_at(FaultKind::Misdirected, struck);
            for n in 1..3 {
                disk.write(&[n; 4096], at, false).expect("memory");
            }
            assert_eq!((read(&disk, at), read(&disk, at - 4096)), (Ok(there), Ok(before)));
        }
    }

    #[test]
    fn a_corrupted_write_has_one_wrong_bit() {
        let disk = faulty(FaultKind::Corrupted);
        for _ in 0..2 {
            disk.write(&[0; 4096], AT, false).expect("memory");
        }
        let mut bytes = [0; 4096];
        disk.read(&mut bytes, AT).expect("memory");
        assert_eq!(bytes.iter().map(|b| b.count_ones()).sum::<u32>(), 1);
    }

    #[test]
    fn one_in_so_many_is_chosen_by_offset() {
        let fault = FaultConfig { kind: FaultKind::Lost, every: Some(4), offset: None, seed: 6 };
        let struck: Vec<u64> = (0..10).filter(|block| fault.strikes(block * 4096, 4096)).collect();
        assert_eq!(struck, [2, 6]);
    }
}
