//! From addresses to functions and source lines, with binutils' `addr2line`.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::{Command, Stdio};

/// Lines of each table.
const MOST: usize = 60;

/// A file that is mapped with execute permission.
#[derive(Clone, Debug)]
pub struct Image {
    start: u64,
    end: u64,
    /// What to subtract from an address to get the one in the file's symbol table.
    bias: u64,
    path: String,
}

impl Image {
    /// The images of a process.
    ///
    /// # Errors
    /// Its maps cannot be read.
    pub fn of(pid: i32) -> io::Result<Vec<Self>> {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"))?;
        let mut first: HashMap<String, u64> = HashMap::new();
        let mut images = Vec::new();
        for line in maps.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [range, permissions, _, _, _, path, ..] = words.as_slice() else { continue };
            let Some((start, end)) = range.split_once('-') else { continue };
            let (Ok(start), Ok(end)) = (u64::from_str_radix(start, 16), u64::from_str_radix(end, 16)) else {
                continue;
            };
            let base = *first.entry((*path).to_owned()).or_insert(start);
            if permissions.contains('x') {
                let bias = if is_relocatable(path) { base } else { 0 };
                images.push(Self { start, end, bias, path: (*path).to_owned() });
            }
        }
        Ok(images)
    }
}

/// Whether an ELF file is loaded wherever there is room (`ET_DYN`).
fn is_relocatable(path: &str) -> bool {
    use std::io::Read;
    let mut head = [0u8; 18];
    let read = std::fs::File::open(path).and_then(|mut f| f.read_exact(&mut head));
    read.is_err() || u16::from_le_bytes([head[16], head[17]]) == 3
}

/// Three tables: instructions for each I/O by the innermost source file that lies in a crate of ours, by function (the
/// innermost inlined one), and by that file's lines, with what was inlined there.
pub fn table(visits: &HashMap<u64, u64>, images: &[Image], ios: u64) -> String {
    let mut functions: BTreeMap<String, u64> = BTreeMap::new();
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    let mut files: BTreeMap<String, u64> = BTreeMap::new();
    let mut by_image: BTreeMap<&str, Vec<(u64, u64)>> = BTreeMap::new();
    for (&address, &n) in visits {
        let image = images.iter().find(|i| (i.start..i.end).contains(&address));
        let (path, inside) = image.map_or(("?", address), |i| (i.path.as_str(), address - i.bias));
        by_image.entry(path).or_default().push((inside, n));
    }
    for (path, addresses) in by_image {
        let frames = frames(path, &addresses).unwrap_or_default();
        for (i, (_, n)) in addresses.iter().enumerate() {
            let here: &[(String, String)] = frames.get(i).map_or(&[], Vec::as_slice);
            let function = here.first().map_or_else(|| format!("[{path}]"), |(f, _)| f.clone());
            *functions.entry(function).or_default() += n;
            let ours = here.iter().position(|(_, at)| at.starts_with("strata-")).unwrap_or(0);
            let line = match here.get(ours) {
                Some((function, at)) if ours > 0 => format!("{at} {function} (in {})", here[0].0),
                Some((function, at)) => format!("{at} {function}"),
                None => format!("[{path}]"),
            };
            *lines.entry(line).or_default() += n;
            let file = here.get(ours).map_or(path, |(_, at)| at.split(':').next().unwrap_or(at));
            *files.entry(file.to_owned()).or_default() += n;
        }
    }
    let mut text = String::new();
    for (title, table) in [("file", files), ("function", functions), ("line", lines)] {
        let mut rows: Vec<(String, u64)> = table.into_iter().collect();
        rows.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        let _ = writeln!(text, "\n  per I/O  {title}");
        for (name, n) in rows.iter().take(MOST) {
            let _ = writeln!(text, "{:9.2}  {name}", *n as f64 / ios.max(1) as f64);
        }
    }
    text
}

/// Function and place of each address, innermost frame first.
fn frames(path: &str, addresses: &[(u64, u64)]) -> io::Result<Vec<Vec<(String, String)>>> {
    if path.starts_with('[') || path == "?" {
        return Ok(Vec::new());
    }
    let mut tool = Command::new("addr2line")
        .args(["-a", "-f", "-i", "-C", "-e", path])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let list: String = addresses.iter().map(|(a, _)| format!("{a:#x}\n")).collect();
    let mut input = tool.stdin.take().ok_or_else(|| io::Error::other("no pipe"))?;
    let writer = std::thread::spawn(move || input.write_all(list.as_bytes()));
    let output = tool.wait_with_output()?;
    let _ = writer.join();
    let mut all = Vec::new();
    let mut function: Option<String> = None;
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        if line.starts_with("0x") {
            all.push(Vec::new());
            function = None;
        } else if let Some(name) = function.take() {
            if let Some(frames) = all.last_mut() {
                frames.push((plain(&name), short(line)));
            }
        } else {
            function = Some(line.to_owned());
        }
    }
    Ok(all)
}

/// The last three parts of a path, without what the compiler adds in brackets.
fn short(place: &str) -> String {
    let place = place.split(" (").next().unwrap_or(place);
    let parts: Vec<&str> = place.rsplit('/').take(3).collect();
    parts.into_iter().rev().collect::<Vec<_>>().join("/")
}

/// A function's name without the types it is compiled for.
fn plain(name: &str) -> String {
    let mut depth = 0;
    let mut text = String::new();
    for c in name.chars() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            c if depth == 0 => text.push(c),
            _ => {}
        }
    }
    if text.is_empty() { name.to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_places_are_told_apart() {
        assert_eq!(plain("next<core::option::Option<u32>>"), "next");
        assert_eq!(
            short("/a/b/crates/strata-io/src/pool.rs:12 (discriminator 3)"),
            "strata-io/src/pool.rs:12"
        );
    }
}
