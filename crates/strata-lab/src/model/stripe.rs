//! Which member of a striped disk holds which bytes.

/// A contiguous piece at one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub member: usize,
    pub offset: u64,
    pub len: u64,
}

/// The parts of an I/O, one for each member it touches; stripes that follow each other at a member are one part.
pub fn parts(offset: u64, len: u64, members: u64, stripe: u64, out: &mut Vec<Part>) {
    out.clear();
    if members <= 1 {
        out.push(Part { member: 0, offset, len });
        return;
    }
    let end = offset + len;
    let mut at = offset;
    while at < end {
        let number = at / stripe;
        let inside = at % stripe;
        let piece = (stripe - inside).min(end - at);
        let member = (number % members) as usize;
        match out.iter_mut().find(|part| part.member == member) {
            Some(part) => part.len += piece,
            None => out.push(Part { member, offset: number / members * stripe + inside, len: piece }),
        }
        at += piece;
    }
}
