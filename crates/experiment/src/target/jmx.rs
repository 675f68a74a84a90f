//! Management beans of a Java process (JMX): their names in counters, and on the page of a Prometheus exporter.

use std::collections::BTreeMap;

use regex::Regex;
use serde::{Deserialize, Serialize};
use tare_record::counter::one;
use tare_record::schemas::JsonSchema;

/// How to read beans of a target's instances, both those that Tare starts and external ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JmxDef {
    /// URL of Jolokia in an instance that Tare starts, a template.
    pub jolokia: String,
    /// A counter that every instance has; an instance without it is not of this target.
    pub sign: String,
    /// Command that queries an instance over JMX remoting, `java` first; `{{ folder }}` is the target folder. It reads lines
    /// from stdin: address, port, user and password (empty: none), then per query the name of a bean and its attributes,
    /// separated by tabs. It prints the response that Jolokia would give, or exits with a code other than 0 and the reason in
    /// its last line.
    #[schemars(length(min = 1))]
    pub remote: Vec<String>,
    /// Names of metrics on an exporter's page, besides the default names; the first one that is on the page is used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exported: Vec<ExportDef>,
}

/// Name of an attribute of beans under an exporter's rules.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExportDef {
    /// Regular expression for the name of a bean, from its beginning to the end of a property. Later properties are labels.
    pub bean: String,
    /// Attribute.
    pub attribute: String,
    /// Name of the metric, with or without `_total` at its end, in any case; `${1}` is the first group of `bean`.
    pub metric: String,
    /// Labels that samples must have besides, with their values.
    #[serde(default, rename = "where", skip_serializing_if = "BTreeMap::is_empty")]
    pub only: BTreeMap<String, String>,
    /// Labels that are named differently from their property: property → label.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Factor to the unit of the attribute. Default: 1.
    #[serde(default = "one")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub scale: f64,
}

/// Name of a bean, or of several, as in [`tare_record::counter::JmxSource::bean`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bean {
    /// Domain, before the colon.
    pub domain: String,
    /// Properties in order; values include `*` and `<…>`.
    pub properties: Vec<(String, String)>,
}

impl Bean {
    /// Parses a name.
    ///
    /// # Errors
    /// What is wrong with the name, in words.
    pub fn parse(text: &str) -> Result<Bean, String> {
        let wrong = |what: &str| {
            format!(
                "`{text}` {what}: write DOMAIN:KEY=VALUE,KEY=VALUE, with * or one <…> in values"
            )
        };
        let (domain, list) = text.split_once(':').ok_or_else(|| wrong("has no domain"))?;
        let properties = properties(list).ok_or_else(|| wrong("has a property without value"))?;
        let stray = |text: &str| text.contains(['<', '>', '*', '"', '\t', '\n']);
        if domain.is_empty() || stray(domain) || properties.iter().any(|(key, _)| stray(key)) {
            return Err(wrong("is not a name of beans"));
        }
        let mut labels = 0;
        for (_, value) in &properties {
            let around = match parts(value) {
                None => value.clone(),
                Some((before, choices, after)) => {
                    labels += 1;
                    let is_choice = choices.contains(['*', '|']) && !choices.contains(['<', '"']);
                    if !is_choice || choices.split('|').any(str::is_empty) {
                        return Err(wrong("has no choice in its <…>"));
                    }
                    format!("{before}{after}")
                }
            };
            if around.contains(['<', '>', '"', '\t', '\n']) {
                return Err(wrong("is not a name of beans"));
            }
        }
        match labels {
            0 | 1 => Ok(Bean {
                domain: domain.to_owned(),
                properties,
            }),
            _ => Err(wrong("has two labels")),
        }
    }

    /// Name for the query: `*` in place of `<…>`.
    #[must_use]
    pub fn asked(&self) -> String {
        let list = self
            .properties
            .iter()
            .map(|(key, value)| match parts(value) {
                Some((before, _, after)) => format!("{key}={before}*{after}"),
                None => format!("{key}={value}"),
            });
        format!("{}:{}", self.domain, list.collect::<Vec<_>>().join(","))
    }

    /// The beans with each choice of the label written out, with that label, if all choices are words.
    #[must_use]
    pub fn spelled(&self) -> Vec<(Option<String>, Bean)> {
        for (at, (_, value)) in self.properties.iter().enumerate() {
            let Some((before, choices, after)) = parts(value) else {
                continue;
            };
            if choices.contains('*') {
                break;
            }
            let of = |choice: &str| {
                let mut bean = self.clone();
                bean.properties[at].1 = format!("{before}{choice}{after}");
                (Some(choice.to_owned()), bean)
            };
            return choices.split('|').map(of).collect();
        }
        vec![(None, self.clone())]
    }
}

