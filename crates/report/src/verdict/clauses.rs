//! Overheads in words: who does what to which metric by how much.

use tare_schema::metric::Metric;
use tare_schema::view::{Family, Outcome, Overhead};

use crate::quantity::{self, Sign};

/// Whether a subject takes "adds" or "add".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    /// One thing.
    Singular,
    /// Several.
    Plural,
}

/// The number of a description, from its words before the first preposition: "a sidecar on client" is one thing, "Envoy
/// sidecars on both" are several.
pub fn number(about: &str) -> Number {
    let words: Vec<String> = about.split_whitespace().map(str::to_lowercase).collect();
    match words.first().map(String::as_str) {
        Some("a" | "an" | "one" | "the" | "no" | "each") | None => return Number::Singular,
        Some("two" | "three" | "four" | "five" | "six" | "both") => return Number::Plural,
        // Doing something is one thing, whatever it is done to.
        Some(doing) if doing.ends_with("ing") && words.len() > 1 => return Number::Singular,
        _ => {}
    }
    let stops = [
        "on", "between", "with", "in", "at", "beside", "for", "over", "to", "through",
    ];
    let mut last = "";
    for word in &words {
        if stops.contains(&word.as_str()) {
            break;
        }
        if word == "and" {
            return Number::Plural;
        }
        last = word.trim_end_matches(',');
        if word.ends_with(',') {
            break;
        }
    }
    let plural =
        last.len() > 3 && last.ends_with('s') && !last.ends_with("ss") && !last.ends_with("tls");
    if plural {
        Number::Plural
    } else {
        Number::Singular
    }
}

/// A subject with its first letter large, closed by a comma if it has one inside.
pub fn subject(about: &str) -> String {
    let mut chars = about.chars();
    // `mTLS` and the like keep their first letter: the second one is large already.
    let keeps = about.chars().nth(1).is_some_and(char::is_uppercase);
    let first = chars.next().map(|c| {
        if keeps {
            c.to_string()
        } else {
            c.to_uppercase().to_string()
        }
    });
    let close = if about.contains(',') { "," } else { "" };
    format!("{}{}{close}", first.unwrap_or_default(), chars.as_str())
}

/// What a sentence of findings is made of.
#[derive(Debug, Default)]
pub struct Clauses {
    /// "adds 0.31 ms (0.28–0.34) to the median".
    latency: Vec<String>,
    /// "costs 0.42 cores (0.41–0.43) per 1000 requests/s".
    cost: Vec<String>,
    /// Names of metrics that stay the same, with the margin.
    same: Vec<(String, String)>,
    /// "p99 undecided: 4 more blocks would tell".
    open: Vec<String>,
}

/// A metric as the object of a sentence.
pub fn object(metric: Metric) -> &'static str {
    match metric {
        Metric::Mean => "the mean",
        Metric::Median => "the median",
        Metric::Max => "the maximum",
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

impl Clauses {
    /// Clauses of some overheads of one cell, whose exchanges are called so (`requests`).
    pub fn of<'a>(
        overheads: impl IntoIterator<Item = &'a Overhead>,
        number: Number,
        exchanges: &str,
    ) -> Clauses {
        let mut clauses = Clauses::default();
        for overhead in overheads {
            clauses.take(overhead, number, exchanges);
        }
        clauses
    }

    fn take(&mut self, overhead: &Overhead, number: Number, exchanges: &str) {
        let name = object(overhead.metric);
        let margin = overhead.margin.map(quantity::percent).unwrap_or_default();
        match &overhead.outcome {
            Outcome::Differs { within_margin } => {
                let Some(mut text) = difference(overhead, number, exchanges) else {
                    return;
                };
                if *within_margin {
                    text.push_str(&format!(" (less than the margin of {margin})"));
                }
                match overhead.metric {
                    Metric::Cpu
                    | Metric::CpuTotal
                    | Metric::Memory
                    | Metric::MeshCpu
                    | Metric::ProxyCpu
                    | Metric::ProxyMemory => self.cost.push(text),
                    _ => self.latency.push(text),
                }
            }
            Outcome::Same => self.same.push((name.into(), margin)),
            Outcome::Undecided { .. } | Outcome::None { .. } => {
                self.open
                    .push(format!("{} {}", bare(name), overhead.outcome_text));
            }
            Outcome::Described => {}
        }
    }

    /// The whole sentence; `at` is the level, as in " at 2000 requests/s".
    pub fn sentence(&self, subject: &str, at: &str, number: Number) -> Option<String> {
        let mut parts: Vec<String> = Vec::new();
        if !self.latency.is_empty() {
            parts.push(format!("{}{at}", list(&merge_verbs(&self.latency))));
        }
        parts.extend(self.cost.iter().cloned());
        if !self.same.is_empty() {
            parts.push(same(&self.same, number));
        }
        if parts.is_empty() {
            return (!self.open.is_empty()).then(|| {
                format!(
                    "{}{at}: {}.",
                    subject.trim_end_matches(','),
                    self.open.join("; ")
                )
            });
        }
        if self.latency.is_empty() {
            parts[0].push_str(at);
        }
        // A comma parts what already has an "and" in it.
        let joined = match parts.split_last() {
            Some((last, first)) if first.iter().any(|part| part.contains(" and ")) => {
                format!("{}, and {last}", first.join(", "))
            }
            _ => list(&parts),
        };
        let mut text = format!("{subject} {joined}");
        if !self.open.is_empty() {
            text.push_str(&format!("; {}", self.open.join("; ")));
        }
        text.push('.');
        Some(text)
    }
}

