//! The kernel's own description of its records (`events/…/format`, `events/header_page`).
//!
//! Offsets and sizes differ between kernels (`rwbs` has 8 bytes on one and 10 on the next), so none is written down here.

/// Where one field lies in a record, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name, without brackets.
    pub name: String,
    /// From the beginning of the record.
    pub offset: usize,
    /// How long it is.
    pub size: usize,
    /// Whether the kernel calls it signed.
    pub signed: bool,
}

impl Field {
    /// The number in it, little-endian, sign extended; `None` where the record ends before it or it is no number.
    #[must_use]
    pub fn number(&self, record: &[u8]) -> Option<i64> {
        let bytes = self.bytes(record)?;
        if bytes.is_empty() || bytes.len() > 8 {
            return None;
        }
        let mut wide = [0; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        let value = u64::from_le_bytes(wide);
        let unused = 64 - 8 * bytes.len() as u32;
        Some(if self.signed { ((value << unused) as i64) >> unused } else { value as i64 })
    }

    /// Its bytes; `None` where the record ends before it does.
    #[must_use]
    pub fn bytes<'a>(&self, record: &'a [u8]) -> Option<&'a [u8]> {
        record.get(self.offset..self.offset.checked_add(self.size)?)
    }

    /// Its text up to the first NUL.
    #[must_use]
    pub fn text<'a>(&self, record: &'a [u8]) -> Option<&'a [u8]> {
        let bytes = self.bytes(record)?;
        Some(&bytes[..bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len())])
    }
}

/// One event's `format` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// `block_rq_issue` and the like.
    pub name: String,
    /// The number that begins each of its records.
    pub id: u16,
    /// Its fields in their order.
    pub fields: Vec<Field>,
}

impl Format {
    /// Read a `format` file.
    ///
    /// # Errors
    /// What is missing, with the event's name as far as it is known.
    pub fn parse(text: &str) -> Result<Self, String> {
        let value = |key: &str| text.lines().find_map(|line| line.trim().strip_prefix(key)).map(str::trim);
        let name = value("name:").ok_or("a format without a name")?.to_owned();
        let id = value("ID:").and_then(|id| id.parse().ok()).ok_or_else(|| format!("{name}: no ID"))?;
        Ok(Self { fields: fields(text), name, id })
    }

    /// A field by its name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// Every line `field:TYPE NAME; offset:N; size:N; signed:N;` of a text.
#[must_use]
pub fn fields(text: &str) -> Vec<Field> {
    text.lines().filter_map(field).collect()
}

fn field(line: &str) -> Option<Field> {
    let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
    let declared = parts.next()?;
    // `char comm[16]`, `__data_loc char[] cmd`: the name is the last word, up to its bracket.
    let name = declared.rsplit([' ', '*']).next()?.split('[').next()?.to_owned();
    let (mut offset, mut size, mut signed) = (None, None, false);
    for part in parts {
        match part.split_once(':') {
            Some(("offset", n)) => offset = n.trim().parse().ok(),
            Some(("size", n)) => size = n.trim().parse().ok(),
            Some(("signed", n)) => signed = n.trim() == "1",
            _ => {}
        }
    }
    Some(Field { name, offset: offset?, size: size?, signed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_as_the_kernel_writes_it() {
        let format = Format::parse(include_str!("../tests/data/format/block_rq_issue")).unwrap();
        assert_eq!(format.name, "block_rq_issue");
        let rwbs = format.field("rwbs").unwrap();
        assert_eq!((rwbs.offset, rwbs.size), (34, 10));
        assert_eq!(format.field("common_pid").unwrap().offset, 4);
        assert!(format.field("common_pid").unwrap().signed);
        assert_eq!(format.field("cmd").unwrap().size, 4);
    }

    #[test]
    fn what_is_missing_is_said() {
        assert_eq!(Format::parse("").unwrap_err(), "a format without a name");
        assert_eq!(Format::parse("name: x\n").unwrap_err(), "x: no ID");
    }

    #[test]
    fn numbers_are_extended_by_their_sign() {
        let signed = Field { name: "error".into(), offset: 1, size: 4, signed: true };
        let record = [9, 0xfb, 0xff, 0xff, 0xff];
        assert_eq!(signed.number(&record), Some(-5));
        assert_eq!(Field { signed: false, ..signed.clone() }.number(&record), Some(0xffff_fffb));
        assert_eq!(signed.number(&record[..4]), None);
    }
}
