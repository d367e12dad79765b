//! Where a thread may run and where its memory comes from: asked for, applied, and read back.

use std::io;
use std::path::Path;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::error::{Error, Result};
use crate::job::Job;

const NODES: &str = "/sys/devices/system/node";
/// `linux/mempolicy.h`; not in the libc crate.
const MPOL_LOCAL: libc::c_int = 4;

/// Processors of each thread, in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// Thread n gets the (n mod length)-th of these.
    pub masks: Vec<Vec<u32>>,
    /// Take memory from the node the thread runs on, whatever policy the process was started with.
    pub local_memory: bool,
}

impl Pin {
    /// Processors of thread number `thread`.
    pub fn of(&self, thread: u32) -> &[u32] {
        &self.masks[thread as usize % self.masks.len()]
    }
}

/// Where a thread may run, as the kernel says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    pub cpus: Vec<u32>,
    /// `default`, `local` or another policy's name; `None` when the kernel does not say.
    pub memory: Option<&'static str>,
}

/// What a job asks for, nodes resolved to their processors.
///
/// # Errors
/// A node that this machine does not have, or that has no processor.
pub fn of(job: &Job) -> Result<Option<Pin>> {
    if let Some(cpus) = &job.pin_cpus {
        return Ok(Some(Pin { masks: cpus.iter().map(|&c| vec![c]).collect(), local_memory: false }));
    }
    let Some(nodes) = &job.pin_nodes else { return Ok(None) };
    let masks = nodes.iter().map(|&node| node_cpus(Path::new(NODES), node)).collect::<Result<_>>()?;
    Ok(Some(Pin { masks, local_memory: true }))
}

fn node_cpus(nodes: &Path, node: u32) -> Result<Vec<u32>> {
    let refuse = |why: &str| Err(Error::Job(vec![format!("pin_nodes: node {node} {why}")]));
    let Ok(text) = std::fs::read_to_string(nodes.join(format!("node{node}/cpulist"))) else {
        let has = std::fs::read_to_string(nodes.join("online")).unwrap_or_default();
        return refuse(&format!("is not on this machine (it has: {})", has.trim()));
    };
    match parse_list(text.trim()) {
        Some(cpus) if !cpus.is_empty() => Ok(cpus),
        Some(_) => refuse("has memory and no processor"),
        None => refuse(&format!("has processors {:?}, which cannot be read", text.trim())),
    }
}

/// The kernel's lists: `0-3,8`.
fn parse_list(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        if last < first || last >= libc::CPU_SETSIZE as u32 {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// `0-3,8`, as the kernel writes it.
pub fn list(cpus: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &cpu in cpus {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => parts.push((cpu, cpu)),
        }
    }
    let text = |&(first, last): &(u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    parts.iter().map(text).collect::<Vec<_>>().join(",")
}

/// Keep the calling thread where `pin` wants thread number `thread`.
///
/// # Errors
/// The kernel refuses: none of these processors is there, or may be used by this process.
pub fn apply(pin: &Pin, thread: u32) -> Result<()> {
    let cpus = pin.of(thread);
    set_cpus(cpus).map_err(|e| {
        Error::system(format!("cannot pin thread {thread} to processor(s) {}", list(cpus)), e)
    })?;
    if pin.local_memory {
        // SAFETY: sets the policy of the calling thread; no node mask is read for this mode. A kernel without NUMA
        // refuses, and has no other memory to take.
        unsafe { libc::syscall(libc::SYS_set_mempolicy, MPOL_LOCAL, std::ptr::null::<libc::c_ulong>(), 0) };
    }
    Ok(())
}

fn set_cpus(cpus: &[u32]) -> io::Result<()> {
    let mut set = CpuSet::new();
    // It has room for numbers below 1024, which the job check and `parse_list` demand.
    cpus.iter().for_each(|&cpu| set.set(cpu as usize));
    Ok(sched_setaffinity(None, &set)?)
}

impl Placement {
    /// Of the calling thread. No processors where the kernel has more than can be listed.
    pub fn in_effect() -> Self {
        let set = sched_getaffinity(None).unwrap_or_default();
        let has = |cpu: &u32| set.is_set(*cpu as usize);
        let mut mode: libc::c_int = 0;
        let (no_mask, no_address) = (std::ptr::null_mut::<libc::c_ulong>(), std::ptr::null::<u8>());
        // SAFETY: writes one int; neither a mask nor an address is asked about.
        let told =
            unsafe { libc::syscall(libc::SYS_get_mempolicy, &raw mut mode, no_mask, 0, no_address, 0) };
        let memory = (told == 0).then_some(match mode {
            0 => "default",
            1 => "preferred",
            2 => "bind",
            3 => "interleave",
            MPOL_LOCAL => "local",
            _ => "other",
        });
        Self { cpus: (0..CpuSet::MAX_CPU as u32).filter(has).collect(), memory }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_the_kernels() {
        for (text, cpus) in [("0", vec![0]), ("0-3,8", vec![0, 1, 2, 3, 8]), ("", vec![])] {
            assert_eq!(parse_list(text), Some(cpus.clone()));
            assert_eq!(list(&cpus), text);
        }
        for wrong in ["3-1", "x", "0-", "0-4294967295"] {
            assert_eq!(parse_list(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_was_applied_is_read_back() {
        let before = Placement::in_effect();
        let last = *before.cpus.last().expect("a processor");
        // In a thread of its own: the test's own thread stays where it was.
        let pinned = std::thread::spawn(move || {
            let pin = Pin { masks: vec![vec![1023], vec![last]], local_memory: true };
            apply(&pin, 3).map(|()| Placement::in_effect())
        });
        let pinned = pinned.join().expect("no panic").expect("pinned");
        assert_eq!(pinned.cpus, [last]);
        assert!(matches!(pinned.memory, Some("local") | None), "{:?}", pinned.memory);
        assert_eq!(Placement::in_effect(), before);
    }

    #[test]
    fn a_node_is_its_processors_and_a_missing_one_is_named() {
        let dir = tempfile::tempdir().expect("a directory");
        for (node, list) in [(0, "0-1\n"), (1, "\n")] {
            std::fs::create_dir(dir.path().join(format!("node{node}"))).expect("made");
            std::fs::write(dir.path().join(format!("node{node}/cpulist")), list).expect("written");
        }
        std::fs::write(dir.path().join("online"), "0-1\n").expect("written");
        assert_eq!(node_cpus(dir.path(), 0).expect("there"), [0, 1]);
        let said = |node| node_cpus(dir.path(), node).map_err(|e| e.to_string()).expect_err("refused");
        assert!(said(1).contains("no processor"), "{}", said(1));
        assert!(said(7).contains("it has: 0-1"), "{}", said(7));
    }
}
