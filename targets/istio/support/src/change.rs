//! A change of an object, and the time until every proxy of this istiod has acknowledged it.
//!
//! istiod's debug page `/debug/syncz` has, for each connected proxy, the nonce of the last push of each type and of the last
//! acknowledgement.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use serde::Deserialize;

/// Interval of readings of the debug page.
const PAUSE: Duration = Duration::from_millis(5);
/// Timeout of one reading.
const READ_LIMIT: Duration = Duration::from_secs(5);
/// Largest debug page: some kilobytes a proxy.
const PAGE_BYTES_MAX: u64 = 16 << 20;
/// Token in the template that is replaced by a new value.
const TOKEN: &str = "@@CHANGE@@";

/// Arguments of `istio-support change`.
#[derive(Debug, clap::Args)]
pub struct ChangeArgs {
    /// Object with `@@CHANGE@@` in the place of a value that is new for each change.
    #[arg(long, value_name = "FILE")]
    template: PathBuf,
    /// File below istiod's folder of objects.
    #[arg(long, value_name = "FILE")]
    object: PathBuf,
    /// Address of istiod's debug pages.
    #[arg(long, value_name = "ADDRESS:PORT")]
    debug: SocketAddr,
    /// Longest time to wait.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    timeout_s: u64,
    /// Do not wait for a sidecar: all may be connected to other istiods.
    #[arg(long)]
    may_be_idle: bool,
}

/// What a proxy has been sent and has acknowledged, of routes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct ProxySync {
    proxy: String,
    /// `sidecar` or `router`, a gateway.
    #[serde(default)]
    proxy_type: String,
    #[serde(default)]
    route_sent: String,
    #[serde(default)]
    route_acked: String,
}

/// Sidecars by name.
type Syncs = BTreeMap<String, ProxySync>;

/// The sidecars of this istiod, as soon as it has one and all have acknowledged what was sent.
/// After a start of istiod they take seconds to connect again.
fn settled(debug: SocketAddr, may_be_idle: bool, limit: Duration) -> anyhow::Result<Syncs> {
    let began = Instant::now();
    loop {
        let syncs = read(debug)?;
        let waiting = syncs
            .values()
            .filter(|sync| sync.route_sent.is_empty() || sync.route_acked != sync.route_sent);
        let waiting = waiting.count();
        if waiting == 0 && (may_be_idle || !syncs.is_empty()) {
            return Ok(syncs);
        }
        anyhow::ensure!(
            began.elapsed() < limit,
            "after {} s, {} sidecars are connected to this istiod, and {waiting} of them have not acknowledged their routes",
            limit.as_secs(),
            syncs.len()
        );
        std::thread::sleep(PAUSE);
    }
}

/// Changes the object, waits, and prints how long the last proxy took.
pub fn run(args: &ChangeArgs) -> anyhow::Result<()> {
    let template = fs::read_to_string(&args.template)
        .with_context(|| format!("cannot read {}", args.template.display()))?;
    anyhow::ensure!(
        template.contains(TOKEN),
        "{} has no {TOKEN}: nothing would change",
        args.template.display()
    );
    let limit = Duration::from_secs(args.timeout_s);
    let before = settled(args.debug, args.may_be_idle, limit)?;
    let number = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let text = template.replace(TOKEN, &number.as_nanos().to_string());
    // istiod ignores files that begin with a dot, and sees the renamed one as a whole.
    let partial = args.object.with_file_name(".change");
    fs::write(&partial, text).with_context(|| format!("cannot write {}", partial.display()))?;
    let began = Instant::now();
    fs::rename(&partial, &args.object)
        .with_context(|| format!("cannot write {}", args.object.display()))?;
    loop {
        let now = read(args.debug)?;
        let behind = behind(&before, &now);
        if behind.is_empty() {
            let took_ms = began.elapsed().as_secs_f64() * 1e3;
            let text = format!("{} proxies have it after {took_ms:.1} ms", now.len());
            return writeln!(std::io::stdout(), "{text}").context("cannot write to the output");
        }
        anyhow::ensure!(
            began.elapsed() < limit,
            "{} of {} proxies do not have it after {} s: {}",
            behind.len(),
            before.len(),
            limit.as_secs(),
            behind.join(", ")
        );
        std::thread::sleep(PAUSE);
    }
}

