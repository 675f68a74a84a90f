//! Counters of external parts: pages that they serve, and JMX metrics that their target names.

use regex::Regex;
use tare_record::counter::{CounterDef, CounterSource, is_template};
use tare_record::external::{ExternalMetrics, USAGE, split};
use tare_record::load::AddressPolicy;
use tare_record::name::Name;
use tare_record::text::preview;

use super::{NO_ENVIRONMENT, NO_PASSWORD, Written, within};
use crate::def::PartDef;
use crate::resolve::Scope;
use crate::target::check_counter;
use crate::yaml::Mark;

/// Greatest number of counters of a part.
pub(super) const COUNTERS_MAX: usize = 64;
/// Longest URL of a page.
const URL_BYTES_MAX: usize = 1024;
/// Placeholder in URLs for the host of each address.
const HOST: &str = "{host}";

/// Source of JMX metrics, for all addresses.
pub(super) fn metrics(
    scope: &mut Scope<'_>,
    written: &Written<'_>,
    part: &PartDef,
    addresses: usize,
    reach: AddressPolicy,
) -> Option<ExternalMetrics> {
    let mut source = written.def.metrics.clone()?;
    let place = &["metrics"];
    let target = part.target.as_ref();
    let has_metrics = |name: &&Name| {
        let def = scope.target(&name.0, Mark::START);
        def.is_some_and(|def| def.jmx.is_some())
    };
    let Some(target) = target.filter(has_metrics) else {
        let message = "no target says which metrics this part has: write a target with `jmx` in its target.yaml at the part in workload.yaml, or read pages by `counters`";
        return written.reject(scope, place, message);
    };
    let (way, at) = match source.way() {
        Ok((way, at)) => (way, at.to_vec()),
        Err(message) => return written.reject(scope, place, message),
    };
    if at.len() != addresses {
        let message = format!(
            "{} for {addresses} of the part: write one for each, in the same order",
            at.len()
        );
        return written.reject(scope, &["metrics", way.word()], message);
    }
    for at in &at {
        let authority = at.strip_prefix("http://").unwrap_or(at);
        let authority = authority.split('/').next().and_then(split);
        if let Some(Err(message)) = authority.map(|(host, _)| within(host, reach)) {
            return written.reject(scope, &["metrics", way.word()], message);
        }
    }
    match (&source.user, &source.password_env, &source.password_file) {
        (None, None, None) => {}
        (None, _, _) => {
            return written.reject(scope, place, "a password of nobody: write its user");
        }
        (_, Some(_), _) => {
            return written.reject(scope, &["metrics", "password_env"], NO_ENVIRONMENT);
        }
        (Some(_), None, None) => return written.reject(scope, place, NO_PASSWORD),
        (Some(_), None, Some(name)) => {
            let path = written.file(scope, &["metrics", "password_file"], name)?;
            source.password_file = Some(path.display().to_string());
        }
    }
    let target = target.0.clone();
    Some(ExternalMetrics { target, source })
}

/// Counters of one address.
pub(super) fn counters(
    scope: &mut Scope<'_>,
    written: &Written<'_>,
    at: &str,
    addresses: usize,
    reach: AddressPolicy,
) -> Vec<CounterDef> {
    let mut all = Vec::new();
    for (index, counter) in written.def.counters.iter().take(COUNTERS_MAX).enumerate() {
        let place = index.to_string();
        let checked = check_counter(counter, USAGE).map_err(|(_, message)| message);
        let source = checked.and_then(|()| source(&counter.from, at, addresses, reach));
        match source {
            Ok(from) => all.push(CounterDef {
                from,
                ..counter.clone()
            }),
            Err(message) => written.wrong(scope, &["counters", &place], message),
        }
    }
    all
}

/// Source of a counter for one address; only pages are allowed.
fn source(
    from: &CounterSource,
    at: &str,
    addresses: usize,
    reach: AddressPolicy,
) -> Result<CounterSource, String> {
    let no_templates = || Err("there are no templates here: leave {{ … }} out".to_owned());
    let mut from = from.clone();
    let url = match &mut from {
        CounterSource::Prometheus(page) if page.is_per_route() => return no_templates(),
        CounterSource::Prometheus(page) => &mut page.url,
        CounterSource::Text(page) => {
            Regex::new(&page.pattern).map_err(|error| {
                // The last line of the error is the message; the lines before show the position.
                let message = error.to_string();
                let message = message.lines().last().unwrap_or_default();
                format!("invalid pattern \"{}\": {message}", preview(&page.pattern))
            })?;
            &mut page.url
        }
        CounterSource::Json(page) if is_template(&page.pointer) => return no_templates(),
        CounterSource::Json(page) => &mut page.url,
        CounterSource::Jmx(_) | CounterSource::Log(_) | CounterSource::Command(_) => {
            return Err(
                "an experiment asks no beans, reads no logs and runs no commands: read a page by prometheus, json or text"
                    .to_owned(),
            );
        }
    };
    *url = page(url, at, addresses, reach)?;
    Ok(from)
}

/// URL of a page for one address.
fn page(url: &str, at: &str, addresses: usize, reach: AddressPolicy) -> Result<String, String> {
    if addresses > 1 && !url.contains(HOST) {
        return Err(format!(
            "the part has {addresses} addresses: write {HOST} for the host of each"
        ));
    }
    let host = at.rsplit_once(':').map_or(at, |(host, _)| host);
    let url = url.replace(HOST, host);
    let authority = url.strip_prefix("http://").map(|rest| {
        let end = rest.find('/').unwrap_or(rest.len());
        &rest[..end]
    });
    let host = authority.and_then(split).map(|(host, _)| host);
    let fits = |c: char| !c.is_whitespace() && !tare_record::text::is_control(c);
    match host.filter(|_| url.len() <= URL_BYTES_MAX && url.chars().all(fits)) {
        Some(host) => within(host, reach).map(|()| url.clone()),
        None => Err(format!(
            "invalid URL \"{}\": write http://HOST:PORT/PATH",
            preview(&url)
        )),
    }
}
