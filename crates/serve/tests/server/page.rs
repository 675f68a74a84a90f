//! The page in a real browser: `web/try-app.mjs` and `web/try-kafka.mjs`, with Debian's Chromium.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::flows::Origin;
use crate::kafka::cluster;
use crate::rig::{Server, home};

/// A script of the folder `web`: Node and the packages of the page as scripts/check-web has them.
fn script(name: &str) -> Command {
    let script = "set -euo pipefail; root=$PWD; . scripts/prerequisites.sh; need_node; cd web
        [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --ignore-scripts --no-audit --no-fund
        exec node \"$0\" \"$@\"";
    let mut command = Command::new("bash");
    command.args(["-c", script, name]).current_dir(home());
    command
}

#[test]
fn a_run_and_loads_are_started_watched_stopped_and_compared_in_a_browser() {
    let place = tempfile::tempdir().unwrap();
    // It goes on to loads as soon as the run has a finding.
    let server = Server::start_with(&place.path().join("runs"), &json!({ "parallel": 2 }));
    let origin = Origin::start();
    let ended = script("try-app.mjs")
        .arg(format!("http://{}/?token={}", server.address, server.link))
        .arg(&origin.url)
        .output()
        .unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&ended.stdout),
        String::from_utf8_lossy(&ended.stderr),
    );
    assert!(ended.status.success(), "{out}{err}");
    assert!(out.contains("page: finding: "), "{out}{err}");
}

#[test]
fn a_kafka_cluster_is_administered_in_a_browser_while_a_broker_dies_and_comes_back() {
    let mut cluster = cluster();
    let place = tempfile::tempdir().unwrap();
    let server = Server::start(&place.path().join("runs"));
    let brokers: Vec<String> = cluster
        .at("plain")
        .iter()
        .map(ToString::to_string)
        .collect();
    let mut child = script("try-kafka.mjs")
        .arg(format!("http://{}/?token={}", server.address, server.link))
        .arg(brokers.join(","))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut said = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        if let Some((what, number)) = line
            .strip_prefix("ask: ")
            .and_then(|ask| ask.split_once(' '))
        {
            let number: u32 = number.parse().unwrap();
            match what {
                "kill" => cluster.kill(number).unwrap(),
                _ => cluster.start_again(number).unwrap(),
            }
            stdin.write_all(b"done\n").unwrap();
        }
        said.push(line);
    }
    let ended = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{said:#?}\n{err}");
    assert!(said.iter().any(|line| line == "page: done"), "{said:#?}");
}
