//! Overheads in words: who does what to which metric by how much.

use tare_schema::metric::Metric;
use tare_schema::plan::{GrammaticalNumber, Subject};
use tare_schema::view::{Interval, Outcome, Overhead};

use crate::judge::more_text;
use crate::quantity::{self, Sign};

/// Words at the beginning of a sentence: their first letter large, unless it is spelled small as in `mTLS`.
pub fn at_start(words: &str) -> String {
    let mut chars = words.chars();
    let keeps = words.chars().nth(1).is_some_and(char::is_uppercase);
    match chars.next() {
        Some(first) if !keeps => first.to_uppercase().chain(chars).collect(),
        _ => words.to_owned(),
    }
}

/// What a sentence of findings is made of.
#[derive(Debug, Default)]
pub struct Clauses {
    /// "adds 0.31 ms (0.28–0.34) to the median".
    latency: Vec<String>,
    /// "costs 0.42 cores (0.41–0.43) per 1000 requests/s".
    cost: Vec<String>,
    /// Names of metrics that change by less than the margin, and the margin.
    same: Vec<(String, String)>,
    /// What is undecided.
    open: Open,
    /// That one of the two arms was repeated far more often.
    repeats: Option<String>,
}

/// A metric as the object of a sentence.
pub fn object(metric: Metric) -> &'static str {
    match metric {
        Metric::Mean => "the mean",
        Metric::Median => "the median",
        Metric::Max => "the maximum",
        Metric::ResponseMedian => "the median response time",
        Metric::ResponseP99 => "the response time's p99",
        Metric::ServiceMedian => "the median service time",
        Metric::ServiceP99 => "the service time's p99",
        Metric::Throughput => "throughput",
        Metric::RecordsWritten => "records written",
        Metric::BytesWritten => "bytes written",
        Metric::RecordsRead => "records read",
        Metric::BytesRead => "bytes read",
        Metric::Cpu => "CPU",
        Metric::CpuTotal => "CPU of all parts",
        Metric::Memory => "memory",
        Metric::MeshCpu => "CPU of all proxies",
        Metric::ProxyCpu => "CPU of the busiest proxy",
        Metric::ProxyMemory => "memory of the largest proxy",
        Metric::P90 | Metric::P99 | Metric::P999 => metric.label(),
    }
}

/// A metric without its article, as it stands before a colon or a figure.
pub fn bare(metric: Metric) -> &'static str {
    let object = object(metric);
    object.strip_prefix("the ").unwrap_or(object)
}

/// Undecided metrics, each with its estimate and interval: one sentence for all that more blocks would decide, one for the rest.
#[derive(Debug, Default)]
pub struct Open {
    /// What was found so far, and how many more blocks would tell.
    soon: Vec<(String, u32)>,
    /// What was found so far of those that no sensible number of blocks would decide.
    never: Vec<String>,
}

impl Open {
    /// One more.
    pub fn take(&mut self, figure: String, more_blocks: Option<u32>) {
        match more_blocks {
            Some(more) => self.soon.push((figure, more)),
            None => self.never.push(figure),
        }
    }

    /// "p99 +0.1 ms (−0.3 to 0.5): undecided; about 8 more blocks would tell".
    pub fn clauses(&self) -> Vec<String> {
        let said = |figures: Vec<String>, more| {
            let figures = list(&figures);
            (!figures.is_empty()).then(|| format!("{figures}: undecided; {}", more_text(more)))
        };
        let most = self.soon.iter().map(|(_, more)| *more).max();
        let soon = self.soon.iter().map(|(figure, _)| figure.clone()).collect();
        let both = [said(soon, most), said(self.never.clone(), None)];
        both.into_iter().flatten().collect()
    }
}

