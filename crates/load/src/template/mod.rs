//! Templates: texts with values that are new for every exchange. Compiled once, rendered into a buffer without allocating.

mod date;
mod encode;
mod filler;
#[cfg(test)]
mod tests;
mod value;

use std::sync::Arc;

use tare_record::load::DataTable;
use tare_record::load::template::{
    Delimiter, Encoding, TemplateError, TemplatePiece as Parsed, ValueSource, parse,
};
use thiserror::Error;

pub use date::{Moment, days_from_civil, write_date};
pub use encode::Escaping;
use encode::{put, put_unsigned};
pub use filler::Filler;
pub(crate) use filler::FillerStart;
pub use value::Value;

/// Why a template cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CompileError {
    /// A syntax error.
    #[error(transparent)]
    Text(#[from] TemplateError),
    #[error("there is no table {0:?}: name it under data")]
    Table(String),
    #[error("table {table:?} has no column {column:?}")]
    Column { table: String, column: String },
    #[error("{0:?} is a variable; variables exist in sessions only")]
    Variable(String),
    #[error(
        "{0:?} is not valid in a path or a header: it contains a space, a line break or a control character in it"
    )]
    Unsendable(String),
}

/// Why a template cannot be rendered now.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RenderError {
    #[error("variable {0:?} has no value: capture or set it before, or ask for it with if")]
    NoValue(Arc<str>),
    #[error(
        "the value of {0:?} contains a line break, space or control character where none is valid"
    )]
    Unsendable(Arc<str>),
}

/// Tables and variables that templates may refer to.
#[derive(Debug)]
pub struct Names<'a> {
    /// Tables of the plan.
    pub tables: &'a [DataTable],
    /// Variables of the session by index; `None` outside of a session.
    pub variables: Option<&'a mut Vec<String>>,
    /// Number of `cycle` values so far.
    pub cycles: &'a mut usize,
}

/// A compiled template.
#[derive(Debug, Clone, Default)]
pub struct Template {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone)]
enum Piece {
    Text(Box<[u8]>),
    Placeholder {
        with: ValueSource,
        source: Source,
        escaping: Escaping,
        name: Arc<str>,
    },
}

/// Where a placeholder's value is.
#[derive(Debug, Clone, Copy, Default)]
struct Source {
    /// Number of the cycle, the table or the variable.
    number: usize,
    column: usize,
}

/// Data for rendering.
#[derive(Debug)]
pub struct RenderContext<'a> {
    /// Random values and counters of the worker, and its tables.
    pub filler: &'a mut Filler,
    /// The current row of each table.
    pub rows: &'a [u32],
    /// The session's variables.
    pub variables: &'a [Value],
}

impl Template {
    /// Adds literal bytes.
    pub fn text(&mut self, text: &[u8]) {
        if text.is_empty() {
            return;
        }
        if let Some(Piece::Text(last)) = self.pieces.last_mut() {
            let mut joined = std::mem::take(last).into_vec();
            joined.extend_from_slice(text);
            *last = joined.into_boxed_slice();
        } else {
            self.pieces.push(Piece::Text(text.into()));
        }
    }

    /// Adds a text with placeholders.
    ///
    /// # Errors
    /// When a placeholder is not valid.
    pub fn add(
        &mut self,
        text: &str,
        braces: Delimiter,
        escaping: Escaping,
        names: &mut Names<'_>,
    ) -> Result<(), CompileError> {
        for piece in parse(text, braces)? {
            match piece {
                Parsed::Text(text) => self.text(&escaping.own_text(&text)),
                Parsed::Placeholder(parsed) => {
                    let escaping = match (parsed.encoding, &parsed.with) {
                        (Encoding::Raw, _) => escaping.raw(),
                        // Written by the author of the plan: not data to be escaped.
                        (_, ValueSource::Choice(_) | ValueSource::Cycle(_))
                            if escaping == Escaping::Path =>
                        {
                            escaping.raw()
                        }
                        _ => escaping,
                    };
                    let name: Arc<str> = name_of(&parsed.with).into();
                    self.pieces.push(Piece::Placeholder {
                        source: resolve(&parsed.with, escaping, names)?,
                        with: parsed.with,
                        escaping,
                        name,
                    });
                }
            }
        }
        Ok(())
    }

