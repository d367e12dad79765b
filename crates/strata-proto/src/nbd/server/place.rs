//! The place of a unix socket in a directory: taken only where nothing of anybody's is, and given up only while it is ours.

use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, RenameFlags, fchmod, renameat_with, statat, unlinkat};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use rustix::net::{bind as bind_to, listen as listen_on};
use rustix::process::geteuid;

use crate::named::{any_number, named_as};

/// Device and number: what a file is, whatever its name.
type Inode = (u64, u64);

/// A socket's name, which is taken away when this is dropped if it still leads to the socket that was made.
#[derive(Debug)]
pub(super) struct Place {
    folder: File,
    name: CString,
    made: Inode,
}

/// What a name leads to, links not followed.
struct Seen {
    inode: Inode,
    ours: bool,
    socket: bool,
}

/// Listen at `path`, for this user alone (mode 0600). A socket of this user's that nobody listens on is what a server that
/// was killed has left: it makes room. Nothing else does.
///
/// # Errors
/// `EADDRINUSE`: something is there, and what it is. Or the system refuses.
pub(super) fn bind(path: &Path) -> io::Result<(UnixListener, Place)> {
    let (folder, name) = open(path)?;
    // By the descriptor of its directory: the name leads to the same place from the first look to the last.
    let there = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
    let there = there.join(OsStr::from_bytes(name.to_bytes()));
    match look(&folder, &name) {
        Ok(seen) => {
            let in_use = |why: &str| {
                Err(named_as(format_args!("{why}; remove it, or give another path"), libc::EADDRINUSE))
            };
            if !seen.socket || !seen.ours {
                return in_use("what exists there is not a socket of this user");
            }
            match UnixStream::connect(&there) {
                Err(error) if error.raw_os_error() == Some(libc::ECONNREFUSED) => {}
                _ => return in_use("a server is listening there"),
            }
            remove(&folder, &name, seen.inode)?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let listener = listen(&there)?;
    let made = look(&folder, &name)?.inode;
    Ok((listener, Place { folder, name, made }))
}

impl Drop for Place {
    fn drop(&mut self) {
        let _another_is_there = remove(&self.folder, &self.name, self.made);
    }
}

fn open(path: &Path) -> io::Result<(File, CString)> {
    let name = path.file_name().ok_or_else(|| io::Error::from_raw_os_error(libc::EISDIR))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let flags = libc::O_PATH | libc::O_DIRECTORY;
    let folder = File::options().read(true).custom_flags(flags).open(folder)?;
    Ok((folder, CString::new(name.as_bytes())?))
}

fn look(folder: &File, name: &CStr) -> io::Result<Seen> {
    let found = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let ours = found.st_uid == geteuid().as_raw();
    let socket = FileType::from_raw_mode(found.st_mode) == FileType::Socket;
    Ok(Seen { inode: (found.st_dev, found.st_ino), ours, socket })
}

/// Take away what `name` leads to, if that is `inode`. The system removes by name alone, so it is moved aside first: what
/// another has put there since the last look is found out there, and moved back.
fn remove(folder: &File, name: &CStr, inode: Inode) -> io::Result<()> {
    if look(folder, name)?.inode != inode {
        return Err(io::Error::from_raw_os_error(libc::EADDRINUSE));
    }
    let aside = CString::new(format!(".strata-{:08x}{:08x}", any_number(), any_number()))?;
    rename(folder, name, &aside)?;
    if look(folder, &aside)?.inode != inode {
        rename(folder, &aside, name)?;
        return Err(io::Error::from_raw_os_error(libc::EADDRINUSE));
    }
    Ok(unlinkat(folder, &aside, AtFlags::empty())?)
}

/// Never over something that is there.
fn rename(folder: &File, from: &CStr, to: &CStr) -> io::Result<()> {
    Ok(renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE)?)
}

fn listen(path: &Path) -> io::Result<UnixListener> {
    let address = SocketAddrUnix::new(path)?;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    // The file takes its mode from the socket: there is no instant at which others could connect.
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    bind_to(&socket, &address)?;
    listen_on(&socket, 128)?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn refused(path: &Path) -> String {
        let error = bind(path).expect_err("something is there");
        assert_eq!(crate::errno(&error), libc::EADDRINUSE);
        error.to_string()
    }

    #[test]
    fn it_is_ours_alone_from_the_first_instant_and_goes_with_us() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s");
        let (listener, place) = bind(&path).expect("free");
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        UnixStream::connect(&path).expect("a server listens");
        assert!(refused(&path).contains("a server is listening there"));
        drop((listener, place));
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }

    #[test]
    fn only_a_socket_that_nobody_listens_on_makes_room() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s");
        drop(UnixListener::bind(&path).expect("free"));
        drop(bind(&path).expect("what a killed server has left"));
        for make in [
            |path: &Path| fs::write(path, "mine").expect("free"),
            |path: &Path| fs::create_dir(path).expect("free"),
            |path: &Path| symlink("/run/elsewhere", path).expect("free"),
        ] {
            make(&path);
            assert!(refused(&path).contains("not a socket of this user"));
            assert!(fs::symlink_metadata(&path).is_ok(), "it is left");
            fs::remove_file(&path).or_else(|_| fs::remove_dir(&path)).expect("of this test");
        }
    }

    #[test]
    fn what_took_its_place_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s");
        let (_listener, place) = bind(&path).expect("free");
        fs::rename(&path, folder.path().join("moved")).expect("in one folder");
        fs::write(&path, "of others").expect("free");
        drop(place);
        assert_eq!(fs::read_to_string(&path).expect("still there"), "of others");
    }

    #[test]
    fn what_comes_between_the_look_and_the_removal_is_put_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s");
        fs::write(&path, "of others").expect("free");
        let (opened, name) = open(&path).expect("a folder");
        let inode = look(&opened, &name).expect("there").inode;
        let other = (inode.0, inode.1 + 1);
        assert!(remove(&opened, &name, other).is_err());
        assert_eq!(fs::read_to_string(&path).expect("still there"), "of others");
        remove(&opened, &name, inode).expect("that very one");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }
}
