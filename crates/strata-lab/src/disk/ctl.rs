//! The file `ctl`: words in, JSON out.

use super::queue::Lateness;
use super::store::Store;
use crate::model::Model;

/// What was refused last, for whoever got EINVAL.
#[derive(Debug, Default)]
pub struct Ctl {
    refused: Option<String>,
}

impl Ctl {
    /// Apply `key=value` words, all or none; `reset=1` among them counts anew. `Ok(true)` after a reset.
    pub fn set(&mut self, model: &mut Model, now_ns: u64, data: &[u8]) -> Result<bool, ()> {
        match Self::applied(model, now_ns, data) {
            Ok(reset) => {
                self.refused = None;
                Ok(reset)
            }
            Err(why) => {
                self.refused = Some(why);
                Err(())
            }
        }
    }

    fn applied(model: &mut Model, now_ns: u64, data: &[u8]) -> Result<bool, String> {
        let text = std::str::from_utf8(data).map_err(|_| "not text".to_owned())?;
        let (resets, words): (Vec<&str>, Vec<&str>) =
            text.split_whitespace().partition(|word| *word == "reset=1");
        let params = model.params().with(&words.join(" "))?;
        if params != *model.params() {
            model.set(now_ns, params)?;
        }
        if !resets.is_empty() {
            model.reset(now_ns);
        }
        Ok(!resets.is_empty())
    }

    /// Everything there is to know, as one line of JSON.
    pub fn text(&self, model: &mut Model, now_ns: u64, store: &Store, late: Lateness) -> String {
        let truth = model.truth(now_ns);
        let json = serde_json::json!({
            "pid": std::process::id(),
            "size_bytes": store.size_bytes(),
            "held_bytes": store.blocks() * 512,
            "model": model.params().words(),
            "truth": truth,
            "late": late,
            "refused": self.refused,
        });
        format!("{json}\n")
    }
}
