//! To which addresses of a server further connections go: the network cards that it offers (MS-SMB2 2.2.32.5).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use smb2::msg::ioctl::{IoctlRequest, IoctlResponse, SMB2_0_IOCTL_IS_FSCTL};
use smb2::types::{Command, FileId};

use crate::dial::{CreateOptions, Purpose, dial, dial_at};
use crate::uri::Uri;

/// `FSCTL_QUERY_NETWORK_INTERFACE_INFO`.
const QUERY: u32 = 0x0014_01FC;
/// Bytes of the answer at most: what one credit pays for.
const ANSWER: u32 = 64 * 1024;
/// Bytes of one entry, and where in it things stand.
const ENTRY: usize = 152;
const INDEX: usize = 4;
const SPEED: usize = 16;
const FAMILY: usize = 24;
/// Families of addresses, with the numbers of Windows, and where the address stands.
const INET: (u16, usize) = (0x0002, 28);
const INET6: (u16, usize) = (0x0017, 32);
/// Longest wait for an address that is offered and may not be reachable from here.
const TRY: Duration = Duration::from_secs(1);
/// What two addresses have to show alike of the file.
const BEGINNING: u32 = 4096;
/// Addresses that are tried at most.
const TRIES: usize = 16;

/// An address of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Card {
    address: IpAddr,
    /// The number of the interface; addresses of the same one share a card.
    index: u32,
    bits_per_s: u64,
}

/// The addresses that connections go to, each to the next; of nothing: all to the one that the address names.
#[derive(Clone, Debug, Default)]
pub struct Spread {
    addresses: Vec<IpAddr>,
    next: Arc<AtomicUsize>,
}

impl Spread {
    /// Ask the server of `uri` for its cards: those that further connections, up to `most`, can be spread over.
    ///
    /// They are of the family of the address that the connection for this question came to, on cards of their own, and no
    /// slower; and as [`Self::among`] says. A server that does not offer the address that we came to (it is behind another's)
    /// has no other for us.
    ///
    /// # Errors
    /// The server cannot be reached, or its answer is none.
    pub fn over(uri: &Uri, most: u32, patience: Duration) -> io::Result<Self> {
        let mut there = dial(uri, Purpose::Read, CreateOptions::default(), patience)?;
        let Some(named) = there.talk.line.peer() else { return Ok(Self::default()) };
        let request = IoctlRequest {
            ctl_code: QUERY,
            file_id: FileId { persistent: u64::MAX, volatile: u64::MAX },
            max_input_response: 0,
            max_output_response: ANSWER,
            flags: SMB2_0_IOCTL_IS_FSCTL,
            input_data: Vec::new(),
        };
        let reply = there.talk.ask("asking for its network cards", Command::Ioctl, &request, ANSWER)?;
        if !reply.header.status.is_success() {
            return Ok(Self::default());
        }
        let answer: IoctlResponse = reply.body()?;
        Self::among(uri, &others(named, &cards(&answer.output_data)), most, patience)
    }

    /// The address that `uri` names, and those `offered` at which the same file stands.
    ///
    /// A list of addresses is a claim: what is reached at one may be another server with a file of that name, which is not
    /// ours to write to. So each has to answer, to take our logon, and to show the size and the beginning, where our mark
    /// is, that the named one shows.
    ///
    /// # Errors
    /// The named one cannot be reached.
    pub fn among(uri: &Uri, offered: &[IpAddr], most: u32, patience: Duration) -> io::Result<Self> {
        if offered.is_empty() {
            return Ok(Self::default());
        }
        let mut there = dial(uri, Purpose::Read, CreateOptions::default(), patience)?;
        let Some(named) = there.talk.line.peer() else { return Ok(Self::default()) };
        let wanted = there.beginning(BEGINNING)?;
        let mut addresses = vec![named];
        for address in offered.iter().take(TRIES) {
            if addresses.len() >= most as usize {
                break;
            }
            let shown =
                dial_at(uri, Some(*address), Purpose::Read, CreateOptions::default(), patience.min(TRY))
                    .and_then(|mut other| other.beginning(BEGINNING));
            if shown.is_ok_and(|shown| shown == wanted) {
                addresses.push(*address);
            }
        }
        if addresses.len() < 2 {
            return Ok(Self::default());
        }
        Ok(Self { addresses, next: Arc::default() })
    }

    /// The addresses, if there are several.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> + '_ {
        self.addresses.iter().copied()
    }

    /// That of the next connection; `None`: the one that is named.
    pub(crate) fn next(&self) -> Option<IpAddr> {
        // Threads open connections of their own, and take turns as if they were one.
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        self.addresses.get(turn.checked_rem(self.addresses.len())?).copied()
    }
}

/// What the answer offers; what cannot be read in it ends it.
fn cards(answer: &[u8]) -> Vec<Card> {
    let mut found = Vec::new();
    let mut at = 0_usize;
    while let Some(entry) = answer.get(at..at.saturating_add(ENTRY)) {
        let four = |from: usize| u32::from_le_bytes(bytes(entry, from));
        let family = u16::from_le_bytes(bytes(entry, FAMILY));
        let address = match family {
            family if family == INET.0 => Some(IpAddr::V4(Ipv4Addr::from(bytes::<4>(entry, INET.1)))),
            family if family == INET6.0 => Some(IpAddr::V6(Ipv6Addr::from(bytes::<16>(entry, INET6.1)))),
            _ => None,
        };
        if let Some(address) = address {
            let bits_per_s = u64::from_le_bytes(bytes(entry, SPEED));
            found.push(Card { address, index: four(INDEX), bits_per_s });
        }
        match four(0) as usize {
            0 => break,
            next => at = at.saturating_add(next),
        }
    }
    found
}

