//! The `$group` stage: documents grouped by an expression, with accumulators.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use super::collection::Stored;
use super::command_error::{Code, CommandError};
use super::expression::Expression;
use super::number::{Operator, as_f64, calculate};
use crate::bson::{Doc, OwnedDoc, Value, append_sort_key, compare, document};

/// Groups per stage; MongoDB would spill to disk.
const GROUPS_MAX: usize = 1_000_000;

/// A parsed stage.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Group<'a> {
    id: Expression<'a>,
    fields: Vec<(&'a str, Accumulator, Expression<'a>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Accumulator {
    Sum,
    Average,
    Min,
    Max,
    First,
    Last,
    Push,
    Count,
}

/// The state of one accumulator of one group.
#[derive(Debug)]
enum AccumulatorState {
    Sum(Value<'static>),
    Average {
        sum: f64,
        count: u64,
    },
    /// One value, in a document of its own.
    One(Option<OwnedDoc>),
    /// A document of all values.
    All(Vec<u8>),
}

impl<'a> Group<'a> {
    pub(crate) fn read(doc: Doc<'a>) -> Result<Self, CommandError> {
        let id = doc
            .get("_id")
            .ok_or_else(|| CommandError::bad_value("a group specification must include an _id"))?;
        let mut fields = Vec::new();
        for (name, value) in doc.iter().filter(|(name, _)| *name != "_id") {
            let (operator, operand) = value.as_doc().and_then(Doc::first).ok_or_else(|| {
                CommandError::bad_value(format!("The field '{name}' must be an accumulator object"))
            })?;
            let accumulator = match operator {
                "$sum" => Accumulator::Sum,
                "$avg" => Accumulator::Average,
                "$min" => Accumulator::Min,
                "$max" => Accumulator::Max,
                "$first" => Accumulator::First,
                "$last" => Accumulator::Last,
                "$push" => Accumulator::Push,
                "$count" => Accumulator::Count,
                _ => {
                    return Err(CommandError::new(
                        Code::InvalidPipelineOperator,
                        format!(
                            "unknown group operator '{operator}'; served are $sum $avg $min $max $first $last $push $count"
                        ),
                    ));
                }
            };
            fields.push((name, accumulator, Expression::read(operand)?));
        }
        Ok(Self {
            id: Expression::read(id)?,
            fields,
        })
    }

    /// One document per group, in the order of first occurrence.
    pub(crate) fn run(
        &self,
        rows: impl Iterator<Item = Stored>,
    ) -> Result<Vec<Stored>, CommandError> {
        let mut places: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut groups: Vec<(OwnedDoc, Vec<AccumulatorState>)> = Vec::new();
        for row in rows {
            let doc = Doc::trusted(&row);
            let mut id = Vec::new();
            document(&mut id, |w| self.id.write("_id", doc, w));
            if Doc::trusted(&id).is_empty() {
                id.clear();
                document(&mut id, |w| {
                    w.value("_id", Value::Null);
                });
            }
            let mut key = Vec::new();
            append_sort_key(&mut key, Value::Document(Doc::trusted(&id)));
            let at = *places.entry(key).or_insert(groups.len());
            if at == groups.len() {
                if at >= GROUPS_MAX {
                    return Err(CommandError::new(
                        Code::QueryExceededMemoryLimitNoDiskUseAllowed,
                        format!("$group makes more than {GROUPS_MAX} groups; group by less"),
                    ));
                }
                let states = self
                    .fields
                    .iter()
                    .map(|(_, kind, _)| AccumulatorState::new(*kind));
                groups.push((id.into(), states.collect()));
            }
            for ((_, accumulator, expression), state) in self.fields.iter().zip(&mut groups[at].1) {
                state.add(*accumulator, expression, doc)?;
            }
        }
        Ok(groups
            .into_iter()
            .map(|(id, states)| self.result(&id, &states))
            .collect())
    }

    fn result(&self, id: &[u8], states: &[AccumulatorState]) -> Stored {
        let mut out = Vec::new();
        document(&mut out, |w| {
            w.all_of(Doc::trusted(id));
            for ((name, ..), state) in self.fields.iter().zip(states) {
                match state {
                    AccumulatorState::Sum(value) => w.value(name, *value),
                    AccumulatorState::Average { count: 0, .. } => w.value(name, Value::Null),
                    AccumulatorState::Average { sum, count } => w.f64(name, sum / *count as f64),
                    AccumulatorState::One(one) => {
                        let value = one.as_deref().and_then(|doc| Doc::trusted(doc).get(""));
                        w.value(name, value.unwrap_or(Value::Null))
                    }
                    AccumulatorState::All(body) => w.array(name, |list| {
                        for value in Doc::trusted(body).values() {
                            list.value(value);
                        }
                    }),
                };
            }
        });
        Arc::from(out)
    }
}

impl AccumulatorState {
    fn new(accumulator: Accumulator) -> Self {
        match accumulator {
            Accumulator::Sum | Accumulator::Count => Self::Sum(Value::Int32(0)),
            Accumulator::Average => Self::Average { sum: 0.0, count: 0 },
            Accumulator::Min | Accumulator::Max | Accumulator::First | Accumulator::Last => {
                Self::One(None)
            }
            Accumulator::Push => Self::All(Doc::EMPTY.bytes().to_vec()),
        }
    }

    fn add(
        &mut self,
        accumulator: Accumulator,
        expression: &Expression<'_>,
        doc: Doc<'_>,
    ) -> Result<(), CommandError> {
        let mut made = Vec::new();
        document(&mut made, |w| expression.write("", doc, w));
        let value = Doc::trusted(&made).get("");
        let number = value.filter(|value| as_f64(value).is_some());
        match self {
            Self::Sum(sum) => {
                let value = match accumulator {
                    Accumulator::Count => Some(Value::Int32(1)),
                    // Non-numeric values count as 0, as in MongoDB.
                    _ => number,
                };
                if let Some(value) = value {
                    *sum = calculate(sum, Operator::Add, &value).unwrap_or_else(|_| {
                        Value::Double(
                            as_f64(sum).unwrap_or_default() + as_f64(&value).unwrap_or_default(),
                        )
                    });
                }
            }
            Self::Average { sum, count } => {
                if let Some(value) = number.and_then(|value| as_f64(&value)) {
                    *sum += value;
                    *count += 1;
                }
            }
            Self::One(one) => {
                let held = one.as_deref().and_then(|doc| Doc::trusted(doc).get(""));
                let beats = match (accumulator, value, held) {
                    (Accumulator::Last, ..) | (Accumulator::First, _, None) => {
                        one.is_none() || accumulator == Accumulator::Last
                    }
                    (Accumulator::First, ..) => false,
                    // Missing and null values are ignored by `$min` and `$max`.
                    (_, None | Some(Value::Null), _) => false,
                    (_, Some(_), None) => true,
                    (Accumulator::Min, Some(value), Some(held)) => {
                        compare(&value, &held) == Ordering::Less
                    }
                    (_, Some(value), Some(held)) => compare(&value, &held) == Ordering::Greater,
                };
                if beats {
                    *one = Some(made.into());
                }
            }
            Self::All(body) => {
                if let Some(value) = value {
                    push(body, value)?;
                }
            }
        }
        Ok(())
    }
}

/// Appends an item to a document used as an array; its keys are ignored.
fn push(body: &mut Vec<u8>, value: Value<'_>) -> Result<(), CommandError> {
    let mut item = Vec::new();
    document(&mut item, |w| {
        w.value("", value);
    });
    body.pop();
    body.extend_from_slice(&item[4..]);
    let length = body.len();
    if length > crate::bson::DOCUMENT_BYTES_MAX {
        return Err(CommandError::new(
            Code::BSONObjectTooLarge,
            "$push makes a document that is too large; push less",
        ));
    }
    body[..4].copy_from_slice(&(length as u32).to_le_bytes());
    Ok(())
}