/// The name with all `*` and `<…>`.
impl std::fmt::Display for Bean {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:", self.domain)?;
        for (at, (key, value)) in self.properties.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(f, "{comma}{key}={value}")?;
        }
        Ok(())
    }
}

/// `KEY=VALUE,KEY=VALUE`, in order; `None`: a key or value is missing.
fn properties(list: &str) -> Option<Vec<(String, String)>> {
    let pair = |word: &str| {
        let (key, value) = word.split_once('=')?;
        let whole = !key.is_empty() && !value.is_empty();
        whole.then(|| (key.to_owned(), value.to_owned()))
    };
    list.split(',').map(pair).collect()
}

/// A regular expression that matches in full what a property's value with `*` and `<…>` stands for; the label is its group
/// `label`.
///
/// # Errors
/// If it becomes too large.
pub fn value_pattern(value: &str) -> Result<Regex, regex::Error> {
    let any = |text: &str| regex::escape(text).replace(r"\*", ".*");
    let text = match parts(value) {
        None => any(value),
        Some((before, choices, after)) => {
            let choices: Vec<String> = choices.split('|').map(any).collect();
            let (before, after) = (any(before), any(after));
            format!("{before}(?<label>{}){after}", choices.join("|"))
        }
    };
    Regex::new(&format!(r"\A(?s:{text})\z"))
}

/// Text before, in and after `<…>`.
fn parts(value: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = value.split_once('<')?;
    let (choices, after) = rest.split_once('>')?;
    Some((before, choices, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PHASES: &str =
        "kafka.network:type=RequestMetrics,name=<Total|Local>TimeMs,request=Produce";

    #[test]
    fn a_name_is_asked_by_its_pattern_and_spelled_by_its_choices() {
        let bean = Bean::parse(PHASES).unwrap();
        assert_eq!(bean.to_string(), PHASES);
        let asked = "kafka.network:type=RequestMetrics,name=*TimeMs,request=Produce";
        assert_eq!(bean.asked(), asked);
        let spelled: Vec<_> = bean.spelled();
        assert_eq!(spelled.len(), 2);
        assert_eq!(spelled[1].0.as_deref(), Some("Local"));
        assert!(spelled[1].1.to_string().contains("name=LocalTimeMs,"));
        let open = Bean::parse("java.lang:type=GarbageCollector,name=<*>").unwrap();
        assert_eq!(open.spelled(), [(None, open.clone())]);
        assert_eq!(open.asked(), "java.lang:type=GarbageCollector,name=*");
    }

    #[test]
    fn a_value_stands_for_what_its_stars_and_choices_say() {
        let label = |value: &str, text: &str| {
            let found = value_pattern(value).unwrap();
            let found = found.captures(text)?;
            Some(found.name("label").map(|label| label.as_str().to_owned()))
        };
        assert_eq!(
            label("<Total|Local>TimeMs", "LocalTimeMs"),
            Some(Some("Local".into()))
        );
        assert_eq!(label("<Total|Local>TimeMs", "RemoteTimeMs"), None);
        assert_eq!(label("<TLSv*>", "TLSv1.3"), Some(Some("TLSv1.3".into())));
        assert_eq!(label("<TLSv*>", "unknown"), None);
        assert_eq!(label("a.b", "a.b"), Some(None));
        assert_eq!(label("a.b", "axb"), None, "a point is a point");
        assert_eq!(label("*", "a\nb"), Some(None));
    }

    #[test]
    fn what_is_no_name_is_refused_with_the_form() {
        for wrong in [
            "",
            "no-domain",
            ":type=a",
            "d:",
            "d:type",
            "d:type=",
            "d:=a",
            "d:a=<x>",
            "d:a=<x|>",
            "d:a=<*>,b=<*>",
            "d:a=<*",
            "d:a=x>",
            "d:a=<*><*>",
            "d*:a=b",
            "d:a*=b",
            "d:a=\"b\"",
            "d:a=b\tc",
        ] {
            let message = Bean::parse(wrong).unwrap_err();
            assert!(message.contains("DOMAIN:KEY=VALUE"), "{wrong}: {message}");
        }
    }
}