impl Clauses {
    /// Clauses of some overheads of one cell, whose exchanges are called so (`requests`).
    pub fn of<'a>(
        overheads: impl IntoIterator<Item = &'a Overhead>,
        number: GrammaticalNumber,
        exchanges: &str,
    ) -> Clauses {
        let mut clauses = Clauses::default();
        for overhead in overheads {
            clauses.take(overhead, number, exchanges);
        }
        clauses
    }

    fn take(&mut self, overhead: &Overhead, number: GrammaticalNumber, exchanges: &str) {
        match &overhead.outcome {
            Outcome::Differs { within_margin } => {
                let Some(mut text) = difference(overhead, number, exchanges) else {
                    return;
                };
                if *within_margin {
                    text.push_str(&format!(
                        " (less than the margin of {})",
                        overhead.margin_text
                    ));
                }
                match is_cost(overhead.metric) {
                    true => self.cost.push(text),
                    false => self.latency.push(text),
                }
            }
            Outcome::Same => self
                .same
                .push((object(overhead.metric).into(), overhead.margin_text.clone())),
            Outcome::Undecided { more_blocks } => {
                let added = added_text(overhead, exchanges);
                self.open
                    .take(format!("{} {added}", bare(overhead.metric)), *more_blocks);
            }
            // Why there is no verdict is said once for all that it is true of.
            Outcome::Described | Outcome::None { .. } => return,
        }
        if self.repeats.is_none() {
            self.repeats.clone_from(&overhead.repeats);
        }
    }

    /// The whole text; `at` is the level, as in " at 2000 requests/s", and `before` what stands in front, as in "On top of both-sidecars, ".
    pub fn sentence(
        &self,
        before: &str,
        subject: &str,
        at: &str,
        number: GrammaticalNumber,
    ) -> Option<String> {
        let mut open = self.open.clauses().into_iter();
        let subject = format!("{before}{subject}");
        let parts = self.parts(at, number);
        let mut sentences = Vec::new();
        if parts.is_empty() {
            // Whose they are is said once.
            sentences.extend(open.next().map(|open| format!("{subject}{at}: {open}.")));
        } else {
            // A comma parts what already has an "and" in it.
            let joined = match parts.split_last() {
                Some((last, first)) if first.iter().any(|part| part.contains(" and ")) => {
                    format!("{}, and {last}", first.join(", "))
                }
                _ => list(&parts),
            };
            sentences.push(format!("{subject} {joined}."));
        }
        sentences.extend(open.map(|open| format!("{}.", at_start_of_metric(&open))));
        if sentences.is_empty() {
            return None;
        }
        sentences.extend(self.repeats.clone());
        Some(sentences.join(" "))
    }

    /// What is shown, and what changes by less than the margin; the level stands behind the first part.
    fn parts(&self, at: &str, number: GrammaticalNumber) -> Vec<String> {
        let mut parts = merge_verbs(&[self.latency.clone(), self.cost.clone()].concat());
        parts.extend(same(&self.same, number));
        if let Some(first) = parts.first_mut() {
            first.push_str(at);
        }
        parts
    }
}

/// Names of quantiles are spelled small wherever they stand.
fn at_start_of_metric(words: &str) -> String {
    match words.starts_with('p') {
        true => words.to_owned(),
        false => at_start(words),
    }
}

fn is_cost(metric: Metric) -> bool {
    matches!(
        metric,
        Metric::Cpu
            | Metric::CpuTotal
            | Metric::Memory
            | Metric::MeshCpu
            | Metric::ProxyCpu
            | Metric::ProxyMemory
    )
}

/// What was added, with CPU as cores at a rate: "+0.42 cores (0.41–0.43) per 1000 requests/s".
pub fn added_text(overhead: &Overhead, exchanges: &str) -> String {
    match (overhead.metric, &overhead.added) {
        (Metric::Cpu | Metric::CpuTotal, Some(added)) => cores(added, exchanges, Sign::Shown),
        _ => overhead.added_text.clone(),
    }
}

/// CPU as cores at a rate: "0.42 cores (0.41–0.43) per 1000 requests/s".
pub fn cores(added: &Interval, exchanges: &str, sign: Sign) -> String {
    format!("{} per 1000 {exchanges}/s", quantity::cores(added, sign))
}

