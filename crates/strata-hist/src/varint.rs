//! Zigzag LEB128 as HdrHistogram V2 writes it: 7 bits a byte, but a ninth byte carries 8.

/// Append one signed number (1 to 9 bytes).
pub fn write(out: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    for _ in 0..8 {
        if rest < 0x80 {
            out.push(rest as u8);
            return;
        }
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Take one signed number off the front; `None` when the bytes end too early.
pub fn read(bytes: &mut &[u8]) -> Option<i64> {
    let mut raw = 0u64;
    for place in 0..9 {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if place == 8 {
            raw |= u64::from(byte) << 56;
            break;
        }
        raw |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some((raw >> 1) as i64 ^ -((raw & 1) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_survives() {
        for value in [0, -1, 1, 63, 64, -65, 1 << 20, -(1 << 41), i64::MAX, i64::MIN] {
            let mut bytes = Vec::new();
            write(&mut bytes, value);
            assert!(bytes.len() <= 9);
            let mut rest = bytes.as_slice();
            assert_eq!(read(&mut rest), Some(value));
            assert!(rest.is_empty());
        }
    }

    #[test]
    fn a_cut_number_is_refused() {
        assert_eq!(read(&mut [0x80u8, 0x80].as_slice()), None);
    }
}
