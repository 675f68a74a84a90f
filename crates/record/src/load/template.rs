//! Templates: texts with placeholders, `{uuid}` in plain requests, `{{ uuid }}` and `{{ name }}` in sessions.
//!
//! In plain requests only the words below are placeholders, so that the braces of a JSON body are kept; in a session everything
//! between double braces is one.

use thiserror::Error;

/// Greatest number of random hexadecimal digits.
const HEX_DIGITS_MAX: u32 = 4096;
/// Furthest day from today.
const DAYS_MAX: i32 = 366_000;

/// A piece of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplatePiece {
    /// Literal text.
    Text(String),
    /// A placeholder.
    Placeholder(Placeholder),
}

/// A placeholder in a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placeholder {
    /// Source of its value.
    pub with: ValueSource,
    /// Encoding of its value.
    pub encoding: Encoding,
}

/// How a value is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// For its context: percent-encoded in a path or form, escaped in JSON.
    Contextual,
    /// As it is (`raw:`).
    Raw,
}

/// Source of a placeholder's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueSource {
    /// A random UUID, version 4.
    Uuid,
    /// A sequence number per worker.
    Seq,
    /// A random integer.
    Int {
        /// Least number.
        least: i64,
        /// Greatest number.
        most: i64,
        /// Least number of digits, padded with zeros.
        digits: u8,
    },
    /// Random hexadecimal digits.
    Hex {
        /// Number of digits.
        digits: u32,
    },
    /// One of these, at random.
    Choice(Vec<String>),
    /// These in turn, counted per worker.
    Cycle(Vec<String>),
    /// A random day.
    Date {
        /// Earliest, in days from today.
        from_days: i32,
        /// Latest.
        to_days: i32,
        /// Format: `%Y`, `%m`, `%d`, `%b`, `%a`, `%H`, `%M`, `%S`, `%%`.
        format: String,
    },
    /// A column of a data table's row.
    Column {
        /// Name of the table.
        table: String,
        /// Name of the column.
        column: String,
    },
    /// A variable of the session.
    Variable(String),
}

/// Delimiters of placeholders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delimiter {
    /// `{uuid}`: known words only; other braces are text.
    Single,
    /// `{{ name }}`.
    Double,
}

/// Why a text is not a valid template, with the next step.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct TemplateError(String);

fn wrong(text: &str, what: &str) -> TemplateError {
    TemplateError(format!("{text:?} {what}"))
}

fn no_name(text: &str) -> TemplateError {
    wrong(text, "is not a name: use letters, digits, - and _")
}

/// Parses a template.
///
/// # Errors
/// If a placeholder is invalid.
pub fn parse(text: &str, braces: Delimiter) -> Result<Vec<TemplatePiece>, TemplateError> {
    let (open, close) = match braces {
        Delimiter::Single => ("{", "}"),
        Delimiter::Double => ("{{", "}}"),
    };
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(open) {
        literal.push_str(&rest[..at]);
        let inside = &rest[at + open.len()..];
        let place = match (inside.find(close), braces) {
            (Some(end), Delimiter::Single) => {
                let words = &inside[..end];
                is_known(words)
                    .then(|| fill(words))
                    .transpose()?
                    .map(|fill| (fill, end))
            }
            (Some(end), Delimiter::Double) => Some((fill(&inside[..end])?, end)),
            (None, Delimiter::Single) => None,
            (None, Delimiter::Double) => {
                return Err(TemplateError(format!(
                    "{{{{ in {text:?} has no }}}} behind it"
                )));
            }
        };
        match place {
            Some((fill, end)) => {
                if !literal.is_empty() {
                    pieces.push(TemplatePiece::Text(std::mem::take(&mut literal)));
                }
                pieces.push(TemplatePiece::Placeholder(fill));
                rest = &inside[end + close.len()..];
            }
            None => {
                literal.push_str(open);
                rest = inside;
            }
        }
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        pieces.push(TemplatePiece::Text(literal));
    }
    Ok(pieces)
}

