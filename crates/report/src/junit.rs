//! JUnit XML, as CI servers read it.

use std::fmt::Write as _;

use tare_record::escape::escape_xml;

/// A test suite.
#[derive(Debug, Default)]
pub struct JunitSuite {
    pub name: String,
    /// Seconds that it took.
    pub took_s: f64,
    /// Start: UTC without a zone, as readers want it.
    pub started: Option<String>,
    /// Names and values.
    pub properties: Vec<(&'static str, String)>,
    pub cases: Vec<JunitCase>,
    /// Text below the cases.
    pub output: Option<String>,
}

/// A test case.
#[derive(Debug)]
pub struct JunitCase {
    pub class: String,
    pub name: String,
    pub took_s: f64,
    pub ending: JunitEnding,
}

/// How a test case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JunitEnding {
    /// It passed, with what there is to say.
    Passed(Option<String>),
    /// It did not pass.
    Failed(String),
    /// It could not be carried out.
    Error(String),
    /// It was neither passed nor failed.
    Skipped(String),
}

impl JunitEnding {
    /// Its element, and the text of it.
    fn element(&self) -> Option<(&'static str, &str)> {
        match self {
            JunitEnding::Passed(said) => said.as_deref().map(|said| ("system-out", said)),
            JunitEnding::Failed(why) => Some(("failure", why)),
            JunitEnding::Error(why) => Some(("error", why)),
            JunitEnding::Skipped(why) => Some(("skipped", why)),
        }
    }
}

/// The suites as a document.
#[must_use]
pub fn document(suites: &[JunitSuite]) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for suite in suites {
        // Writing to a string cannot fail.
        let _ = write_suite(&mut text, suite);
    }
    text + "</testsuites>\n"
}

fn write_suite(text: &mut String, suite: &JunitSuite) -> std::fmt::Result {
    let count = |wanted: &str| {
        let kinds = suite.cases.iter().filter_map(|case| case.ending.element());
        kinds.filter(|(kind, _)| *kind == wanted).count()
    };
    write!(
        text,
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3}\"",
        escape_xml(&suite.name),
        suite.cases.len(),
        count("failure"),
        count("error"),
        count("skipped"),
        suite.took_s
    )?;
    if let Some(started) = &suite.started {
        write!(text, " timestamp=\"{}\"", escape_xml(started))?;
    }
    text.push_str(">\n");
    if !suite.properties.is_empty() {
        text.push_str("    <properties>\n");
        for (name, value) in &suite.properties {
            let value = escape_xml(value);
            writeln!(text, "      <property name=\"{name}\" value=\"{value}\"/>")?;
        }
        text.push_str("    </properties>\n");
    }
    for case in &suite.cases {
        write!(
            text,
            "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\"",
            escape_xml(&case.class),
            escape_xml(&case.name),
            case.took_s
        )?;
        match case.ending.element() {
            None => text.push_str("/>\n"),
            Some((kind @ "system-out", said)) => {
                writeln!(text, "><{kind}>{}</{kind}></testcase>", escape_xml(said))?;
            }
            Some((kind, why)) => {
                // Some readers show the attribute (Jenkins, for what was skipped), others the text (GitLab).
                let line = escape_xml(why.lines().next().unwrap_or_default());
                let why = escape_xml(why);
                writeln!(
                    text,
                    ">\n      <{kind} message=\"{line}\">{why}</{kind}>\n    </testcase>"
                )?;
            }
        }
    }
    if let Some(output) = &suite.output {
        writeln!(text, "    <system-out>{}</system-out>", escape_xml(output))?;
    }
    text.push_str("  </testsuite>\n");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ending_has_its_element_and_is_counted() {
        let case = |name: &str, ending| JunitCase {
            class: "a<b".into(),
            name: name.into(),
            took_s: 0.5,
            ending,
        };
        let text = document(&[JunitSuite {
            name: "s".into(),
            cases: vec![
                case("1", JunitEnding::Passed(None)),
                case("2", JunitEnding::Passed(Some("fine".into()))),
                case("3", JunitEnding::Failed("x\ny".into())),
                case("4", JunitEnding::Error("z".into())),
                case("5", JunitEnding::Skipped("w".into())),
            ],
            ..JunitSuite::default()
        }]);
        for part in [
            "<testsuite name=\"s\" tests=\"5\" failures=\"1\" errors=\"1\" skipped=\"1\" time=\"0.000\">",
            "<testcase classname=\"a&lt;b\" name=\"1\" time=\"0.500\"/>",
            "<system-out>fine</system-out>",
            "<failure message=\"x\">x&#10;y</failure>",
            "<error message=\"z\">z</error>",
            "<skipped message=\"w\">w</skipped>",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
