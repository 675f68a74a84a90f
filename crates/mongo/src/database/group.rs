//! `$group`: documents gathered by a value, and what is added up over each group.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use super::collection::Stored;
use super::expression::Expression;
use super::failure::{Code, Failure};
use super::number::{Operator, as_f64, calculate};
use crate::bson::{Doc, OwnedDoc, Value, compare, document, put_key};

/// Groups of one stage; MongoDB would spill to disk, this does not.
const GROUPS_MAX: usize = 1_000_000;

/// A stage, read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Group<'a> {
    id: Expression<'a>,
    fields: Vec<(&'a str, Accumulator, Expression<'a>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Accumulator {
    Sum,
    Average,
    Least,
    Greatest,
    First,
    Last,
    Push,
    Count,
}

/// What is known of one field of one group.
#[derive(Debug)]
enum State {
    Sum(Value<'static>),
    Average {
        sum: f64,
        count: u64,
    },
    /// One value, in a document of its own.
    One(Option<OwnedDoc>),
    /// A document with all of them.
    All(Vec<u8>),
}

impl<'a> Group<'a> {
    pub(crate) fn read(doc: Doc<'a>) -> Result<Self, Failure> {
        let id = doc
            .get("_id")
            .ok_or_else(|| Failure::bad("a group specification must include an _id"))?;
        let mut fields = Vec::new();
        for (name, value) in doc.iter().filter(|(name, _)| *name != "_id") {
            let (operator, operand) = value.as_doc().and_then(Doc::first).ok_or_else(|| {
                Failure::bad(format!("The field '{name}' must be an accumulator object"))
            })?;
            let accumulator = match operator {
                "$sum" => Accumulator::Sum,
                "$avg" => Accumulator::Average,
                "$min" => Accumulator::Least,
                "$max" => Accumulator::Greatest,
                "$first" => Accumulator::First,
                "$last" => Accumulator::Last,
                "$push" => Accumulator::Push,
                "$count" => Accumulator::Count,
                _ => {
                    return Err(Failure::new(
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

    /// One document for each group, in the order in which they were met.
    pub(crate) fn run(&self, rows: impl Iterator<Item = Stored>) -> Result<Vec<Stored>, Failure> {
        let mut places: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut groups: Vec<(OwnedDoc, Vec<State>)> = Vec::new();
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
            put_key(&mut key, Value::Document(Doc::trusted(&id)));
            let at = *places.entry(key).or_insert(groups.len());
            if at == groups.len() {
                if at >= GROUPS_MAX {
                    return Err(Failure::new(
                        Code::QueryExceededMemoryLimitNoDiskUseAllowed,
                        format!("$group makes more than {GROUPS_MAX} groups; group by less"),
                    ));
                }
                let states = self.fields.iter().map(|(_, kind, _)| State::new(*kind));
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

    fn result(&self, id: &[u8], states: &[State]) -> Stored {
        let mut out = Vec::new();
        document(&mut out, |w| {
            w.all_of(Doc::trusted(id));
            for ((name, ..), state) in self.fields.iter().zip(states) {
                match state {
                    State::Sum(value) => w.value(name, *value),
                    State::Average { count: 0, .. } => w.value(name, Value::Null),
                    State::Average { sum, count } => w.f64(name, sum / *count as f64),
                    State::One(one) => {
                        let value = one.as_deref().and_then(|doc| Doc::trusted(doc).get(""));
                        w.value(name, value.unwrap_or(Value::Null))
                    }
                    State::All(body) => w.array(name, |list| {
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

impl State {
    fn new(accumulator: Accumulator) -> Self {
        match accumulator {
            Accumulator::Sum | Accumulator::Count => Self::Sum(Value::Int32(0)),
            Accumulator::Average => Self::Average { sum: 0.0, count: 0 },
            Accumulator::Least | Accumulator::Greatest | Accumulator::First | Accumulator::Last => {
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
    ) -> Result<(), Failure> {
        let mut made = Vec::new();
        document(&mut made, |w| expression.write("", doc, w));
        let value = Doc::trusted(&made).get("");
        let number = value.filter(|value| as_f64(value).is_some());
        match self {
            Self::Sum(sum) => {
                let value = match accumulator {
                    Accumulator::Count => Some(Value::Int32(1)),
                    // What is no number counts as 0, as in MongoDB.
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
                    // What is missing or null is neither least nor greatest.
                    (_, None | Some(Value::Null), _) => false,
                    (_, Some(_), None) => true,
                    (Accumulator::Least, Some(value), Some(held)) => {
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

/// Adds an item to a document of items, whose keys do not count.
fn push(body: &mut Vec<u8>, value: Value<'_>) -> Result<(), Failure> {
    let mut item = Vec::new();
    document(&mut item, |w| {
        w.value("", value);
    });
    body.pop();
    body.extend_from_slice(&item[4..]);
    let length = body.len();
    if length > crate::bson::DOCUMENT_BYTES_MAX {
        return Err(Failure::new(
            Code::BSONObjectTooLarge,
            "$push makes a document that is too large; push less",
        ));
    }
    body[..4].copy_from_slice(&(length as u32).to_le_bytes());
    Ok(())
}
