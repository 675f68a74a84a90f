//! The command aggregate: a pipeline of stages over documents.

use std::sync::Arc;

use super::Database;
use super::collection::{Slice, Stored};
use super::cursor::{Answer, FIRST_BATCH, Rest};
use super::failure::{Code, Failure};
use super::filter::Filter;
use super::group::Group;
use super::projection::Projection;
use super::request::{Request, doc_of};
use super::sort::Sort;
use crate::bson::{Doc, Value, Writer, document};

/// Stages of a pipeline, as in MongoDB.
const STAGES_MAX: usize = 1000;

/// A stage, read.
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
    fn read(doc: Doc<'a>) -> Result<Self, Failure> {
        let (name, operand) = match (doc.first(), doc.iter().count()) {
            (Some(stage), 1) => stage,
            _ => {
                return Err(Failure::bad(
                    "A pipeline stage specification object must contain exactly one field.",
                ));
            }
        };
        let body = || {
            operand
                .as_doc()
                .ok_or_else(|| Failure::bad(format!("the {name} stage must be an object")))
        };
        let number = || {
            let number = operand
                .as_i64()
                .and_then(|number| usize::try_from(number).ok());
            number.ok_or_else(|| Failure::bad(format!("{name} needs a whole number of at least 0")))
        };
        Ok(match name {
            "$match" => Self::Match(Filter::read(body()?)?),
            "$group" => Self::Group(Group::read(body()?)?),
            "$sort" => Self::Sort(Sort::read(body()?)?),
            "$skip" => Self::Skip(number()?),
            "$limit" => match number()? {
                0 => return Err(Failure::bad("the limit must be positive")),
                limit => Self::Limit(limit),
            },
            "$project" => Self::Project(Projection::read(body()?)?),
            "$count" => match operand.as_str() {
                Some(name) if !name.is_empty() && !name.starts_with('$') && !name.contains('.') => {
                    Self::Count(name)
                }
                _ => return Err(Failure::bad("the count field must be a non-empty string")),
            },
            _ => {
                return Err(Failure::new(
                    Code::InvalidPipelineOperator,
                    format!(
                        "Unrecognized pipeline stage name: '{name}'; served are $match $group $sort $skip $limit $project $count"
                    ),
                ));
            }
        })
    }

    fn run(&self, mut rows: Vec<Stored>) -> Result<Vec<Stored>, Failure> {
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
    ) -> Result<(), Failure> {
        let Some(("aggregate", Value::String(_))) = request.body.first() else {
            return Err(Failure::unserved("an aggregation without a collection"));
        };
        let collection = request.collection()?;
        request.refuse(&["collation", "let", "explain"])?;
        self.check_hint(request, collection)?;
        let stages = request.documents("pipeline")?;
        if stages.len() > STAGES_MAX {
            return Err(Failure::bad(format!(
                "a pipeline has at most {STAGES_MAX} stages"
            )));
        }
        let stages: Vec<Stage<'_>> = stages
            .into_iter()
            .map(Stage::read)
            .collect::<Result<_, _>>()?;
        let rows = self.piped(request.database, collection, &stages)?;
        let options = doc_of(request.body, "cursor")?;
        let batch = match options.get("batchSize").map(|value| value.as_i64()) {
            None => FIRST_BATCH,
            Some(size) => size
                .and_then(|size| usize::try_from(size).ok())
                .ok_or_else(|| Failure::bad("batchSize must be a whole number of at least 0"))?,
        };
        self.cursors.answer(
            Answer {
                namespace: format!("{}.{collection}", request.database),
                rows: rows.into(),
                projection: None,
                batch,
                rest: Rest::Kept,
            },
            w,
        )
    }

    /// A filter and an order in front go through the indexes.
    fn piped(
        &self,
        database: &str,
        collection: &str,
        stages: &[Stage<'_>],
    ) -> Result<Vec<Stored>, Failure> {
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
        let (records, ..) = collection.find(filter, &sort, Slice { skip: 0, limit });
        let rows = records.into_iter().map(|record| record.doc).collect();
        stages.iter().try_fold(rows, |rows, stage| stage.run(rows))
    }
}
