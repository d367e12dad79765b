//! The portmapper: which port a program listens on.

use std::io;
use std::time::Duration;

use super::call::Cred;
use super::session::Session;
use super::xdr::Xdr;
use crate::address::Place;
use crate::fields::Fields;
use crate::named::{named, named_as};

const PORT: u16 = 111;
const PROGRAM: u32 = 100_000;
const VERSION: u32 = 2;
const GETPORT: u32 = 3;
const TCP: u32 = 6;

/// The TCP port of a program, as the host's portmapper says.
///
/// # Errors
/// There is no portmapper, or no such program.
pub(crate) fn port_of(
    place: &Place,
    program: u32,
    version: u32,
    cred: Cred,
    patience: Duration,
) -> io::Result<u16> {
    let mut session = Session::open_plainly(place, PORT, cred, patience)
        .map_err(|error| named(format_args!("no portmapper (rpcbind) at port {PORT}"), &error))?;
    let ask = Xdr::default().u32(program).u32(version).u32(TCP).u32(0);
    let reply = session.call(PROGRAM, VERSION, GETPORT, &ask.0)?;
    let port = Fields::new("GETPORT reply", &reply).u32()?;
    let port = u16::try_from(port).ok().filter(|port| *port > 0);
    port.ok_or_else(|| {
        let text = format!("its portmapper has no program {program} version {version} over TCP");
        named_as(text, libc::ECONNREFUSED)
    })
}
