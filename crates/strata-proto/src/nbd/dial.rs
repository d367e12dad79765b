//! From an address to an agreed export: the client's half of the handshake.

use std::io::{self, Read, Write};
use std::time::Duration;

use super::uri::Uri;
use crate::line::{Line, NOTICES};
use crate::nbd::codec::client_handshake::{
    GREETING_LEN, OPTION_REPLY_LEN, OptionReply, apply_info, info_option, option, parse_export_name,
    parse_greeting, parse_server,
};
use crate::nbd::codec::{Export, ProtoError, consts};

/// A connection on which options are negotiated.
pub(super) struct Negotiation<'a> {
    pub(super) uri: &'a Uri,
    pub(super) line: Line,
    pub(super) structured: bool,
    zeroes: bool,
}

/// What `INFO` and `GO` came to.
pub(super) enum InfoReply {
    /// The export.
    Export(Export),
    /// The server does not know the option.
    Unsupported,
}

impl<'a> Negotiation<'a> {
    /// Connect and read the greeting, waiting for each answer `patience` and at most 10 s.
    ///
    /// # Errors
    /// Nobody listens there, or not an NBD server; named with the address.
    pub(super) fn start(uri: &'a Uri, patience: Duration) -> io::Result<Self> {
        let line = match &uri.what.socket {
            Some(path) => Line::dial_unix(path, uri.place.netns.as_deref(), patience),
            None => uri.dial(patience),
        };
        let line = line.map_err(|error| uri.explain("cannot connect", &error))?;
        let mut negotiation = Self { uri, line, structured: false, zeroes: true };
        negotiation.greet().map_err(|error| uri.explain("no NBD greeting", &error))?;
        Ok(negotiation)
    }

    fn greet(&mut self) -> io::Result<()> {
        let mut greeting = [0; GREETING_LEN];
        self.line.begin();
        self.line.read_exact(&mut greeting)?;
        let flags = parse_greeting(&greeting)? & (consts::FLAG_FIXED_NEWSTYLE | consts::FLAG_NO_ZEROES);
        self.zeroes = flags & consts::FLAG_NO_ZEROES == 0;
        self.line.write_all(&u32::from(flags).to_be_bytes())
    }

    /// Ask for structured replies; a server may decline.
    pub(super) fn ask_structured(&mut self) -> io::Result<()> {
        let what = "asking for structured replies";
        let number = consts::OPT_STRUCTURED_REPLY;
        let reply = self.exchange(number, &option(number, &[]), |_, _| Ok(()));
        self.structured = reply.map_err(|error| self.uri.explain(what, &error))?.kind == consts::REP_ACK;
        Ok(())
    }

    /// `INFO` or `GO`: what the export is.
    pub(super) fn info(&mut self, number: u32) -> io::Result<InfoReply> {
        let name = self.uri.what.export.clone();
        let mut export = Export { name, size_bytes: 0, flags: 0, blocks: None };
        let ask = info_option(number, &export.name);
        let answer = self.exchange(number, &ask, |kind, body| match kind {
            consts::REP_INFO => apply_info(body, &mut export),
            _ => Ok(()),
        });
        let answer = answer.map_err(|error| self.uri.explain("asking for the export", &error))?;
        match answer.kind {
            consts::REP_ACK => Ok(InfoReply::Export(export)),
            consts::REP_ERR_UNSUP => Ok(InfoReply::Unsupported),
            consts::REP_ERR_UNKNOWN => {
                let names = self.list().unwrap_or_default();
                let hint = if names.is_empty() { "the server lists none".into() } else { names.join(", ") };
                let text = format!("no export {:?}; there are: {hint}", export.name);
                Err(self.uri.error(text, libc::ENOENT))
            }
            consts::REP_ERR_TLS_REQD => {
                let text = "the server wants TLS; offer the export without it to measure it";
                Err(self.uri.error(text, libc::EPROTONOSUPPORT))
            }
            other => {
                let text = format!("the server refuses the export (reply {other:#x})");
                Err(self.uri.error(text, libc::EACCES))
            }
        }
    }

    fn list(&mut self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        let ask = option(consts::OPT_LIST, &[]);
        self.exchange(consts::OPT_LIST, &ask, |kind, body| {
            if kind == consts::REP_SERVER {
                names.push(format!("{:?}", parse_server(body)?));
            }
            Ok(())
        })?;
        Ok(names)
    }

    /// Choose the export and leave the handshake, with old servers by `EXPORT_NAME`.
    pub(super) fn go(&mut self) -> io::Result<Export> {
        if let InfoReply::Export(export) = self.info(consts::OPT_GO)? {
            return Ok(export);
        }
        self.export_name()
    }

    /// Choose the export by its bare name; ends the handshake.
    pub(super) fn export_name(&mut self) -> io::Result<Export> {
        let name = self.uri.what.export.clone();
        let ask = option(consts::OPT_EXPORT_NAME, name.as_bytes());
        let mut export = Export { name, size_bytes: 0, flags: 0, blocks: None };
        let mut talk = || {
            self.line.ask(&ask)?;
            let mut body = [0; 10];
            self.line.read_exact(&mut body)?;
            parse_export_name(&body, &mut export)?;
            if self.zeroes {
                self.line.read_exact(&mut [0; 124])?;
            }
            Ok(())
        };
        talk().map_err(|error| {
            self.uri.explain("the server closed the connection after the export name", &error)
        })?;
        Ok(export)
    }

    /// Say disconnect in good order; errors do not matter any more.
    pub(super) fn abort(&mut self) {
        let _gone = self.exchange(consts::OPT_ABORT, &option(consts::OPT_ABORT, &[]), |_, _| Ok(()));
    }

    /// Send one option and read its replies; the last one is returned, the others go to `each`.
    fn exchange(
        &mut self,
        number: u32,
        ask: &[u8],
        mut each: impl FnMut(u32, &[u8]) -> Result<(), ProtoError>,
    ) -> io::Result<OptionReply> {
        self.line.ask(ask)?;
        for _ in 0..NOTICES {
            let mut header = [0; OPTION_REPLY_LEN];
            self.line.read_exact(&mut header)?;
            let reply = OptionReply::parse(&header)?;
            if reply.option != number {
                let wrong = ProtoError::BadValue { what: "option reply", got: reply.option.into() };
                return Err(wrong.into());
            }
            let body = self.line.take_bytes(reply.length as usize)?; // at most MAX_OPTION
            if reply.kind == consts::REP_ACK || reply.is_error() {
                return Ok(reply);
            }
            each(reply.kind, &body)?;
        }
        Err(ProtoError::Endless { what: "replies to one option" }.into())
    }
}
