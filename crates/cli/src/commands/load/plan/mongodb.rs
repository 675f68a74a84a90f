//! The MongoDB operations of the arguments.

use anyhow::bail;
use tare_load::protocols::mongodb::MongoData;
use tare_schema::load::{Body, Expect, ExpectBody, ExpectStatus, RequestSpec};

use super::super::args::{Args, MongodbArgs};
use super::super::target::LoadUrl;

/// Data and operations of the URL and the arguments; `None` for another protocol.
pub(super) fn load(
    args: &Args,
    target: &LoadUrl,
) -> anyhow::Result<Option<(MongoData, Vec<RequestSpec>)>> {
    if !target.is("mongodb") {
        return match args.mongodb.given() {
            Some(flag) => bail!(
                "{flag} is for MongoDB alone: write mongodb://{}/database.collection",
                target.host
            ),
            None => Ok(None),
        };
    }
    if args.protocol.connect_only || args.protocol.handshakes {
        return Ok(None);
    }
    Ok(Some((
        data(&args.mongodb, target)?,
        requests(&args.mongodb),
    )))
}

fn data(args: &MongodbArgs, target: &LoadUrl) -> anyhow::Result<MongoData> {
    let defaults = MongoData::default();
    let path = target.path.split('?').next().unwrap_or_default();
    let (database, collection) = match path.trim_start_matches('/') {
        "" => (defaults.database, defaults.collection),
        name => match name.split_once('.') {
            Some((database, collection)) if !database.is_empty() && !collection.is_empty() => {
                (database.to_owned(), collection.to_owned())
            }
            _ => bail!(
                "{}: {name} names no collection; write mongodb://{}/database.collection",
                target.url,
                target.host
            ),
        },
    };
    let document_bytes = match args.mongodb_document_size {
        Some(size) => u32::try_from(size.0).unwrap_or(u32::MAX),
        None => defaults.document_bytes,
    };
    Ok(MongoData {
        database,
        collection,
        documents: args.mongodb_documents.unwrap_or(defaults.documents),
        document_bytes,
    })
}

fn requests(args: &MongodbArgs) -> Vec<RequestSpec> {
    let only_find = vec![("find".to_owned(), 1.0)];
    let mix = args
        .mongodb_mix
        .as_ref()
        .map_or(only_find, |mix| mix.0.clone());
    let one = |(operation, weight): (String, f64)| RequestSpec {
        name: operation.clone(),
        weight,
        method: operation,
        path: "/".into(),
        headers: Vec::new(),
        body: Body::None,
        parts: Default::default(),
        expect: Expect {
            status: ExpectStatus::Success,
            body: ExpectBody::Any,
        },
    };
    mix.into_iter().map(one).collect()
}
