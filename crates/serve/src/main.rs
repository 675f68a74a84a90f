//! The server of `tare serve`: an API and a page over a folder of runs. It computes no figure of its own, and its state is in
//! folders: a run or load that it starts is a process of its own, which outlives it.

mod access;
mod archive;
mod assets;
mod attempts;
mod audit;
mod auth;
mod body;
mod certificate;
mod children;
mod computing;
mod connections;
mod error;
mod events;
mod experiments;
mod history;
mod kafka;
mod load_routes;
mod loads;
mod memory;
mod metrics;
mod nights;
mod openapi;
mod parameters;
mod places;
mod routes;
mod runs;
mod server;
mod sessions;
mod shapes;
mod sys;
mod unread;

use std::process::ExitCode;
use std::sync::mpsc;

use anyhow::Context;
use tare_record::api::ServeOptions;
use tare_record::version::check_starter;

use children::Spawner;

/// Niceness of the server's threads: what is measured comes first.
const NICENESS: i32 = 10;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            server::say(&format!("error: {error:#}"));
            // The environment does not allow it, as for every command.
            ExitCode::from(3)
        }
    }
}

fn run() -> anyhow::Result<()> {
    check_starter().map_err(anyhow::Error::msg)?;
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [options] = words.as_slice() else {
        anyhow::bail!("start the server with `tare serve`");
    };
    let options: ServeOptions = serde_json::from_str(options)
        .context("the options are those of another version: start the server with `tare serve`")?;
    let files = sys::raise_files();
    let (spawner, requests) = mpsc::channel();
    let server = std::thread::Builder::new()
        .name("server".into())
        .spawn(move || {
            sys::give_way(NICENESS);
            server::serve(options, Spawner::new(spawner))
        })
        .context("cannot start a thread")?;
    // Processes are started by this thread, which keeps the affinity and niceness that the server was started with. It ends with
    // the server, which holds the other end.
    children::spawn_all(&requests, files);
    match server.join() {
        Ok(ended) => ended,
        Err(_) => anyhow::bail!("the server has ended by a defect; runs and loads go on"),
    }
}
