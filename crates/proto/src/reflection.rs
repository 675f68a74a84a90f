//! Descriptions from the server itself (`grpc.reflection`), whose messages are written by hand.

use prost::{Message, Oneof};
use prost_reflect::DescriptorPool;
use prost_reflect::prost_types::{FileDescriptorProto, FileDescriptorSet};
use protox::file::{FileResolver, GoogleFileResolver};

use crate::descriptions::{Descriptions, list};
use crate::error::ProtoError;

/// Paths of the call, newest version first: the messages are the same.
pub const REFLECTION_METHODS: [&str; 2] = [
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// Calls until everything that a service imports has been told.
const ROUNDS_MAX: usize = 64;

/// Files of one description.
const FILES_MAX: usize = 10_000;

/// `ServerReflectionRequest`.
#[derive(Clone, PartialEq, Message)]
struct Request {
    #[prost(oneof = "Ask", tags = "3, 4, 7")]
    ask: Option<Ask>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Ask {
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
    #[prost(oneof = "Told", tags = "4, 6, 7")]
    told: Option<Told>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Told {
    #[prost(message, tag = "4")]
    Files(Files),
    #[prost(message, tag = "6")]
    Services(Services),
    #[prost(message, tag = "7")]
    Refused(Refusal),
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
struct Refusal {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    text: String,
}

/// Makes one call of these messages and returns those that answer it, or why it could not.
pub type Asking<'a> = dyn FnMut(&[Vec<u8>]) -> Result<Vec<Vec<u8>>, String> + 'a;

impl Descriptions {
    /// From a server that describes itself: the file of a service, and all that it imports.
    ///
    /// # Errors
    /// When the server cannot be asked, does not know the service, or does not tell what it imports.
    pub fn from_server(service: &str, asking: &mut Asking<'_>) -> Result<Self, ProtoError> {
        let mut files: Vec<FileDescriptorProto> = Vec::new();
        let mut asks = vec![Ask::FileContaining(service.to_owned())];
        for _ in 0..ROUNDS_MAX {
            for (ask, told) in asks.iter().zip(tell(&asks, asking)?) {
                let told = match (ask, told) {
                    (Ask::FileContaining(_), Told::Refused(refusal)) => {
                        return Err(unknown(service, &refusal, asking));
                    }
                    (Ask::FileByName(name), Told::Refused(refusal)) => {
                        vec![well_known(name, &refusal)?]
                    }
                    (ask, told) => files_of(ask, told)?,
                };
                for file in told {
                    if !files.iter().any(|known| known.name == file.name) {
                        files.push(file);
                    }
                }
            }
            asks = missing(&files).into_iter().map(Ask::FileByName).collect();
            if asks.is_empty() || files.len() > FILES_MAX {
                break;
            }
        }
        let pool = DescriptorPool::from_file_descriptor_set(FileDescriptorSet { file: files });
        Ok(Self {
            pool: pool.map_err(|why| refused(service, &why))?,
        })
    }
}

fn tell(asks: &[Ask], asking: &mut Asking<'_>) -> Result<Vec<Told>, ProtoError> {
    let requests: Vec<Vec<u8>> = asks
        .iter()
        .map(|ask| {
            Request {
                ask: Some(ask.clone()),
            }
            .encode_to_vec()
        })
        .collect();
    let answers = asking(&requests).map_err(ProtoError::Ask)?;
    if answers.len() != asks.len() {
        let why = format!("{} answers to {} questions", answers.len(), asks.len());
        return Err(ProtoError::Ask(why));
    }
    answers
        .iter()
        .map(|answer| match Response::decode(answer.as_slice()) {
            Ok(Response { told: Some(told) }) => Ok(told),
            Ok(Response { told: None }) => Err(ProtoError::Ask("an empty answer".into())),
            Err(why) => Err(ProtoError::Ask(why.to_string())),
        })
        .collect()
}

fn files_of(ask: &Ask, told: Told) -> Result<Vec<FileDescriptorProto>, ProtoError> {
    let asked = match ask {
        Ask::FileByName(name) | Ask::FileContaining(name) | Ask::Services(name) => name,
    };
    let Told::Files(Files { files }) = told else {
        return Err(refused(asked, &"it answers another question"));
    };
    files
        .iter()
        .map(|bytes| {
            FileDescriptorProto::decode(bytes.as_slice()).map_err(|why| refused(asked, &why))
        })
        .collect()
}

/// What files import that are not among them, each once.
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

/// Some servers do not tell the files that everybody has.
fn well_known(name: &str, refusal: &Refusal) -> Result<FileDescriptorProto, ProtoError> {
    match GoogleFileResolver::new().open_file(name) {
        Ok(file) => Ok(file.file_descriptor_proto().clone()),
        Err(_) => Err(refused(name, &refusal.text)),
    }
}

/// The service is not known: those that are help more than the server's words.
fn unknown(service: &str, refusal: &Refusal, asking: &mut Asking<'_>) -> ProtoError {
    let told = tell(&[Ask::Services(String::new())], asking).ok();
    match told.and_then(|told| told.into_iter().next()) {
        Some(Told::Services(Services { services })) => ProtoError::NoService {
            name: service.to_owned(),
            known: list(services.into_iter().map(|service| service.name)),
        },
        _ => refused(service, &refusal.text),
    }
}

fn refused(asked: &str, why: &dyn std::fmt::Display) -> ProtoError {
    ProtoError::Reflection {
        asked: asked.to_owned(),
        why: why.to_string(),
    }
}