/// Proxies that have not acknowledged a newer push than before.
fn behind(before: &Syncs, now: &Syncs) -> Vec<String> {
    let lacks = |known: &&ProxySync| {
        now.get(&known.proxy).is_none_or(|now| {
            now.route_sent == known.route_sent || now.route_acked != now.route_sent
        })
    };
    let behind = before.values().filter(lacks);
    behind.map(|proxy| proxy.proxy.clone()).collect()
}

fn read(debug: SocketAddr) -> anyhow::Result<Syncs> {
    let page = get(debug, "/debug/syncz").with_context(|| format!("istiod at {debug}"))?;
    parse(&page)
}

fn parse(page: &str) -> anyhow::Result<Syncs> {
    let all: Vec<ProxySync> =
        serde_json::from_str(page).context("/debug/syncz is no list of proxies")?;
    // A gateway may have no routes, and a change does not reach it.
    Ok(all
        .into_iter()
        .filter(|one| one.proxy_type != "router")
        .map(|one| (one.proxy.clone(), one))
        .collect())
}

/// A page by HTTP/1.0: the body ends with the connection.
fn get(debug: SocketAddr, path: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect_timeout(&debug, READ_LIMIT)?;
    stream.set_read_timeout(Some(READ_LIMIT))?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: {debug}\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.take(PAGE_BYTES_MAX).read_to_string(&mut answer)?;
    body(&answer)
        .map(str::to_owned)
        .with_context(|| path.to_owned())
}

/// The body of a response.
fn body(answer: &str) -> anyhow::Result<&str> {
    let (head, body) = answer.split_once("\r\n\r\n").context("no HTTP response")?;
    let status = head.lines().next().unwrap_or_default();
    anyhow::ensure!(status.contains(" 200"), "it answered {status}");
    Ok(body)
}

/// Entry point of the fuzz target: two responses of the debug page, before and after a change, separated by a zero byte.
///
/// # Panics
/// When the pages are the same, and yet a proxy has acknowledged a newer push.
pub fn fuzz_entry(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut pages = text.splitn(2, '\0').map(|page| parse(body(page)?));
    let (Some(Ok(before)), Some(Ok(now))) = (pages.next(), pages.next()) else {
        return;
    };
    let behind = behind(&before, &now);
    assert!(before != now || behind.len() == before.len());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn syncs(all: &[(&str, &str, &str)]) -> Syncs {
        let proxy = |(proxy, sent, acked): &(&str, &str, &str)| {
            let one = ProxySync {
                proxy: (*proxy).to_owned(),
                proxy_type: "sidecar".to_owned(),
                route_sent: (*sent).to_owned(),
                route_acked: (*acked).to_owned(),
            };
            ((*proxy).to_owned(), one)
        };
        all.iter().map(proxy).collect()
    }

    #[test]
    fn a_proxy_has_a_change_when_it_has_acknowledged_a_newer_push() {
        let before = syncs(&[("a", "1", "1"), ("b", "1", "1")]);
        assert_eq!(behind(&before, &before), ["a", "b"]);
        assert_eq!(
            behind(&before, &syncs(&[("a", "2", "1"), ("b", "2", "2")])),
            ["a"]
        );
        assert_eq!(
            behind(&before, &syncs(&[("a", "2", "2")])),
            ["b"],
            "it is gone"
        );
        let after = syncs(&[("a", "2", "2"), ("b", "3", "3"), ("c", "3", "1")]);
        assert!(
            behind(&before, &after).is_empty(),
            "a new proxy was not asked"
        );
    }

    #[test]
    fn the_debug_page_is_read_as_istiod_writes_it() {
        let page = r#"[{"cluster_id":"Kubernetes","proxy":"client.tare","proxy_type":"sidecar","route_sent":"t/1","route_acked":"t/1","resources":{}},{"proxy":"new.tare"},{"proxy":"eg.istio-system","proxy_type":"router"}]"#;
        let all = parse(page).unwrap();
        assert_eq!(all.len(), 2, "a gateway is not asked");
        assert_eq!(all["client.tare"].route_sent, "t/1");
        assert_eq!(all["new.tare"].route_acked, "");
        assert!(parse("{}").is_err());
    }
}
