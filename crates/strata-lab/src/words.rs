//! `key=value` words and the values in them.

/// Nanoseconds of a microsecond.
pub const NS_PER_US: f64 = 1e3;
/// Nanoseconds of a millisecond.
pub const NS_PER_MS: f64 = 1e6;
/// A longer time than this is a slip of the unit.
const LONGEST_NS: f64 = 3600e9;

/// Give each word's key and value to `apply`, in order, until it refuses one; the refusal names the word.
pub fn each(text: &str, mut apply: impl FnMut(&str, &str) -> Result<(), String>) -> Result<(), String> {
    for word in text.split_whitespace() {
        let (key, value) =
            word.split_once('=').ok_or_else(|| format!("{word:?} is not of the form key=value"))?;
        apply(key, value).map_err(|why| format!("{key}={value}: {why}"))?;
    }
    Ok(())
}

/// A number of 0 or more.
pub fn rate(value: &str) -> Result<f64, String> {
    match value.parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
        _ => Err("not a number of 0 or more".to_owned()),
    }
}

/// A number of 0 to 1.
pub fn share(value: &str) -> Result<f64, String> {
    rate(value).and_then(|n| if n <= 1.0 { Ok(n) } else { Err("not a share of 0 to 1".to_owned()) })
}

fn time(value: &str, unit_ns: f64) -> Result<u64, String> {
    let ns = rate(value)? * unit_ns;
    if ns <= LONGEST_NS { Ok(ns.round() as u64) } else { Err("longer than an hour".to_owned()) }
}

/// A time told in µs, as ns.
pub fn us(value: &str) -> Result<u64, String> {
    time(value, NS_PER_US)
}

/// A time told in ms, as ns.
pub fn ms(value: &str) -> Result<u64, String> {
    time(value, NS_PER_MS)
}

/// A whole number.
pub fn whole<T: std::str::FromStr>(value: &str) -> Result<T, String> {
    value.parse().map_err(|_| "not a whole number that fits".to_owned())
}

/// Bytes: a whole number, or one with KiB, MiB, GiB, TiB.
pub fn size(value: &str) -> Result<u64, String> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40), ("", 0)];
    units
        .iter()
        .find_map(|(unit, shift)| {
            let count: u64 = value.strip_suffix(unit)?.parse().ok()?;
            count.checked_mul(1 << shift)
        })
        .ok_or_else(|| "not a size: bytes, or a number with KiB, MiB, GiB or TiB".to_owned())
}
