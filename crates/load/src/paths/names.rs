//! Names of requests for histograms.

use std::collections::BTreeSet;

/// Longest name before its number.
const STEM_CHARS: usize = 50;

/// Names from methods and paths, each once.
#[derive(Debug, Default)]
pub struct RequestNames(BTreeSet<String>);

impl RequestNames {
    /// A name of letters and digits, such as `GET-items`; `GET-items-2` if that is taken.
    pub fn of(&mut self, method: &str, path: &str) -> String {
        let path = path.split('?').next().unwrap_or_default();
        let text = format!("{method}{path}");
        let words = text
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .filter(|word| !word.is_empty());
        let mut stem = words.collect::<Vec<_>>().join("-");
        stem.truncate(STEM_CHARS);
        let mut name = stem.clone();
        let mut number = 2;
        while !self.0.insert(name.clone()) {
            name = format!("{stem}-{number}");
            number += 1;
        }
        name
    }
}
