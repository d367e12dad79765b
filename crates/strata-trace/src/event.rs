//! One record of the block layer as a value.

use std::collections::HashMap;

use crate::flags::Flags;
use crate::format::{Field, Format};

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// An I/O entered the block layer of a device.
    Queue = 0,
    /// It was too long, or crossed a boundary, and was cut at `other`.
    Split = 1,
    /// It joined a request that waited: behind or before it.
    Merge = 2,
    /// Two waiting requests became one.
    RequestMerge = 3,
    /// A request was given to the scheduler.
    Insert = 4,
    /// A request was handed to the driver.
    Issue = 5,
    /// The driver gave it back to be issued again.
    Requeue = 6,
    /// A request, or a part of it, was done.
    Complete = 7,
    /// It failed.
    Error = 8,
    /// An I/O was done, of a device that has no requests.
    BioComplete = 9,
}

/// The kernel's events and what they mean here.
pub const EVENTS: [(&str, Kind); 11] = [
    ("block_bio_queue", Kind::Queue),
    ("block_split", Kind::Split),
    ("block_bio_backmerge", Kind::Merge),
    ("block_bio_frontmerge", Kind::Merge),
    ("block_rq_merge", Kind::RequestMerge),
    ("block_rq_insert", Kind::Insert),
    ("block_rq_issue", Kind::Issue),
    ("block_rq_requeue", Kind::Requeue),
    ("block_rq_complete", Kind::Complete),
    ("block_rq_error", Kind::Error),
    ("block_bio_complete", Kind::BioComplete),
];

impl Kind {
    /// From its number.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        EVENTS.iter().map(|e| e.1).find(|kind| *kind as u8 == number)
    }
}

/// One record. 48 bytes, so a million of them are 48 MB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, in ns.
    pub at_ns: u64,
    /// First sector.
    pub sector: u64,
    /// Of a split: where the second part begins.
    pub other: u64,
    /// The kernel's number of the device (major << 20 | minor).
    pub dev: u32,
    /// How many sectors; 0 for a flush.
    pub sectors: u32,
    /// The thread that was running.
    pub pid: i32,
    /// 0, or the negative errno of what failed.
    pub error: i32,
    /// Its name, in [`Names`].
    pub comm: u16,
    /// What happened.
    pub kind: Kind,
    /// What the I/O is.
    pub flags: Flags,
}

/// Names of threads, each kept once.
#[derive(Clone, Debug)]
pub struct Names {
    list: Vec<String>,
    index: HashMap<Vec<u8>, u16>,
}

impl Default for Names {
    fn default() -> Self {
        Self { list: vec![String::new()], index: HashMap::from([(Vec::new(), 0)]) }
    }
}

impl Names {
    /// The number of a name. 0 is no name, also for what comes after 65 535 different ones.
    pub fn number(&mut self, name: &[u8]) -> u16 {
        if let Some(&known) = self.index.get(name) {
            return known;
        }
        let Ok(number) = u16::try_from(self.list.len()) else { return 0 };
        self.list.push(String::from_utf8_lossy(name).into_owned());
        self.index.insert(name.to_vec(), number);
        number
    }

    /// The name of a number.
    #[must_use]
    pub fn name(&self, number: u16) -> &str {
        self.list.get(number as usize).map_or("", String::as_str)
    }

    /// All of them by number.
    #[must_use]
    pub fn all(&self) -> &[String] {
        &self.list
    }
}

struct Places {
    kind: Kind,
    pid: Option<Field>,
    dev: Field,
    sector: Field,
    sectors: Option<Field>,
    other: Option<Field>,
    error: Option<Field>,
    letters: Option<Field>,
    comm: Option<Field>,
}

/// From records to events, by the kernel's formats.
pub struct Decoder {
    id: Option<Field>,
    by_id: HashMap<i64, Places>,
    /// Names met so far.
    pub names: Names,
}

impl Decoder {
    /// Knows these events; formats of others are passed over.
    ///
    /// # Errors
    /// Which event lacks which field.
    pub fn new(formats: &[Format]) -> Result<Self, String> {
        let mut by_id = HashMap::new();
        let mut id = None;
        for format in formats {
            let Some(&(_, kind)) = EVENTS.iter().find(|(name, _)| *name == format.name) else { continue };
            let need = |name: &str| {
                format.field(name).cloned().ok_or_else(|| format!("{}: no field {name}", format.name))
            };
            let places = Places {
                kind,
                pid: format.field("common_pid").cloned(),
                dev: need("dev")?,
                sector: need("sector")?,
                sectors: format.field("nr_sector").cloned(),
                other: if kind == Kind::Split { Some(need("new_sector")?) } else { None },
                // Linux before 5.7 called it errors.
                error: format.field("error").or(format.field("errors")).cloned(),
                letters: format.field("rwbs").cloned(),
                comm: format.field("comm").cloned(),
            };
            id = Some(need("common_type")?);
            by_id.insert(i64::from(format.id), places);
        }
        Ok(Self { id, by_id, names: Names::default() })
    }

    /// The event of a record; `None` for what is not of the block layer or cut short.
    pub fn decode(&mut self, at_ns: u64, record: &[u8]) -> Option<Event> {
        let places = self.by_id.get(&self.id.as_ref()?.number(record)?)?;
        let number = |field: &Option<Field>| field.as_ref().and_then(|f| f.number(record)).unwrap_or(0);
        let letters = places.letters.as_ref().and_then(|f| f.text(record)).unwrap_or_default();
        Some(Event {
            at_ns,
            sector: places.sector.number(record)? as u64,
            other: number(&places.other) as u64,
            dev: places.dev.number(record)? as u32,
            sectors: number(&places.sectors) as u32,
            pid: number(&places.pid) as i32,
            error: number(&places.error) as i32,
            comm: match places.comm.as_ref().and_then(|f| f.text(record)) {
                Some(name) => self.names.number(name),
                None => 0,
            },
            kind: places.kind,
            flags: Flags::parse(letters),
        })
    }
}