    /// The whole text, if it has no placeholders.
    #[must_use]
    pub fn fixed(&self) -> Option<&[u8]> {
        match self.pieces.as_slice() {
            [] => Some(&[]),
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Appends the text to `out`.
    ///
    /// # Errors
    /// When a variable has no value, or one that is not valid in its place; `out` is then incomplete.
    pub fn render(
        &self,
        context: &mut RenderContext<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), RenderError> {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Placeholder {
                    with,
                    source,
                    escaping,
                    name,
                } => {
                    if !put_value(with, *source, context, *escaping, out, name)? {
                        return Err(RenderError::Unsendable(Arc::clone(name)));
                    }
                }
            }
        }
        Ok(())
    }
}

fn name_of(with: &ValueSource) -> String {
    match with {
        ValueSource::Uuid => "uuid".into(),
        ValueSource::Seq => "seq".into(),
        ValueSource::Int { .. } => "int".into(),
        ValueSource::Hex { .. } => "hex".into(),
        ValueSource::Choice(_) => "choice".into(),
        ValueSource::Cycle(_) => "cycle".into(),
        ValueSource::Date { .. } => "date".into(),
        ValueSource::Column { table, column } => format!("{table}.{column}"),
        ValueSource::Variable(name) => name.clone(),
    }
}

/// Looks up the names of a placeholder, and checks that its fixed values are valid in its place.
fn resolve(
    with: &ValueSource,
    escaping: Escaping,
    names: &mut Names<'_>,
) -> Result<Source, CompileError> {
    let check = |item: &String| match escaping.takes(item.as_bytes()) {
        true => Ok(()),
        false => Err(CompileError::Unsendable(item.clone())),
    };
    let mut source = Source::default();
    match with {
        ValueSource::Uuid
        | ValueSource::Seq
        | ValueSource::Int { .. }
        | ValueSource::Hex { .. }
        | ValueSource::Date { .. } => {}
        ValueSource::Choice(items) => items.iter().try_for_each(check)?,
        ValueSource::Cycle(items) => {
            items.iter().try_for_each(check)?;
            source.number = *names.cycles;
            *names.cycles += 1;
        }
        ValueSource::Column { table, column } => {
            let at = names.tables.iter().position(|known| known.name == *table);
            source.number = at.ok_or_else(|| CompileError::Table(table.clone()))?;
            let found = &names.tables[source.number];
            let at = found.columns.iter().position(|known| known == column);
            source.column = at.ok_or_else(|| CompileError::Column {
                table: table.clone(),
                column: column.clone(),
            })?;
            let mut values = found.rows.iter().map(|row| &row[source.column]);
            values.try_for_each(check)?;
        }
        ValueSource::Variable(name) => match names.variables.as_mut() {
            Some(variables) => source.number = variable(variables, name),
            None => return Err(CompileError::Variable(name.clone())),
        },
    }
    Ok(source)
}

/// Index of a variable, which is added if it is new.
pub fn variable(variables: &mut Vec<String>, name: &str) -> usize {
    variables
        .iter()
        .position(|known| known == name)
        .unwrap_or_else(|| {
            variables.push(name.to_owned());
            variables.len() - 1
        })
}

/// Appends a value; returns whether it is valid in its place.
fn put_value(
    with: &ValueSource,
    Source { number, column }: Source,
    context: &mut RenderContext<'_>,
    escaping: Escaping,
    out: &mut Vec<u8>,
    name: &Arc<str>,
) -> Result<bool, RenderError> {
    let filler = &mut *context.filler;
    match with {
        ValueSource::Uuid => filler.uuid(out),
        ValueSource::Seq => put_unsigned(filler.next_seq(), 1, out),
        ValueSource::Int {
            least,
            most,
            digits,
        } => filler.int((*least, *most), *digits, out),
        ValueSource::Hex { digits } => filler.hex(*digits, out),
        ValueSource::Choice(items) => {
            let at = filler.below(items.len());
            return Ok(put(items[at].as_bytes(), escaping, out));
        }
        ValueSource::Cycle(items) => {
            let at = filler.next_of_cycle(number, items.len());
            return Ok(put(items[at].as_bytes(), escaping, out));
        }
        ValueSource::Date {
            from_days,
            to_days,
            format,
        } => {
            return Ok(filler.date((*from_days, *to_days), format, escaping, out));
        }
        ValueSource::Column { .. } => {
            let row = context.rows.get(number).copied().unwrap_or(0);
            return Ok(put(filler.cell(number, row, column), escaping, out));
        }
        ValueSource::Variable(_) => {
            let value = context.variables.get(number).and_then(Value::text);
            let value = value.ok_or_else(|| RenderError::NoValue(Arc::clone(name)))?;
            return Ok(put(value, escaping, out));
        }
    }
    Ok(true)
}

/// Writes a number.
pub fn put_number(number: u64, out: &mut Vec<u8>) {
    put_unsigned(number, 1, out);
}
