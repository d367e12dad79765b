//! Work done inside another network namespace.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::io::Errno;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::named::{named, named_as};

/// What `f` gives, run inside the network namespace at `path`; without one, here and now.
///
/// A thread of its own enters it and ends with `f`, so no other thread is moved. A socket belongs for good to the
/// namespace it was made in, whichever thread uses it afterwards.
///
/// # Errors
/// There is no namespace at `path`, or this process may not enter it (root, or `CAP_SYS_ADMIN` over both); named with
/// the path and the next step. Else what `f` says.
pub fn within<T: Send>(path: Option<&Path>, f: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let Some(path) = path else { return f() };
    let inside = || {
        enter(path)?;
        f()
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("netns".into()).spawn_scoped(scope, inside)?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn enter(path: &Path) -> io::Result<()> {
    let what = format!("cannot enter the network namespace {}", path.display());
    let refuse = |why: &str, errno| Err(named_as(format_args!("{what}: {why}"), errno));
    let namespace = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return refuse("it does not exist; start the lab, or correct netns of the node", libc::ENOENT);
        }
        Err(error) => return Err(named(what, &error)),
    };
    // It moves this thread alone, which is ours.
    match move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)) {
        Ok(()) => Ok(()),
        Err(Errno::PERM) => refuse("that needs root; run as root, or leave its layers out", libc::EPERM),
        Err(Errno::INVAL) => refuse("it is not a network namespace; ip netns list shows all", libc::EINVAL),
        Err(error) => Err(named(what, &error.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_namespace_it_is_a_plain_call() {
        let thread = std::thread::current().id();
        assert_eq!(within(None, || Ok(std::thread::current().id())).expect("a call"), thread);
    }

    #[test]
    fn what_cannot_be_entered_is_named_with_the_reason() {
        let gone = within(Some(Path::new("/run/netns/there-is-none")), || Ok(())).expect_err("nothing there");
        assert!(gone.to_string().contains("/run/netns/there-is-none: it does not exist"), "{gone}");
        assert_eq!(crate::errno(&gone), libc::ENOENT);
        let file = tempfile::NamedTempFile::new().expect("a file");
        let other = within(Some(file.path()), || Ok(())).expect_err("a plain file");
        assert!(matches!(crate::errno(&other), libc::EINVAL | libc::EPERM), "{other}");
        assert!(other.to_string().contains("cannot enter the network namespace"), "{other}");
    }

    #[test]
    fn a_panic_inside_is_a_panic_here() {
        let own = Path::new("/proc/self/ns/net");
        if within(Some(own), || Ok(())).is_err() {
            return; // without rights nothing is run inside
        }
        let caught =
            std::panic::catch_unwind(|| within(Some(own), || -> io::Result<()> { panic!("inside") }));
        assert!(caught.is_err());
    }
}