/// "the median" at the start of a clause of its own: "median undecided".
fn bare(object: &str) -> &str {
    object.strip_prefix("the ").unwrap_or(object)
}

fn same(same: &[(String, String)], number: Number) -> String {
    // One margin for all of them, where it is one.
    let margins: Vec<&String> = same.iter().map(|(_, margin)| margin).collect();
    let leaves = verb(number, "leave");
    if margins.iter().all(|m| *m == margins[0]) {
        let names: Vec<String> = same.iter().map(|(name, _)| name.clone()).collect();
        return format!("{leaves} {} the same within {}", list(&names), margins[0]);
    }
    let each: Vec<String> = same
        .iter()
        .map(|(name, margin)| format!("{name} the same within {margin}"))
        .collect();
    format!("{leaves} {}", list(&each))
}

fn difference(overhead: &Overhead, number: Number, exchanges: &str) -> Option<String> {
    let added = overhead.added?;
    let ratio = overhead.ratio?;
    let grows = added.estimate > 0.0;
    let amount = quantity::difference(overhead.unit, &added, Sign::Spoken);
    let change = quantity::change(&ratio, Sign::Spoken);
    let name = object(overhead.metric);
    Some(match overhead.metric {
        rate if rate.is_rate() => {
            let way = if grows { "raise" } else { "lower" };
            format!("{} {name} by {change}", verb(number, way))
        }
        // On top of an arm that has its price already, the share tells more than the cores.
        Metric::Cpu | Metric::CpuTotal if overhead.family == Family::Step => {
            let whose = if overhead.metric == Metric::Cpu {
                "CPU"
            } else {
                "CPU over all parts"
            };
            let more = if grows { "more" } else { "less" };
            format!("{} {change} {more} {whose}", verb(number, "need"))
        }
        Metric::Cpu | Metric::CpuTotal => {
            let cores = quantity::cores(&added, Sign::Spoken);
            let whose = if overhead.metric == Metric::Cpu {
                ""
            } else {
                " over all parts"
            };
            let cost = verb(number, if grows { "cost" } else { "save" });
            format!("{cost} {cores} per 1000 {exchanges}/s{whose}")
        }
        Metric::Memory if grows => format!("{} {amount} of memory", verb(number, "take")),
        Metric::Memory => format!("{} {amount} of memory", verb(number, "save")),
        _ if grows => format!("{} {amount} to {name}", verb(number, "add")),
        _ => format!("{} {amount} off {name}", verb(number, "take")),
    })
}

/// "adds A to the median", "adds B to p99" → "adds A to the median", "B to p99".
fn merge_verbs(clauses: &[String]) -> Vec<String> {
    let mut merged: Vec<String> = Vec::new();
    let mut before = String::new();
    for clause in clauses {
        let (first, rest) = clause.split_once(' ').unwrap_or((clause, ""));
        if first == before && first.starts_with("add") {
            merged.push(rest.to_string());
        } else {
            merged.push(clause.clone());
        }
        before = first.to_string();
    }
    merged
}

/// The verb for one or several.
pub fn verb(number: Number, verb: &str) -> String {
    match number {
        Number::Singular => format!("{verb}s"),
        Number::Plural => verb.to_string(),
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
    fn the_verb_follows_the_number_of_the_subject() {
        for several in [
            "Envoy sidecars on client and server",
            "two Envoy sidecars",
            "a b and c",
        ] {
            let expect = if several.starts_with("a ") {
                Number::Singular
            } else {
                Number::Plural
            };
            assert_eq!(number(several), expect, "{several}");
        }
        for one in [
            "an Envoy sidecar on client",
            "mTLS",
            "mTLS between them",
            "server-sidecar",
            "keeping all statistics",
            "no proxies",
            "",
        ] {
            assert_eq!(number(one), Number::Singular, "{one}");
        }
    }

    #[test]
    fn a_subject_begins_large_unless_it_is_spelled_small() {
        assert_eq!(subject("an Envoy sidecar"), "An Envoy sidecar");
        assert_eq!(subject("mTLS"), "mTLS");
        assert_eq!(
            subject("sidecars on both, mTLS between"),
            "Sidecars on both, mTLS between,"
        );
    }
}
