//! What counts in external parts: pages that they serve, and metrics by way of their target's names.

use regex::Regex;

use super::{NO_ENVIRONMENT, NO_PASSWORD, Written, within};
use crate::def::PartDef;
use crate::external::{ExternalMetrics, USAGE, split};
use crate::load::Reach;
use crate::name::Name;
use crate::resolve::Scope;
use crate::target::{CounterDef, CounterSource, check_counter};
use crate::text::shown;
use crate::yaml::Mark;

/// Most counters of a part.
const COUNTERS_MAX: usize = 64;
/// Longest address of a page.
const URL_BYTES_MAX: usize = 1024;
/// What stands in the address of a page for the host of each address of the part.
const HOST: &str = "{host}";

/// Where metrics are read, of all addresses.
pub(super) fn metrics(
    scope: &mut Scope<'_>,
    written: &Written<'_>,
    part: &PartDef,
    addresses: usize,
    reach: Reach,
) -> Option<ExternalMetrics> {
    let mut source = written.def.metrics.clone()?;
    let wrong = |scope: &mut Scope<'_>, key: &str, said: &str| -> Option<ExternalMetrics> {
        let place = ["metrics", key];
        let place = place.iter().copied().filter(|key| !key.is_empty());
        written.wrong(scope, &place.collect::<Vec<_>>(), said);
        None
    };
    let target = part.target.as_ref();
    let has_metrics = |name: &&Name| {
        let def = scope.target(&name.0, Mark::START);
        def.is_some_and(|def| def.jmx.is_some())
    };
    let Some(target) = target.filter(has_metrics) else {
        let said = "no target says which metrics this part has (`jmx` in target.yaml): read pages by counters";
        return wrong(scope, "", said);
    };
    let (way, at) = match source.way() {
        Ok((way, at)) => (way, at.to_vec()),
        Err(said) => return wrong(scope, "", &said),
    };
    if at.len() != addresses {
        let said = format!(
            "{} for {addresses} of the part: write one for each, in the same order",
            at.len()
        );
        return wrong(scope, way.word(), &said);
    }
    for at in &at {
        let authority = at.strip_prefix("http://").unwrap_or(at);
        let authority = authority.split('/').next().and_then(split);
        if let Some(Err(said)) = authority.map(|(host, _)| within(host, reach)) {
            return wrong(scope, way.word(), &said);
        }
    }
    match (&source.user, &source.password_env, &source.password_file) {
        (None, None, None) => {}
        (None, _, _) => return wrong(scope, "", "a password of nobody: write its user"),
        (_, Some(_), _) => return wrong(scope, "password_env", NO_ENVIRONMENT),
        (Some(_), None, None) => return wrong(scope, "", NO_PASSWORD),
        (Some(_), None, Some(name)) => {
            let path = written.file(scope, &["metrics", "password_file"], name)?;
            source.password_file = Some(path.display().to_string());
        }
    }
    let target = target.0.clone();
    Some(ExternalMetrics { target, source })
}

/// That not too many are written.
pub(super) fn check_number(scope: &mut Scope<'_>, written: &Written<'_>) {
    let number = written.def.counters.len();
    if number > COUNTERS_MAX {
        let said = format!("{number} counters: at most {COUNTERS_MAX}");
        written.wrong(scope, &["counters"], said);
    }
}

/// What one address counts.
pub(super) fn counters(
    scope: &mut Scope<'_>,
    written: &Written<'_>,
    at: &str,
    addresses: usize,
    reach: Reach,
) -> Vec<CounterDef> {
    let mut all = Vec::new();
    for (index, counter) in written.def.counters.iter().take(COUNTERS_MAX).enumerate() {
        let place = index.to_string();
        let checked = check_counter(counter, USAGE).map_err(|(_, said)| said);
        let source = checked.and_then(|()| source(&counter.from, at, addresses, reach));
        match source {
            Ok(from) => all.push(CounterDef {
                from,
                ..counter.clone()
            }),
            Err(said) => written.wrong(scope, &["counters", &place], said),
        }
    }
    all
}

/// Where a counter of one address is read: a page, and nothing else.
fn source(
    from: &CounterSource,
    at: &str,
    addresses: usize,
    reach: Reach,
) -> Result<CounterSource, String> {
    let mut from = from.clone();
    let (url, pattern) = match &mut from {
        CounterSource::Prometheus(page) => (&mut page.url, None),
        CounterSource::Text(page) => (&mut page.url, Some(&page.pattern)),
        CounterSource::Json(page) => {
            if page.pointer.contains("{{") {
                return Err("there are no templates here: leave {{ … }} out".to_owned());
            }
            (&mut page.url, None)
        }
        CounterSource::Jmx(_) | CounterSource::Log(_) | CounterSource::Command(_) => {
            return Err(
                "an experiment asks no beans, reads no logs and runs no commands: read a page by prometheus, json or text"
                    .to_owned(),
            );
        }
    };
    if let Some(pattern) = pattern
        && let Err(error) = Regex::new(pattern)
    {
        // Its last line says what is wrong; the others draw where.
        let said = error.to_string();
        let said = said.lines().last().unwrap_or_default();
        return Err(format!("\"{}\" is no pattern: {said}", shown(pattern)));
    }
    *url = page(url, at, addresses, reach)?;
    Ok(from)
}

/// The address of a page.
fn page(url: &str, at: &str, addresses: usize, reach: Reach) -> Result<String, String> {
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
    let fits = |c: char| !c.is_whitespace() && !crate::text::is_control(c);
    match host.filter(|_| url.len() <= URL_BYTES_MAX && url.chars().all(fits)) {
        Some(host) => within(host, reach).map(|()| url.clone()),
        None => Err(format!(
            "\"{}\" is no page that can be read: write http://HOST:PORT/PATH",
            shown(&url)
        )),
    }
}
