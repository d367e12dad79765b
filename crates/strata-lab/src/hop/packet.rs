//! A raw socket at one interface: whole frames in and out, with the header that tells of their offloads.

use std::fs::File;
use std::io::{self, Read, Write};
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

/// `virtio_net_hdr`: what comes before each frame, in both directions.
pub const HEADER: usize = 10;
/// Room for frames that wait in the kernel while the hop is busy.
const SOCKET_BYTES: libc::c_int = 8 << 20;

/// A socket that sees every frame that comes in at the interface, and none that goes out there.
#[derive(Debug)]
pub struct PacketSocket {
    file: File,
}

impl PacketSocket {
    /// At the interface of this name, in the network namespace of the calling thread. Needs CAP_NET_RAW.
    pub fn open(interface: &str) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let fd = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?;
        let index = rustix::net::netdevice::name_to_index(fd.as_fd(), interface)?;
        set(&fd, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1_i32)?;
        set(&fd, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1_i32)?;
        // More than the system's limit where that is allowed, else as much as it gives.
        for (forced, plain) in
            [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)]
        {
            if set(&fd, libc::SOL_SOCKET, forced, &SOCKET_BYTES).is_err() {
                set(&fd, libc::SOL_SOCKET, plain, &SOCKET_BYTES)?;
            }
        }
        let everything = libc::packet_mreq {
            mr_ifindex: index as i32,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        set(&fd, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &everything)?;
        bind(&fd, index)?;
        Ok(Self { file: File::from(fd) })
    }

    /// The next frame with its header; `None` when there is none.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match (&self.file).read(buffer) {
            Ok(len) => Ok(Some(len)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Out with a frame and its header.
    pub fn send(&self, frame: &[u8]) -> io::Result<()> {
        (&self.file).write(frame).map(|_| ())
    }

    /// Frames that the kernel dropped here since the last call, because the hop did not fetch them.
    pub fn missed(&self) -> u64 {
        // SAFETY: all-zero is a valid value of two counters.
        let mut stats: libc::tpacket_stats = unsafe { std::mem::zeroed() };
        let mut len = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        // SAFETY: the pointers are to live values of the stated size.
        let status = unsafe {
            libc::getsockopt(
                self.file.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut stats).cast(),
                &raw mut len,
            )
        };
        if status == 0 { u64::from(stats.tp_drops) } else { 0 }
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn set<T: Copy>(fd: &OwnedFd, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
    let len = size_of::<T>() as libc::socklen_t;
    // SAFETY: the pointer is to a live value of `len` bytes, which the kernel only reads.
    let status =
        unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, std::ptr::from_ref(value).cast(), len) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn bind(fd: &OwnedFd, index: u32) -> io::Result<()> {
    // SAFETY: all-zero is a valid address.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index as i32;
    let len = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the pointer is to a live address of `len` bytes, which the kernel only reads.
    let status = unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), len) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