fn bytes<const N: usize>(entry: &[u8], from: usize) -> [u8; N] {
    let mut taken = [0; N];
    taken.copy_from_slice(&entry[from..from + N]);
    taken
}

/// Those beside `named` that are worth a connection: of its family, on a card of their own, no slower, and no address
/// that means somebody else here.
fn others(named: IpAddr, cards: &[Card]) -> Vec<IpAddr> {
    let Some(ours) = cards.iter().find(|card| card.address == named) else { return Vec::new() };
    let mut taken = vec![*ours];
    for card in cards {
        let elsewhere = match card.address {
            IpAddr::V4(v4) => {
                v4.is_unspecified()
                    || v4.is_loopback()
                    || v4.is_link_local()
                    || v4.is_multicast()
                    || v4.is_broadcast()
            }
            IpAddr::V6(v6) => {
                v6.is_unspecified() || v6.is_loopback() || v6.is_unicast_link_local() || v6.is_multicast()
            }
        };
        let same =
            |other: &Card| other.address == card.address || (card.index != 0 && other.index == card.index);
        let fits = card.address.is_ipv4() == named.is_ipv4() && card.bits_per_s >= ours.bits_per_s;
        if fits && !elsewhere && !taken.iter().any(same) {
            taken.push(*card);
        }
    }
    taken.iter().skip(1).map(|card| card.address).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An entry as it stands in an answer; `next` is where the one after it is, 0 for the last.
    fn entry(next: u32, index: u32, speed: u64, address: &str) -> Vec<u8> {
        let mut made = vec![0; ENTRY];
        made[..4].copy_from_slice(&next.to_le_bytes());
        made[4..8].copy_from_slice(&index.to_le_bytes());
        made[16..24].copy_from_slice(&speed.to_le_bytes());
        match address.parse().expect("an address") {
            IpAddr::V4(v4) => {
                made[24] = 2;
                made[28..32].copy_from_slice(&v4.octets());
            }
            IpAddr::V6(v6) => {
                made[24] = 0x17;
                made[32..48].copy_from_slice(&v6.octets());
            }
        }
        made
    }

    fn chain(entries: &[(u32, u64, &str)]) -> Vec<u8> {
        let last = entries.len() - 1;
        let each = entries.iter().enumerate().map(|(number, (index, speed, address))| {
            entry(if number == last { 0 } else { ENTRY as u32 }, *index, *speed, address)
        });
        each.collect::<Vec<_>>().concat()
    }

    fn beside(named: &str, entries: &[(u32, u64, &str)]) -> Vec<String> {
        let found = others(named.parse().expect("an address"), &cards(&chain(entries)));
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn other_cards_of_the_same_family_that_are_no_slower_are_taken() {
        let offered = [
            (1, 10, "10.0.0.1"),
            (1, 10, "10.0.9.1"), // the same card
            (1, 10, "fd00::1"),  // the same card, another family
            (2, 10, "10.0.1.1"),
            (3, 40, "10.0.2.1"),
            (4, 1, "10.0.3.1"),   // slower
            (5, 10, "127.0.0.1"), // ourselves
            (6, 10, "169.254.1.1"),
            (7, 10, "224.0.0.1"),
            (8, 10, "0.0.0.0"),
            (2, 10, "10.0.1.1"), // again
        ];
        assert_eq!(beside("10.0.0.1", &offered), ["10.0.1.1", "10.0.2.1"]);
        assert_eq!(beside("fd00::1", &offered), [""; 0]);
        // Behind another's address nothing is known of the cards.
        assert_eq!(beside("192.0.2.1", &offered), [""; 0]);
    }

    #[test]
    fn cards_without_a_number_are_told_apart_by_their_addresses() {
        let offered = [(0, 10, "10.0.0.1"), (0, 10, "10.0.1.1"), (0, 10, "10.0.1.1")];
        assert_eq!(beside("10.0.0.1", &offered), ["10.0.1.1"]);
    }

    #[test]
    fn an_answer_that_is_cut_off_gives_what_came_before() {
        let whole = chain(&[(1, 10, "10.0.0.1"), (2, 10, "10.0.1.1")]);
        assert_eq!(cards(&whole).len(), 2);
        assert_eq!(cards(&whole[..ENTRY + 20]).len(), 1);
        assert_eq!(cards(&whole[..ENTRY - 1]).len(), 0);
    }

    #[test]
    fn connections_take_turns() {
        let addresses = vec!["10.0.0.1".parse().expect("one"), "10.0.1.1".parse().expect("one")];
        let spread = Spread { addresses, next: Arc::default() };
        let of_another_thread = spread.clone();
        let turns =
            [spread.next(), of_another_thread.next(), spread.next()].map(|at| at.expect("one").to_string());
        assert_eq!(turns, ["10.0.0.1", "10.0.1.1", "10.0.0.1"]);
        assert_eq!(Spread::default().next(), None);
    }

    proptest! {
        #[test]
        fn any_answer_ends(answer in proptest::collection::vec(any::<u8>(), 0..2048)) {
            let _whatever = others(IpAddr::from([10, 0, 0, 1]), &cards(&answer));
        }
    }
}
