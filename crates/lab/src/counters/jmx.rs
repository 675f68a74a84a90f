//! JMX attributes, as read through Jolokia or a program with the same answers.

use std::collections::BTreeMap;

use regex::Regex;
use serde::Serialize;
use serde_json::{Map, Value, json};
use tare_experiment::target::{Bean, value_pattern};
use tare_record::counter::JmxSource;

use super::CounterValue;

/// Attributes to read of one bean, or of all beans that match a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BeanQuery {
    /// Name; `*` stands for any text in the value of a property.
    pub bean: String,
    pub attributes: Vec<String>,
}

/// The queries for these sources: each bean once, and none that the pattern of another matches, because access lists
/// that allow beans one by one would use the narrower entry's attributes for both.
pub(crate) fn bean_queries<'a>(
    sources: impl IntoIterator<Item = &'a JmxSource>,
) -> Result<Vec<BeanQuery>, String> {
    let mut all = Vec::new();
    for from in sources {
        let bean = Bean::parse(&from.bean)?.asked();
        let wanted = [Some(&from.attribute), from.multiply_by.as_ref()];
        let wanted = wanted.into_iter().flatten();
        add(&mut all, bean, wanted.map(|path| split(path).0.to_owned()));
    }
    let mut patterns = Vec::new();
    for query in all.iter().filter(|query| query.is_pattern()) {
        let pattern = Pattern::of(&Bean::parse(&query.bean)?)?;
        patterns.push((query.bean.clone(), pattern));
    }
    let mut merged = Vec::new();
    for query in all {
        let name = Name::parse(&query.bean).filter(|_| !query.is_pattern());
        let finds = |pattern: &Pattern| name.as_ref().is_some_and(|name| pattern.finds(name));
        let wider = patterns.iter().find(|(_, pattern)| finds(pattern));
        let bean = wider.map_or(query.bean, |(bean, _)| bean.clone());
        add(&mut merged, bean, query.attributes);
    }
    Ok(merged)
}

fn add(all: &mut Vec<BeanQuery>, bean: String, attributes: impl IntoIterator<Item = String>) {
    let at = match all.iter().position(|one| one.bean == bean) {
        Some(at) => at,
        None => {
            all.push(BeanQuery {
                bean,
                attributes: Vec::new(),
            });
            all.len() - 1
        }
    };
    let known = &mut all[at].attributes;
    for attribute in attributes {
        if !known.contains(&attribute) {
            known.push(attribute);
        }
    }
}

/// The queries as one bulk request of Jolokia.
pub(crate) fn bulk_request(bean_queries: &[BeanQuery]) -> String {
    let one = |query: &BeanQuery| json!({"type": "read", "mbean": query.bean, "attribute": query.attributes});
    Value::from_iter(bean_queries.iter().map(one)).to_string()
}

impl BeanQuery {
    fn is_pattern(&self) -> bool {
        self.bean.contains('*')
    }
}

/// Attributes of beans, as answered.
#[derive(Debug, Default)]
pub(crate) struct BeanValues {
    beans: BTreeMap<Name, Map<String, Value>>,
    /// Error of the first query that failed other than with "not found".
    pub(crate) refusal: Option<String>,
}

impl BeanValues {
    /// Parses the answer to these queries.
    pub(crate) fn parse(text: &str, bean_queries: &[BeanQuery]) -> Result<BeanValues, String> {
        let no_list = "what answers does not tell of management beans";
        let page =
            serde_json::from_str(text).map_err(|_| format!("{no_list}: it is not valid JSON"))?;
        let all = match page {
            Value::Array(all) if all.len() == bean_queries.len() => all,
            other => return Err(error_text(&other).unwrap_or_else(|| no_list.to_owned())),
        };
        let mut answers = BeanValues::default();
        for (query, mut answer) in bean_queries.iter().zip(all) {
            let status = answer.get("status").and_then(Value::as_u64);
            match (status, answer.get_mut("value").map(Value::take)) {
                (Some(200), Some(Value::Object(found))) if query.is_pattern() => {
                    for (name, attributes) in found {
                        answers.keep(&name, attributes);
                    }
                }
                (Some(200), Some(attributes)) => answers.keep(&query.bean, attributes),
                // No such bean, or no such attribute.
                (Some(404), _) => {}
                _ => {
                    let why = error_text(&answer).unwrap_or_else(|| "no reason is told".to_owned());
                    let refusal = format!("{} is not told: {why}", query.bean);
                    answers.refusal.get_or_insert(refusal);
                }
            }
        }
        Ok(answers)
    }

    fn keep(&mut self, name: &str, attributes: Value) {
        if let (Some(name), Value::Object(attributes)) = (Name::parse(name), attributes) {
            self.beans.entry(name).or_default().extend(attributes);
        }
    }

