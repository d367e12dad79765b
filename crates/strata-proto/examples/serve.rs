//! Serve a target from its JSON configuration, until Ctrl-C or SIGTERM:
//! `cargo run -p strata-proto --example serve -- '{"listen":{"tcp":"127.0.0.1:10809"},"backing":{"kind":"memory","size_bytes":1073741824}}'`

use strata_proto::nbd::server::{Config, Server, StopOnSignals};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let json = std::env::args().nth(1).ok_or("usage: serve '<target configuration as JSON>'")?;
    let config: Config = serde_json::from_str(&json)?;
    let signals = StopOnSignals::install()?;
    let server = Server::start(&config)?;
    println!("{:?}", server.endpoint());
    server.run_until(|| signals.asked());
    Ok(())
}