/// "changes the median and p99 by less than 5 %": metrics with one margin together.
fn same(same: &[(String, String)], number: GrammaticalNumber) -> Vec<String> {
    let mut by_margin: Vec<(&str, Vec<String>)> = Vec::new();
    for (name, margin) in same {
        match by_margin.iter_mut().find(|(known, _)| known == margin) {
            Some((_, names)) => names.push(name.clone()),
            None => by_margin.push((margin, vec![name.clone()])),
        }
    }
    let changes = verb(number, "change");
    by_margin
        .iter()
        .map(|(margin, names)| format!("{changes} {} by less than {margin}", list(names)))
        .collect()
}

fn difference(overhead: &Overhead, number: GrammaticalNumber, exchanges: &str) -> Option<String> {
    let added = overhead.added?;
    let ratio = overhead.ratio?;
    let grows = added.estimate > 0.0;
    let amount = quantity::difference(overhead.unit, &added, Sign::Spoken);
    let name = object(overhead.metric);
    Some(match overhead.metric {
        rate if rate.is_rate() => {
            let way = if grows { "raise" } else { "lower" };
            let change = quantity::change(&ratio, Sign::Spoken);
            format!("{} {name} by {change}", verb(number, way))
        }
        Metric::Cpu | Metric::CpuTotal => {
            let whose = if overhead.metric == Metric::Cpu {
                ""
            } else {
                " over all parts"
            };
            let cost = verb(number, if grows { "cost" } else { "save" });
            format!("{cost} {}{whose}", cores(&added, exchanges, Sign::Spoken))
        }
        Metric::Memory if grows => format!("{} {amount} of memory", verb(number, "take")),
        Metric::Memory => format!("{} {amount} of memory", verb(number, "save")),
        _ if grows => format!("{} {amount} to {name}", verb(number, "add")),
        _ => format!("{} {amount} off {name}", verb(number, "take")),
    })
}

/// "adds A to the median", "adds B to p99", "costs C" → "adds A to the median and B to p99", "costs C".
fn merge_verbs(clauses: &[String]) -> Vec<String> {
    let mut merged: Vec<Vec<String>> = Vec::new();
    let mut before = "";
    for clause in clauses {
        let (first, rest) = clause.split_once(' ').unwrap_or((clause, ""));
        match merged.last_mut() {
            Some(last) if first == before && first.starts_with("add") => last.push(rest.to_owned()),
            _ => merged.push(vec![clause.clone()]),
        }
        before = first;
    }
    merged.iter().map(|objects| list(objects)).collect()
}

/// The verb for one or several.
pub fn verb(number: GrammaticalNumber, verb: &str) -> String {
    match number {
        GrammaticalNumber::Singular => format!("{verb}s"),
        GrammaticalNumber::Plural => verb.to_string(),
    }
}

/// A subject at the beginning of a sentence. A name (of an arm) stays as it is written.
pub fn subject(subject: &Subject, name: &str) -> String {
    match subject.text == name {
        true => name.to_owned(),
        false => at_start(&subject.text),
    }
}

/// "A", "A and B", "A, B and C".
pub fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => {
            format!("{} and {last}", first.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_begins_large_unless_its_first_word_is_spelled_small() {
        assert_eq!(at_start("an Envoy sidecar"), "An Envoy sidecar");
        assert_eq!(at_start("mTLS"), "mTLS");
        let name = Subject::singular("client-sidecar");
        assert_eq!(subject(&name, "client-sidecar"), "client-sidecar");
        let words = Subject::plural("both sidecars");
        assert_eq!(subject(&words, "both-sidecars"), "Both sidecars");
    }

    #[test]
    fn what_more_blocks_would_decide_is_said_once_with_the_most_that_it_takes() {
        let mut open = Open::default();
        open.take("median +1 µs (−2 to 4)".into(), Some(4));
        open.take("p99 +9 µs (−2 to 20)".into(), Some(8));
        open.take("CPU +1 % (−9 to 11)".into(), None);
        assert_eq!(
            open.clauses(),
            [
                "median +1 µs (−2 to 4) and p99 +9 µs (−2 to 20): undecided; about 8 more blocks would tell",
                "CPU +1 % (−9 to 11): undecided; more than 100 more blocks would be needed",
            ]
        );
        assert!(Open::default().clauses().is_empty());
    }
}