/// Whether words in single braces are a placeholder: a known word, or `table.column`.
fn is_known(words: &str) -> bool {
    let words = words.strip_prefix("raw:").unwrap_or(words);
    let head = words.split(':').next().unwrap_or_default();
    let alone = matches!(words, "uuid" | "seq" | "date");
    let with_more = matches!(head, "int" | "hex" | "choice" | "cycle" | "date") && head != words;
    let column = words
        .split_once('.')
        .is_some_and(|(table, column)| is_name(table) && is_name(column));
    alone || with_more || column
}

fn fill(words: &str) -> Result<Placeholder, TemplateError> {
    let words = words.trim();
    let (words, encoding) = match words.strip_prefix("raw:") {
        Some(rest) => (rest.trim(), Encoding::Raw),
        None => (words, Encoding::Contextual),
    };
    Ok(Placeholder {
        with: with(words)?,
        encoding,
    })
}

fn with(words: &str) -> Result<ValueSource, TemplateError> {
    let list = |text: &str| -> Result<Vec<String>, TemplateError> {
        let items: Vec<String> = text.split(',').map(|item| item.trim().to_owned()).collect();
        match text.trim().is_empty() {
            true => Err(wrong(words, "lists nothing: write choice:a,b,c")),
            false => Ok(items),
        }
    };
    match words.split_once(':') {
        Some(("int", range)) => int(range),
        Some(("hex", digits)) => digits
            .trim()
            .parse()
            .ok()
            .filter(|digits| (1..=HEX_DIGITS_MAX).contains(digits))
            .map(|digits| ValueSource::Hex { digits })
            .ok_or_else(|| {
                wrong(
                    digits,
                    "is not a number of digits: write hex:16 (at most 4096)",
                )
            }),
        Some(("choice", items)) => Ok(ValueSource::Choice(list(items)?)),
        Some(("cycle", items)) => Ok(ValueSource::Cycle(list(items)?)),
        Some(("date", day)) => date(day),
        Some((name, _)) => Err(no_name(name)),
        None => match words {
            "" => Err(TemplateError(
                "{{ }} is empty: write a variable's name, uuid, int:1..1000, …".into(),
            )),
            "uuid" => Ok(ValueSource::Uuid),
            "seq" => Ok(ValueSource::Seq),
            "date" => date("+0"),
            _ => match words.split_once('.') {
                Some((table, column)) if is_name(table) && is_name(column) => {
                    Ok(ValueSource::Column {
                        table: table.to_owned(),
                        column: column.to_owned(),
                    })
                }
                None if is_name(words) => Ok(ValueSource::Variable(words.to_owned())),
                _ => Err(no_name(words)),
            },
        },
    }
}

/// `1..1000`, or `0001..1000` for at least four digits.
fn int(range: &str) -> Result<ValueSource, TemplateError> {
    let wrong = || wrong(range, "is not a range: write int:1..1000");
    let (least_text, most_text) = range.split_once("..").ok_or_else(wrong)?;
    let (least_text, most_text) = (least_text.trim(), most_text.trim());
    let least: i64 = least_text.parse().map_err(|_| wrong())?;
    let most: i64 = most_text.parse().map_err(|_| wrong())?;
    if least > most {
        return Err(wrong());
    }
    let fixed = least_text.len() > 1 && least_text.starts_with('0');
    Ok(ValueSource::Int {
        least,
        most,
        digits: if fixed {
            least_text.len().min(20) as u8
        } else {
            1
        },
    })
}

