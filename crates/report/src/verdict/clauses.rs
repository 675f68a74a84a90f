//! Clauses on overheads: subject, verb, metric and amount.

use tare_record::metric::{Metric, Unit};
use tare_record::plan::{GrammaticalNumber, Subject};
use tare_record::view::{Interval, Outcome, Overhead};

use crate::judge::more_text;
use crate::quantity::{self, Sign};

/// Capitalises the beginning of a sentence, except for words such as `mTLS`.
pub fn capitalize(words: &str) -> String {
    let mut chars = words.chars();
    let keeps = words.chars().nth(1).is_some_and(char::is_uppercase);
    match chars.next() {
        Some(first) if !keeps => first.to_uppercase().chain(chars).collect(),
        _ => words.to_owned(),
    }
}

/// The clauses of one finding.
#[derive(Debug, Default)]
pub struct Clauses {
    /// "adds 0.31 ms (0.28–0.34) to the median".
    latency: Vec<String>,
    /// "costs 0.42 s (0.41–0.43) of CPU per 1000 requests".
    cost: Vec<String>,
    /// Metrics that change by less than the margin, each with the margin.
    same: Vec<(String, String)>,
    undecided: UndecidedMetrics,
    /// Sentence: one of the two arms was repeated far more often.
    repeats: Option<String>,
}

/// A metric with its article: "the median".
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
        Metric::RecordsProduced => "records produced",
        Metric::BytesProduced => "bytes produced",
        Metric::RecordsConsumed => "records consumed",
        Metric::BytesConsumed => "bytes consumed",
        Metric::Cpu => "CPU",
        Metric::CpuTotal => "CPU of all parts",
        Metric::Memory => "memory",
        Metric::MeshCpu => "CPU of all proxies",
        Metric::ProxyCpu => "CPU of the busiest proxy",
        Metric::ProxyMemory => "memory of the largest proxy",
        Metric::ControlPlaneCpu => "CPU of the control plane",
        Metric::ControlPlaneMemory => "memory of the control plane",
        Metric::P90 | Metric::P99 | Metric::P999 | Metric::Benchmark | Metric::BenchmarkRate => {
            metric.label()
        }
    }
}

/// A metric without its article, for use before a colon or a figure.
pub fn metric_name(metric: Metric) -> &'static str {
    let object = object(metric);
    object.strip_prefix("the ").unwrap_or(object)
}

/// Undecided metrics, each with its estimate and interval: one clause for all that more blocks would decide, one for the rest.
#[derive(Debug, Default)]
pub struct UndecidedMetrics {
    /// Estimates, each with the number of further blocks that would decide it.
    decidable: Vec<(String, u32)>,
    /// Estimates of metrics that no reasonable number of blocks would decide.
    undecidable: Vec<String>,
}

impl UndecidedMetrics {
    /// Adds a metric.
    pub fn add(&mut self, figure: String, more_blocks: Option<u32>) {
        match more_blocks {
            Some(more) => self.decidable.push((figure, more)),
            None => self.undecidable.push(figure),
        }
    }

    /// "p99 +0.1 ms (−0.3 to 0.5): undecided; about 8 more blocks would tell".
    pub fn clauses(&self) -> Vec<String> {
        let clause = |figures: Vec<String>, more| {
            let figures = list(&figures);
            (!figures.is_empty()).then(|| format!("{figures}: undecided; {}", more_text(more)))
        };
        let most = self.decidable.iter().map(|(_, more)| *more).max();
        let decidable = self
            .decidable
            .iter()
            .map(|(figure, _)| figure.clone())
            .collect();
        let both = [
            clause(decidable, most),
            clause(self.undecidable.clone(), None),
        ];
        both.into_iter().flatten().collect()
    }
}

impl Clauses {
    /// Clauses of some overheads of one cell; `exchanges` is the noun for its exchanges (`requests`).
    pub fn of<'a>(
        overheads: impl IntoIterator<Item = &'a Overhead>,
        number: GrammaticalNumber,
        exchanges: &str,
    ) -> Clauses {
        let mut clauses = Clauses::default();
        for overhead in overheads {
            clauses.add(overhead, number, exchanges);
        }
        clauses
    }

    fn add(&mut self, overhead: &Overhead, number: GrammaticalNumber, exchanges: &str) {
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
                self.undecided.add(
                    format!("{} {added}", metric_name(overhead.metric)),
                    *more_blocks,
                );
            }
            // Reasons for no verdict have sentences of their own.
            Outcome::Descriptive | Outcome::None { .. } => return,
        }
        if self.repeats.is_none() {
            self.repeats.clone_from(&overhead.repeats);
        }
    }

    /// The whole text; `at` is the level (" at 2000 requests/s"), `before` the beginning ("On top of both-sidecars, ").
    pub fn sentence(
        &self,
        before: &str,
        subject: &str,
        at: &str,
        number: GrammaticalNumber,
    ) -> Option<String> {
        let mut undecided = self.undecided.clauses().into_iter();
        let subject = format!("{before}{subject}");
        let parts = self.parts(at, number);
        let mut sentences = Vec::new();
        if parts.is_empty() {
            // Only the first one has the subject.
            sentences.extend(
                undecided
                    .next()
                    .map(|undecided| format!("{subject}{at}: {undecided}.")),
            );
        } else {
            // Parts that contain an "and" are separated by commas.
            let joined = match parts.split_last() {
                Some((last, first)) if first.iter().any(|part| part.contains(" and ")) => {
                    format!("{}, and {last}", first.join(", "))
                }
                _ => list(&parts),
            };
            sentences.push(format!("{subject} {joined}."));
        }
        sentences.extend(
            undecided.map(|undecided| format!("{}.", capitalize_unless_quantile(&undecided))),
        );
        if sentences.is_empty() {
            return None;
        }
        sentences.extend(self.repeats.clone());
        Some(sentences.join(" "))
    }

    /// Differences, and changes of less than the margin; the level follows the first part.
    fn parts(&self, at: &str, number: GrammaticalNumber) -> Vec<String> {
        let mut parts = merge_verbs(&[self.latency.clone(), self.cost.clone()].concat());
        parts.extend(same(&self.same, number));
        if let Some(first) = parts.first_mut() {
            first.push_str(at);
        }
        parts
    }
}

