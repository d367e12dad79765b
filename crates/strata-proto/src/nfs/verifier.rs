//! The number by which a server shows that it was not started anew since.

use std::io;
use std::sync::OnceLock;

/// The write verifier of one server, over all connections to it.
///
/// A server keeps unstable writes in memory until a COMMIT. When it is started anew they are gone, and its verifier is
/// another one: that is all the notice there is.
#[derive(Debug, Default)]
pub(super) struct Verifier(OnceLock<u64>);

impl Verifier {
    /// Hold what came with an unstable write or a COMMIT against what came first.
    ///
    /// # Errors
    /// It is another one (`InvalidData`): writes that were answered are lost.
    pub(super) fn check(&self, seen: u64) -> io::Result<()> {
        let first = *self.0.get_or_init(|| seen);
        if first == seen {
            return Ok(());
        }
        let text = format!(
            "the server restarted (its write verifier changed from {first:#x} to {seen:#x}): writes that it had \
             answered and not committed are lost"
        );
        Err(io::Error::new(io::ErrorKind::InvalidData, text))
    }
}