    pub(crate) fn find(&self, from: &JmxSource) -> Result<Vec<CounterValue>, String> {
        let pattern = Pattern::of(&Bean::parse(&from.bean)?)?;
        let mut all = Vec::new();
        for (name, attributes) in &self.beans {
            let Some(label) = pattern.label(name) else {
                continue;
            };
            let factor = match &from.multiply_by {
                None => Some(1.0),
                Some(factor) => number(attributes, factor)?,
            };
            let value = number(attributes, &from.attribute)?;
            all.extend(value.zip(factor).map(|(value, factor)| CounterValue {
                edge: None,
                label,
                value: value * factor,
            }));
        }
        Ok(all)
    }
}

/// The error text of an answer, cut to a limit.
fn error_text(answer: &Value) -> Option<String> {
    const LETTERS: usize = 200;
    let error_text = answer.get("error")?.as_str()?;
    Some(error_text.chars().take(LETTERS).collect())
}

/// `HeapMemoryUsage/used` is the key `used` of an attribute.
fn split(path: &str) -> (&str, Option<&str>) {
    match path.split_once('/') {
        Some((attribute, key)) => (attribute, Some(key)),
        None => (path, None),
    }
}

/// The number of an attribute; a value that is no number is an error, not a zero.
fn number(attributes: &Map<String, Value>, path: &str) -> Result<Option<f64>, String> {
    let (attribute, key) = split(path);
    let value = attributes.get(attribute);
    let value = match key {
        Some(key) => value.and_then(|value| value.get(key)),
        None => value,
    };
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_f64() {
            Some(number) => Ok(Some(number)),
            None => Err(format!("the attribute `{path}` is not a number")),
        },
    }
}

/// The name of one bean; the order of its properties does not matter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    domain: String,
    properties: BTreeMap<String, String>,
}

impl Name {
    /// `None`: it is no bean name.
    fn parse(text: &str) -> Option<Name> {
        let (domain, mut rest) = text.split_once(':')?;
        let mut properties = BTreeMap::new();
        loop {
            let (key, value) = rest.split_once('=')?;
            let (value, after) = match value.strip_prefix('"') {
                Some(quoted) => unquoted(quoted)?,
                None => {
                    let (value, after) = value.split_at(value.find(',').unwrap_or(value.len()));
                    (value.to_owned(), after)
                }
            };
            properties.insert(key.to_owned(), value);
            match after.strip_prefix(',') {
                Some(next) => rest = next,
                None => break,
            }
        }
        Some(Name {
            domain: domain.to_owned(),
            properties,
        })
    }
}

/// The text up to the closing quotation mark, and what follows.
pub(super) fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    loop {
        match characters.next()? {
            (at, '"') => return Some((value, &text[at + 1..])),
            (_, '\\') => value.push(match characters.next()?.1 {
                'n' => '\n',
                other => other,
            }),
            (_, other) => value.push(other),
        }
    }
}

/// Matches beans by name.
struct Pattern {
    domain: String,
    properties: Vec<(String, Regex)>,
}

impl Pattern {
    fn of(bean: &Bean) -> Result<Pattern, String> {
        let mut properties = Vec::new();
        for (key, value) in &bean.properties {
            let pattern = value_pattern(value).map_err(|error| format!("{bean}: {error}"))?;
            properties.push((key.clone(), pattern));
        }
        Ok(Pattern {
            domain: bean.domain.clone(),
            properties,
        })
    }

    fn finds(&self, name: &Name) -> bool {
        self.label(name).is_some()
    }