/// Capitalises the beginning of a sentence; names of quantiles (p99) stay in lower case.
fn capitalize_unless_quantile(words: &str) -> String {
    match words.starts_with('p') {
        true => words.to_owned(),
        false => capitalize(words),
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

/// A difference, with its unit for CPU: "+0.42 s (0.41–0.43) per 1000 requests".
pub fn added_text(overhead: &Overhead, exchanges: &str) -> String {
    match (overhead.metric, &overhead.added) {
        (Metric::Cpu | Metric::CpuTotal, Some(added)) => cpu_added(added, exchanges),
        _ => overhead.added_text.clone(),
    }
}

/// A difference of CPU: "+0.42 s (0.41–0.43) per 1000 requests".
pub fn cpu_added(added: &Interval, exchanges: &str) -> String {
    let seconds = quantity::difference(Unit::CpuSecondsPer1000, added, Sign::Shown);
    format!("{seconds} per 1000 {exchanges}")
}

/// "changes the median and p99 by less than 5 %": metrics of one margin together.
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
    let name = object(overhead.metric);
    if !overhead.metric.is_rate() {
        return Some(added_clause(
            overhead.metric,
            name,
            &added,
            number,
            exchanges,
        ));
    }
    let way = match added.estimate > 0.0 {
        true => "raise",
        false => "lower",
    };
    let change = quantity::change(&ratio, Sign::Spoken);
    Some(format!("{} {name} by {change}", verb(number, way)))
}

/// "adds 0.31 ms (0.28–0.34) to the median": the difference of a metric that is not a rate; `name` has its article.
pub fn added_clause(
    metric: Metric,
    name: &str,
    added: &Interval,
    number: GrammaticalNumber,
    exchanges: &str,
) -> String {
    let grows = added.estimate > 0.0;
    let amount = quantity::difference(metric.unit(), added, Sign::Spoken);
    match metric {
        Metric::Cpu | Metric::CpuTotal => {
            let whose = match metric {
                Metric::Cpu => "",
                _ => " over all parts",
            };
            let cost = verb(number, if grows { "cost" } else { "save" });
            format!("{cost} {amount} of CPU per 1000 {exchanges}{whose}")
        }
        Metric::Memory if grows => format!("{} {amount} more memory", verb(number, "need")),
        Metric::Memory => format!("{} {amount} of memory", verb(number, "save")),
        _ if grows => format!("{} {amount} to {name}", verb(number, "add")),
        _ => format!("{} {name} by {amount}", verb(number, "reduce")),
    }
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

/// The verb in the singular or plural form.
pub fn verb(number: GrammaticalNumber, verb: &str) -> String {
    match number {
        GrammaticalNumber::Singular => format!("{verb}s"),
        GrammaticalNumber::Plural => verb.to_string(),
    }
}

/// A subject at the beginning of a sentence. The name of an arm is not capitalised.
pub fn subject(subject: &Subject, name: &str) -> String {
    match subject.text == name {
        true => name.to_owned(),
        false => capitalize(&subject.text),
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
        assert_eq!(capitalize("an Envoy sidecar"), "An Envoy sidecar");
        assert_eq!(capitalize("mTLS"), "mTLS");
        let name = Subject::singular("client-sidecar");
        assert_eq!(subject(&name, "client-sidecar"), "client-sidecar");
        let words = Subject::plural("both sidecars");
        assert_eq!(subject(&words, "both-sidecars"), "Both sidecars");
    }

    #[test]
    fn what_more_blocks_would_decide_is_said_once_with_the_most_that_it_takes() {
        let mut undecided = UndecidedMetrics::default();
        undecided.add("median +1 µs (−2 to 4)".into(), Some(4));
        undecided.add("p99 +9 µs (−2 to 20)".into(), Some(8));
        undecided.add("CPU +1 % (−9 to 11)".into(), None);
        assert_eq!(
            undecided.clauses(),
            [
                "median +1 µs (−2 to 4) and p99 +9 µs (−2 to 20): undecided; about 8 more blocks would tell",
                "CPU +1 % (−9 to 11): undecided; more than 100 more blocks would be needed",
            ]
        );
        assert!(UndecidedMetrics::default().clauses().is_empty());
    }
}
