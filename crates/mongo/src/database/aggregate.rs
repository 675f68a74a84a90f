//! The `aggregate` command: a pipeline of one `$group` stage with sums.

use std::collections::{HashMap, VecDeque};

use super::Database;
use super::collection::Stored;
use super::command_error::{Code, CommandError, Result};
use super::query::FIRST_BATCH;
use super::request::{Request, check_field, check_types, count_of};
use super::update::add;
use crate::bson::{Doc, Value, Writer, append_key, document};

/// Groups per stage; MongoDB would spill to disk.
const GROUPS_MAX: usize = 1_000_000;

/// A parsed `$group` stage: the expression of the groups, and the sums by name.
struct Group<'a> {
    id: Expression<'a>,
    sums: Vec<(&'a str, Expression<'a>)>,
}

/// A parsed expression.
enum Expression<'a> {
    /// `"$field"`.
    Field(&'a str),
    Constant(Value<'a>),
}

impl<'a> Expression<'a> {
    fn read(value: Value<'a>) -> Result<Self> {
        match value {
            Value::String(text) => match text.strip_prefix('$') {
                Some(field) if field.is_empty() || field.starts_with('$') => {
                    Err(unrecognized("expression", text))
                }
                Some(field) => {
                    check_field(field)?;
                    Ok(Self::Field(field))
                }
                None => Ok(Self::Constant(value)),
            },
            Value::Document(_) | Value::Array(_) => {
                Err(unrecognized("expression", &value.to_string()))
            }
            value => {
                check_types(value)?;
                Ok(Self::Constant(value))
            }
        }
    }

    /// Its value for a document; `None` if the field is missing.
    fn value(&self, doc: Doc<'a>) -> Option<Value<'a>> {
        match self {
            Self::Field(field) => doc.get(field),
            Self::Constant(value) => Some(*value),
        }
    }
}

fn unrecognized(what: &str, text: &str) -> CommandError {
    Code::InvalidPipelineOperator.error(format!(
            "Unrecognized {what} '{text}'; supported are the stage $group, the accumulator $sum, and as expressions '$field' and constants"
        ),
    )
}

impl<'a> Group<'a> {
    fn read(stage: Doc<'a>) -> Result<Self> {
        let doc = match stage.first() {
            Some(("$group", Value::Document(doc))) if stage.iter().count() == 1 => doc,
            Some((name, _)) if name != "$group" => {
                return Err(unrecognized("pipeline stage name", name));
            }
            _ => {
                return Err(
                    Code::BadValue.error("a pipeline stage must be {$group: {…}} and nothing else")
                );
            }
        };
        let mut id = None;
        let mut sums = Vec::new();
        for (name, value) in doc {
            if name == "_id" {
                id = Some(Expression::read(value)?);
                continue;
            }
            check_field(name)?;
            let accumulator = value.as_doc().filter(|doc| doc.iter().count() == 1);
            match accumulator.and_then(Doc::first) {
                Some(("$sum", operand)) => sums.push((name, Expression::read(operand)?)),
                Some((operator, _)) => return Err(unrecognized("group operator", operator)),
                None => {
                    return Err(Code::BadValue.error(format!(
                        "The field '{name}' must be an object with one accumulator"
                    )));
                }
            }
        }
        let missing = || Code::BadValue.error("a group specification must include an _id");
        Ok(Self {
            id: id.ok_or_else(missing)?,
            sums,
        })
    }

    /// One document per group, in the order of first occurrence.
    fn run(&self, docs: impl Iterator<Item = Doc<'a>>) -> Result<VecDeque<Stored>> {
        let mut places: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut groups: Vec<(Value<'a>, Vec<Value<'static>>)> = Vec::new();
        for doc in docs {
            let id = self.id.value(doc).unwrap_or(Value::Null);
            let mut key = Vec::new();
            append_key(&mut key, id);
            let at = *places.entry(key).or_insert(groups.len());
            if at == groups.len() {
                if at >= GROUPS_MAX {
                    return Err(
                        Code::QueryExceededMemoryLimitNoDiskUseAllowed.error(format!(
                            "$group makes more than {GROUPS_MAX} groups; group by less"
                        )),
                    );
                }
                groups.push((id, vec![Value::Int32(0); self.sums.len()]));
            }
            for ((_, expression), sum) in self.sums.iter().zip(&mut groups[at].1) {
                if let Some(value) = expression.value(doc) {
                    *sum = grown(*sum, value);
                }
            }
        }
        let row = |(id, sums): (Value<'a>, Vec<Value<'static>>)| {
            let mut out = Vec::new();
            document(&mut out, |w| {
                w.value("_id", id);
                for ((name, _), sum) in self.sums.iter().zip(sums) {
                    w.value(name, sum);
                }
            });
            Stored::from(out)
        };
        Ok(groups.into_iter().map(row).collect())
    }
}

/// The sum and one more value. As in MongoDB, what is no number counts as 0, and what 64 bits cannot hold becomes a double.
fn grown(sum: Value<'static>, value: Value<'_>) -> Value<'static> {
    match (add(sum, value), sum.as_f64(), value.as_f64()) {
        (Ok(sum), ..) => sum,
        (Err(_), Some(sum), Some(value)) => Value::Double(sum + value),
        (Err(_), ..) => sum,
    }
}

impl Database {
    pub(super) fn aggregate(&mut self, request: &Request<'_>, w: &mut Writer<'_>) -> Result<()> {
        let name = request.collection()?;
        request.refuse(&["collation", "let", "explain", "hint"])?;
        let groups = request
            .documents("pipeline")?
            .into_iter()
            .map(Group::read)
            .collect::<Result<Vec<_>, _>>()?;
        let [group] = groups.as_slice() else {
            return Err(CommandError::unsupported(
                "a pipeline of none or several stages",
            ));
        };
        let options = request.doc("cursor")?;
        let batch = count_of(options, "batchSize")?.unwrap_or(FIRST_BATCH);
        let rows = match self.collection(request.database, name) {
            Some(collection) => group.run(collection.documents())?,
            None => VecDeque::new(),
        };
        let namespace = format!("{}.{name}", request.database);
        self.cursors.answer(namespace, rows, batch, true, w);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_groups_than_the_limit_are_an_error() {
        let docs: Vec<Vec<u8>> = (0..=GROUPS_MAX as i32)
            .map(|key| {
                let mut doc = Vec::new();
                document(&mut doc, |w| {
                    w.i32("k", key);
                });
                doc
            })
            .collect();
        let group = Group {
            id: Expression::Field("k"),
            sums: Vec::new(),
        };
        let run = |count: usize| {
            let docs = docs[..count].iter().map(|doc| Doc::trusted(doc));
            group.run(docs).map(|rows| rows.len())
        };
        assert_eq!(run(1000).unwrap(), 1000);
        assert!(run(GROUPS_MAX + 1).is_err());
    }
}