    /// The label of a bean, if it has one; `None`: the bean does not match.
    fn label(&self, name: &Name) -> Option<Option<String>> {
        if name.domain != self.domain || name.properties.len() != self.properties.len() {
            return None;
        }
        let mut label = None;
        for (key, pattern) in &self.properties {
            let found = pattern.captures(name.properties.get(key)?)?;
            if let Some(part) = found.name("label") {
                label = Some(part.as_str().to_owned());
            }
        }
        Some(label)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(bean: &str, attribute: &str, multiply_by: Option<&str>) -> JmxSource {
        JmxSource {
            bean: bean.to_owned(),
            attribute: attribute.to_owned(),
            multiply_by: multiply_by.map(str::to_owned),
        }
    }

    fn sources() -> [JmxSource; 5] {
        [
            source("s:type=T,name=In", "Count", None),
            source("n:type=R,name=TotalTimeMs,request=P", "Count", None),
            source(
                "n:type=R,name=<Total|Local>TimeMs,request=P",
                "Mean",
                Some("Count"),
            ),
            source("s:type=T,name=In,topic=<*>", "Count", None),
            source("java.lang:type=Memory", "HeapMemoryUsage/used", None),
        ]
    }

    #[test]
    fn each_bean_is_asked_once_and_not_beside_a_pattern_that_finds_it() {
        let bean_queries = bean_queries(&sources()).unwrap();
        let all: Vec<(&str, String)> = bean_queries
            .iter()
            .map(|one| (one.bean.as_str(), one.attributes.join(" ")))
            .collect();
        let expected = [
            ("s:type=T,name=In", "Count".to_owned()),
            ("n:type=R,name=*TimeMs,request=P", "Count Mean".to_owned()),
            ("s:type=T,name=In,topic=*", "Count".to_owned()),
            ("java.lang:type=Memory", "HeapMemoryUsage".to_owned()),
        ];
        assert_eq!(all, expected);
        let asked: Value = serde_json::from_str(&bulk_request(&bean_queries)).unwrap();
        assert_eq!(asked[1]["attribute"], json!(["Count", "Mean"]));
    }

    #[test]
    fn numbers_are_found_whatever_the_order_of_properties() {
        let sources = sources();
        let bean_queries = bean_queries(&sources).unwrap();
        let text = r#"[
            {"status": 200, "value": {"Count": 7}},
            {"status": 200, "value": {
                "n:name=TotalTimeMs,request=P,type=R": {"Count": 2, "Mean": 1.5},
                "n:type=R,request=P,name=LocalTimeMs": {"Count": 2, "Mean": 0.5},
                "n:type=R,request=P,name=ThrottleTimeMs": {"Count": 2, "Mean": 9},
                "n:type=R,request=P,name=TotalTimeMs,more=x": {"Count": 99, "Mean": 9}}},
            {"status": 200, "value": {"s:topic=a.b,type=T,name=In": {"Count": 3}, "s:type=T,name=In,topic=\"x,\\\"y\"": {"Count": 4}}},
            {"status": 200, "value": {"HeapMemoryUsage": {"used": 5, "max": 6}}}
        ]"#;
        let answers = BeanValues::parse(text, &bean_queries).unwrap();
        assert_eq!(answers.refusal, None);
        let found = |at: usize| -> Vec<(Option<String>, f64)> {
            let found = answers.find(&sources[at]).unwrap();
            found
                .into_iter()
                .map(|one| (one.label, one.value))
                .collect()
        };
        assert_eq!(found(0), [(None, 7.0)]);
        assert_eq!(found(1), [(None, 2.0)]);
        let phases = [(Some("Local".into()), 1.0), (Some("Total".into()), 3.0)];
        assert_eq!(found(2), phases);
        let topics = [(Some("a.b".into()), 3.0), (Some("x,\"y".into()), 4.0)];
        assert_eq!(found(3), topics);
        assert_eq!(found(4), [(None, 5.0)]);
    }

    #[test]
    fn what_is_not_there_is_no_number_and_what_is_refused_is_told() {
        let sources = [sources()[0].clone(), sources()[4].clone()];
        let bean_queries = bean_queries(&sources).unwrap();
        let text = r#"[{"status": 404, "error": "InstanceNotFound"}, {"status": 403, "error": "not allowed"}]"#;
        let answers = BeanValues::parse(text, &bean_queries).unwrap();
        for source in &sources {
            assert_eq!(answers.find(source).unwrap(), []);
        }
        let refusal = answers.refusal.unwrap();
        assert!(refusal.contains("java.lang:type=Memory") && refusal.contains("not allowed"));
        let text = r#"[{"status": 200, "value": {"Count": "many"}}, {"status": 200, "value": {"HeapMemoryUsage": null}}]"#;
        let answers = BeanValues::parse(text, &bean_queries).unwrap();
        assert!(answers.find(&sources[0]).unwrap_err().contains("`Count`"));
        assert_eq!(answers.find(&sources[1]).unwrap(), []);
    }

    #[test]
    fn malformed_input_is_an_error() {
        let bean_queries = bean_queries(&sources()[..1]).unwrap();
        for (text, words) in [
            ("", "not valid JSON"),
            ("<html>", "not valid JSON"),
            ("[]", "does not tell"),
            ("7", "does not tell"),
            (r#"{"status": 403, "error": "forbidden"}"#, "forbidden"),
        ] {
            let error_text = BeanValues::parse(text, &bean_queries).unwrap_err();
            assert!(error_text.contains(words), "{text}: {error_text}");
        }
        for odd in ["", "a", "a:", "a:b", "a:b=\"c", "a:b=\"c\\"] {
            assert_eq!(Name::parse(odd), None, "{odd}");
        }
    }
}
