//! What the addresses of all protocols have in common.

use std::path::PathBuf;

use strata_io::bounds::CONNECTIONS_MOST;

/// Host (IPv6 without brackets) and port, as they stand before the path.
pub fn host_and_port(text: &str) -> Result<(String, Option<u16>), String> {
    let (name, port) = if let Some(inside) = text.strip_prefix('[') {
        let (name, after) = inside.split_once(']').ok_or("the bracket of the address is not closed")?;
        (name, if after.is_empty() { None } else { Some(after.strip_prefix(':').ok_or("bad port")?) })
    } else {
        text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port)))
    };
    if name.is_empty() {
        return Err("it has no host".into());
    }
    Ok((name.into(), port.map(self::port).transpose()?))
}

/// A port that can be connected to.
pub fn port(text: &str) -> Result<u16, String> {
    text.parse().ok().filter(|port| *port > 0).ok_or(format!("{text:?} is not a port"))
}

/// The number of connections that an address asks for.
pub fn connections(text: &str) -> Result<u32, String> {
    let count = text.parse().ok().filter(|count| (1..=CONNECTIONS_MOST).contains(count));
    count.ok_or(format!("connections must be 1 to {CONNECTIONS_MOST}"))
}

/// What stands behind the question mark, as pairs.
pub fn query(text: &str) -> Result<Vec<(&str, &str)>, String> {
    let items = text.split('&').filter(|item| !item.is_empty());
    items.map(|item| item.split_once('=').ok_or(format!("{item:?} has no value"))).collect()
}

/// Undo percent-encoding.
pub fn decode(text: &str) -> Result<String, String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        match (digit(bytes.next()), digit(bytes.next())) {
            (Some(high), Some(low)) => out.push((high * 16 + low) as u8), // below 256
            _ => return Err(format!("{text:?} has a % without two hexadecimal digits")),
        }
    }
    String::from_utf8(out).map_err(|_| format!("{text:?} is not UTF-8"))
}

/// A host, and the network namespace it is dialled from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub host: String,
    pub netns: Option<PathBuf>,
}
