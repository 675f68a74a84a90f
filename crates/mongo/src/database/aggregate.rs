//! The `aggregate` command: a pipeline of stages over documents.

use std::sync::Arc;

use super::Database;
use super::collection::{SkipLimit, Stored};
use super::command_error::{Code, CommandError};
use super::cursor::{CursorReply, FIRST_BATCH, Remainder};
use super::filter::Filter;
use super::group::Group;
use super::projection::Projection;
use super::request::{Request, doc_of};
use super::sort::Sort;
use crate::bson::{Doc, Value, Writer, document};

/// Stages per pipeline, as in MongoDB.
const STAGES_MAX: usize = 1000;

/// A parsed stage.
enum Stage<'a> {
    Match(Filter<'a>),
    Group(Group<'a>),
    Sort(Sort<'a>),
    Skip(usize),
    Limit(usize),
    Project(Projection<'a>),
    Count(&'a str),
}

impl<'a> Stage<'a> {
    fn read(doc: Doc<'a>) -> Result<Self, CommandError> {
        let (name, operand) = match (doc.first(), doc.iter().count()) {
            (Some(stage), 1) => stage,
            _ => {
                return Err(CommandError::bad_value(
                    "A pipeline stage specification object must contain exactly one field.",
                ));
            }
        };
        let body = || {
            operand.as_doc().ok_or_else(|| {
                CommandError::bad_value(format!("the {name} stage must be an object"))
            })
        };
        let number = || {
            let number = operand
                .as_i64()
                .and_then(|number| usize::try_from(number).ok());
            number.ok_or_else(|| {
                CommandError::bad_value(format!("{name} needs a whole number of at least 0"))
            })
        };
        Ok(match name {
            "$match" => Self::Match(Filter::read(body()?)?),
            "$group" => Self::Group(Group::read(body()?)?),
            "$sort" => Self::Sort(Sort::read(body()?)?),
            "$skip" => Self::Skip(number()?),
            "$limit" => match number()? {
                0 => return Err(CommandError::bad_value("the limit must be positive")),
                limit => Self::Limit(limit),
            },
            "$project" => Self::Project(Projection::read(body()?)?),
            "$count" => match operand.as_str() {
                Some(name) if !name.is_empty() && !name.starts_with('$') && !name.contains('.') => {
                    Self::Count(name)
                }
                _ => {
                    return Err(CommandError::bad_value(
                        "the count field must be a non-empty string",
                    ));
                }
            },
            _ => {
                return Err(CommandError::new(
                    Code::InvalidPipelineOperator,
                    format!(
                        "Unrecognized pipeline stage name: '{name}'; served are $match $group $sort $skip $limit $project $count"
                    ),
                ));
            }
        })
    }

    fn run(&self, mut rows: Vec<Stored>) -> Result<Vec<Stored>, CommandError> {
        match self {
            Self::Match(filter) => rows.retain(|row| filter.passes(Doc::trusted(row))),
            Self::Group(group) => rows = group.run(rows.into_iter())?,
            Self::Sort(sort) => rows.sort_by_cached_key(|row| sort.key(Doc::trusted(row))),
            Self::Skip(count) => {
                rows.drain(..(*count).min(rows.len()));
            }
            Self::Limit(count) => rows.truncate(*count),
            Self::Project(projection) => {
                for row in &mut rows {
                    let mut out = Vec::new();
                    document(&mut out, |w| projection.write(Doc::trusted(row), w));
                    *row = Arc::from(out);
                }
            }
            Self::Count(name) => {
                let count = rows.len();
                rows.clear();
                if count > 0 {
                    let mut out = Vec::new();
                    document(&mut out, |w| {
                        w.count(name, count);
                    });
                    rows.push(Arc::from(out));
                }
            }
        }
        Ok(rows)
    }
}

impl Database {
    pub(super) fn aggregate(
        &mut self,
        request: &Request<'_>,
        w: &mut Writer<'_>,
    ) -> Result<(), CommandError> {
        let Some(("aggregate", Value::String(_))) = request.body.first() else {
            return Err(CommandError::unsupported(
                "an aggregation without a collection",
            ));
        };
        let collection = request.collection()?;
        request.refuse(&["collation", "let", "explain"])?;
        self.check_hint(request, collection)?;
        let stages = request.documents("pipeline")?;
        if stages.len() > STAGES_MAX {
            return Err(CommandError::bad_value(format!(
                "a pipeline has at most {STAGES_MAX} stages"
            )));
        }
        let stages: Vec<Stage<'_>> = stages
            .into_iter()
            .map(Stage::read)
            .collect::<Result<_, _>>()?;
        let rows = self.run_pipeline(request.database, collection, &stages)?;
        let options = doc_of(request.body, "cursor")?;
        let batch = match options.get("batchSize").map(|value| value.as_i64()) {
            None => FIRST_BATCH,
            Some(size) => size
                .and_then(|size| usize::try_from(size).ok())
                .ok_or_else(|| {
                    CommandError::bad_value("batchSize must be a whole number of at least 0")
                })?,
        };
        self.cursors.answer(
            CursorReply {
                namespace: format!("{}.{collection}", request.database),
                rows: rows.into(),
                projection: None,
                batch,
                rest: Remainder::Keep,
            },
            w,
        )
    }

    /// Runs a pipeline. Leading `$match` and `$sort` stages use the indexes.
    fn run_pipeline(
        &self,
        database: &str,
        collection: &str,
        stages: &[Stage<'_>],
    ) -> Result<Vec<Stored>, CommandError> {
        let Some(collection) = self.collection(database, collection) else {
            return stages
                .iter()
                .try_fold(Vec::new(), |rows, stage| stage.run(rows));
        };
        let everything = Filter::All(Vec::new());
        let (filter, stages) = match stages {
            [Stage::Match(filter), rest @ ..] => (filter, rest),
            stages => (&everything, stages),
        };
        let (sort, stages) = match stages {
            [Stage::Sort(sort), rest @ ..] => (sort.clone(), rest),
            stages => (Sort::default(), stages),
        };
        let limit = match stages {
            [Stage::Limit(limit), ..] => *limit,
            _ => usize::MAX,
        };
        let (records, ..) = collection.find(filter, &sort, SkipLimit { skip: 0, limit });
        let rows = records.into_iter().map(|record| record.doc).collect();
        stages.iter().try_fold(rows, |rows, stage| stage.run(rows))
    }
}
