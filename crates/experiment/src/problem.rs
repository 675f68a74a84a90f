//! Problems of a file, each with its position.

use std::fmt;

use crate::yaml::Mark;
pub use tare_record::text::list;

/// Greatest number of problems shown.
const SHOWN_MAX: usize = 20;

/// A problem with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// File, as it was named.
    pub file: String,
    /// Position in it.
    pub mark: Mark,
    /// The problem, with the next step.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mark { line, column } = self.mark;
        write!(f, "{}:{line}:{column}: {}", self.file, self.text)
    }
}

/// All problems of an input; never empty when returned as an error.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Problems {
    found: Vec<Problem>,
}

impl Problems {
    /// Adds a problem, unless it is there already.
    pub fn add(&mut self, file: &str, mark: Mark, text: impl Into<String>) {
        let problem = Problem {
            file: file.to_owned(),
            mark,
            text: text.into(),
        };
        // A wrong factor value causes the same problem at every level.
        if !self.found.contains(&problem) {
            self.found.push(problem);
        }
    }

    /// A single problem.
    #[must_use]
    pub fn one(file: &str, mark: Mark, text: impl Into<String>) -> Problems {
        let mut problems = Problems::default();
        problems.add(file, mark, text);
        problems
    }

    /// Adds those of another list.
    pub fn extend(&mut self, other: Problems) {
        for problem in other.found {
            if !self.found.contains(&problem) {
                self.found.push(problem);
            }
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Number of problems.
    #[must_use]
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// All problems, in the order found.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.found.iter()
    }

    /// `value` if there are no problems.
    ///
    /// # Errors
    /// The problems, sorted by position.
    pub fn into_result<T>(self, value: T) -> Result<T, Problems> {
        match self.found.is_empty() {
            true => Ok(value),
            false => Err(self.sorted()),
        }
    }

    /// The problems, sorted by position.
    pub(crate) fn sorted(mut self) -> Problems {
        self.found
            .sort_by(|a, b| (&a.file, a.mark).cmp(&(&b.file, b.mark)));
        self
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.found.iter().take(SHOWN_MAX).enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{problem}")?;
        }
        if self.found.len() > SHOWN_MAX {
            write!(f, "\n… and {} more", self.found.len() - SHOWN_MAX)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// `unknown part "clinet": did you mean "client"?`
#[must_use]
pub fn unknown<W: AsRef<str>>(
    what: &str,
    wrong: &str,
    known: impl IntoIterator<Item = W>,
) -> String {
    format!("unknown {what} \"{wrong}\"{}", hint(wrong, known))
}

/// `: did you mean "x"?` for a near match, else the list of known words, else nothing.
#[must_use]
pub fn hint<W: AsRef<str>>(wrong: &str, known: impl IntoIterator<Item = W>) -> String {
    // Jaro-Winkler favours common prefixes, which typing errors usually keep. 0.75 separates `sidecar`/`sidecars` (0.98) and
    // `modle`/`model` (0.95) from unrelated words (below 0.7).
    const NEAR: f64 = 0.75;
    const LISTED_MAX: usize = 32;
    let known: Vec<W> = known.into_iter().collect();
    let nearest = known
        .iter()
        .map(|word| (strsim::jaro_winkler(wrong, word.as_ref()), word.as_ref()))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match nearest {
        Some((score, word)) if score >= NEAR => format!(": did you mean \"{word}\"?"),
        Some(_) if known.len() <= LISTED_MAX => format!(": known are {}", list(&known)),
        Some((_, word)) => format!(": the nearest known is \"{word}\""),
        None => String::new(),
    }
}