/// `+3`, `+0..5`, each optionally followed by `:format`.
fn date(day: &str) -> Result<ValueSource, TemplateError> {
    let (days, format) = day.split_once(':').unwrap_or((day, "%Y-%m-%d"));
    let no_day = || {
        let form = "is not a day: write date, date:+3, date:+0..5 or date:+0..5:%Y-%m-%d";
        wrong(day, form)
    };
    let (from, to) = days.split_once("..").unwrap_or((days, days));
    let number = |text: &str| {
        let number: i32 = text.trim().parse().map_err(|_| no_day())?;
        Ok(number)
    };
    let (from_days, to_days) = (number(from)?, number(to)?);
    let near = |days: i32| (-DAYS_MAX..=DAYS_MAX).contains(&days);
    if from_days > to_days || !near(from_days) || !near(to_days) {
        return Err(no_day());
    }
    let mut letters = format.chars();
    while let Some(letter) = letters.next() {
        if letter == '%'
            && !letters
                .next()
                .is_some_and(|next| "YmdbaHMS%".contains(next))
        {
            let letters = "is not a part of a date: use %Y, %m, %d, %b, %a, %H, %M, %S and %%";
            return Err(wrong(format, letters));
        }
    }
    Ok(ValueSource::Date {
        from_days,
        to_days,
        format: format.to_owned(),
    })
}

/// Whether a word is a valid name of a variable, a table or a column.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fills(text: &str, braces: Delimiter) -> Vec<ValueSource> {
        let pieces = parse(text, braces).unwrap();
        let fill = |piece| match piece {
            TemplatePiece::Placeholder(fill) => Some(fill.with),
            TemplatePiece::Text(_) => None,
        };
        pieces.into_iter().filter_map(fill).collect()
    }

    #[test]
    fn single_braces_of_a_json_body_stay_what_they_are() {
        let body = r#"{"id":"{uuid}","in":{"a":{}},"n":{int:1..9},"open":"{"#;
        let expected = [
            ValueSource::Uuid,
            ValueSource::Int {
                least: 1,
                most: 9,
                digits: 1,
            },
        ];
        assert_eq!(fills(body, Delimiter::Single), expected);
        let whole: String = parse(body, Delimiter::Single)
            .unwrap()
            .iter()
            .map(|piece| match piece {
                TemplatePiece::Text(text) => text.as_str(),
                TemplatePiece::Placeholder(_) => "#",
            })
            .collect();
        assert_eq!(whole, r##"{"id":"#","in":{"a":{}},"n":#,"open":"{"##);
    }

    #[test]
    fn every_source_is_read_with_its_parameters() {
        let read = |text: &str| fills(text, Delimiter::Double).remove(0);
        assert_eq!(read("{{seq}}"), ValueSource::Seq);
        assert_eq!(read("{{ hex:16 }}"), ValueSource::Hex { digits: 16 });
        assert_eq!(
            read("{{ int:0001..1000 }}"),
            ValueSource::Int {
                least: 1,
                most: 1000,
                digits: 4
            }
        );
        assert_eq!(
            read("{{ choice:a, b }}"),
            ValueSource::Choice(vec!["a".into(), "b".into()])
        );
        assert_eq!(
            read("{{ date:+6..12 }}"),
            ValueSource::Date {
                from_days: 6,
                to_days: 12,
                format: "%Y-%m-%d".into()
            }
        );
        assert_eq!(
            read("{{ users.name }}"),
            ValueSource::Column {
                table: "users".into(),
                column: "name".into()
            }
        );
        assert_eq!(read("{{ token }}"), ValueSource::Variable("token".into()));
        let raw = parse("{{ raw:doc }}", Delimiter::Double).unwrap();
        assert!(matches!(
            &raw[..],
            [TemplatePiece::Placeholder(Placeholder {
                encoding: Encoding::Raw,
                ..
            })]
        ));
    }

    #[test]
    fn what_cannot_be_filled_is_refused_in_words() {
        let said = |text: &str| parse(text, Delimiter::Double).unwrap_err().to_string();
        assert!(said("{{ int:9..1 }}").contains("int:1..1000"));
        assert!(said("{{ hex:0 }}").contains("hex:16"));
        assert!(said("{{ date:+1:%q }}").contains("%Y"));
        assert!(said("{{ date:soon }}").contains("date:+3"));
        assert!(said("{{ a b }}").contains("letters"));
        assert!(said("{{ }}").contains("empty"));
        assert!(said("a {{ b").contains("}}"));
        assert!(said("{{ choice: }}").contains("choice:a,b,c"));
    }
}
