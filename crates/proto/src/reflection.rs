//! Descriptors from the server, by `grpc.reflection`; its messages are declared by hand.

use prost::{Message, Oneof};
use prost_reflect::DescriptorPool;
use prost_reflect::prost_types::{FileDescriptorProto, FileDescriptorSet};
use protox::file::{FileResolver, GoogleFileResolver};

use crate::descriptors::{ServiceDescriptors, list};
use crate::{ProtoError, editions};

/// Calls to collect a service with all its imports, at most.
const ROUNDS_MAX: usize = 64;

/// Files of one service with its imports, at most.
const FILES_MAX: usize = 10_000;

/// `ServerReflectionRequest`.
#[derive(Clone, PartialEq, Message)]
struct Request {
    #[prost(oneof = "Query", tags = "3, 4, 7")]
    query: Option<Query>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Query {
    #[prost(string, tag = "3")]
    FileByName(String),
    #[prost(string, tag = "4")]
    FileContaining(String),
    #[prost(string, tag = "7")]
    Services(String),
}

/// `ServerReflectionResponse`.
#[derive(Clone, PartialEq, Message)]
struct Response {
    #[prost(oneof = "Reply", tags = "4, 6, 7")]
    reply: Option<Reply>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Reply {
    #[prost(message, tag = "4")]
    Files(Files),
    #[prost(message, tag = "6")]
    Services(Services),
    #[prost(message, tag = "7")]
    ErrorResponse(ErrorResponse),
}

#[derive(Clone, PartialEq, Message)]
struct Files {
    #[prost(bytes = "vec", repeated, tag = "1")]
    files: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
struct Services {
    #[prost(message, repeated, tag = "1")]
    services: Vec<Service>,
}

#[derive(Clone, PartialEq, Message)]
struct Service {
    #[prost(string, tag = "1")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct ErrorResponse {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    text: String,
}

/// Makes one call with these messages and returns the response messages, or the error.
pub type CallFn<'a> = dyn FnMut(&[Vec<u8>]) -> Result<Vec<Vec<u8>>, String> + 'a;

impl ServiceDescriptors {
    /// From a server with reflection: the file of a service and all its imports.
    ///
    /// # Errors
    /// When a call fails, or the server does not know the service or one of its imports.
    pub fn from_server(service: &str, call: &mut CallFn<'_>) -> Result<Self, ProtoError> {
        let mut files: Vec<FileDescriptorProto> = Vec::new();
        let mut queries = vec![Query::FileContaining(service.to_owned())];
        for _ in 0..ROUNDS_MAX {
            for (query, reply) in queries.iter().zip(send_queries(&queries, call)?) {
                let reply = match (query, reply) {
                    (Query::FileContaining(_), Reply::ErrorResponse(error)) => {
                        return Err(unknown(service, &error, call));
                    }
                    (Query::FileByName(name), Reply::ErrorResponse(error)) => {
                        vec![well_known(name, &error)?]
                    }
                    (query, reply) => files_of(query, reply)?,
                };
                for file in reply {
                    if !files.iter().any(|known| known.name == file.name) {
                        files.push(file);
                    }
                }
            }
            queries = missing(&files).into_iter().map(Query::FileByName).collect();
            if queries.is_empty() || files.len() > FILES_MAX {
                break;
            }
        }
        let pool = DescriptorPool::from_file_descriptor_set(FileDescriptorSet { file: files });
        Ok(Self {
            pool: pool.map_err(|why| refused(service, &why))?,
        })
    }
}

fn send_queries(queries: &[Query], call: &mut CallFn<'_>) -> Result<Vec<Reply>, ProtoError> {
    let requests: Vec<Vec<u8>> = queries
        .iter()
        .map(|query| {
            Request {
                query: Some(query.clone()),
            }
            .encode_to_vec()
        })
        .collect();
    let answers = call(&requests).map_err(ProtoError::Query)?;
    if answers.len() != queries.len() {
        let why = format!("{} answers to {} questions", answers.len(), queries.len());
        return Err(ProtoError::Query(why));
    }
    answers
        .iter()
        .map(|answer| match Response::decode(answer.as_slice()) {
            Ok(Response { reply: Some(reply) }) => Ok(reply),
            Ok(Response { reply: None }) => Err(ProtoError::Query("an empty answer".into())),
            Err(why) => Err(ProtoError::Query(why.to_string())),
        })
        .collect()
}

fn files_of(query: &Query, reply: Reply) -> Result<Vec<FileDescriptorProto>, ProtoError> {
    let asked = match query {
        Query::FileByName(name) | Query::FileContaining(name) | Query::Services(name) => name,
    };
    let Reply::Files(Files { files }) = reply else {
        return Err(refused(asked, &"it answers another question"));
    };
    files
        .iter()
        .map(|bytes| editions::decode(bytes).map_err(|why| refused(asked, &why))?)
        .collect()
}

/// Imports of the files that are not among them, each once.
fn missing(files: &[FileDescriptorProto]) -> Vec<String> {
    let mut missing: Vec<String> = Vec::new();
    for import in files.iter().flat_map(|file| &file.dependency) {
        let known = files.iter().any(|file| file.name.as_ref() == Some(import));
        if !known && !missing.contains(import) {
            missing.push(import.clone());
        }
    }
    missing
}

/// A file of Google's well-known types, which some servers do not return.
fn well_known(name: &str, error: &ErrorResponse) -> Result<FileDescriptorProto, ProtoError> {
    match GoogleFileResolver::new().open_file(name) {
        Ok(file) => Ok(file.file_descriptor_proto().clone()),
        Err(_) => Err(refused(name, &error.text)),
    }
}

/// The error for an unknown service: lists the known services if the server does, else the server's error text.
fn unknown(service: &str, error: &ErrorResponse, call: &mut CallFn<'_>) -> ProtoError {
    let reply = send_queries(&[Query::Services(String::new())], call).ok();
    match reply.and_then(|reply| reply.into_iter().next()) {
        Some(Reply::Services(Services { services })) => ProtoError::NoService {
            name: service.to_owned(),
            known: list(services.into_iter().map(|service| service.name)),
        },
        _ => refused(service, &error.text),
    }
}

fn refused(asked: &str, why: &dyn std::fmt::Display) -> ProtoError {
    ProtoError::Reflection {
        asked: asked.to_owned(),
        why: why.to_string(),
    }
}
