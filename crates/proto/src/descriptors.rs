//! Service descriptors, from files.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use prost::Message;
use prost_reflect::prost_types::FileDescriptorSet;
use prost_reflect::{DescriptorPool, ServiceDescriptor};
use protox::Compiler;
use tare_record::grpc_schema::MethodName;

use crate::method::Method;
use crate::{ProtoError, editions, sources};

/// A `FileDescriptorSet` whose files are not decoded yet.
#[derive(Clone, PartialEq, Message)]
struct RawSet {
    #[prost(bytes = "vec", repeated, tag = "1")]
    files: Vec<Vec<u8>>,
}

/// Descriptors of services and their messages.
#[derive(Debug, Clone)]
pub struct ServiceDescriptors {
    pub(crate) pool: DescriptorPool,
}

impl ServiceDescriptors {
    /// From `.proto` files. Imports are searched in the import paths, then in the folders of the files.
    ///
    /// # Errors
    /// When a file, or one that it imports, is not found or does not compile.
    pub fn from_files(files: &[PathBuf], import_paths: &[PathBuf]) -> Result<Self, ProtoError> {
        let mut folders = import_paths.to_vec();
        for folder in files.iter().filter_map(|file| file.parent()) {
            let folder = match folder.as_os_str().is_empty() {
                true => Path::new("."),
                false => folder,
            };
            if !folders.iter().any(|known| known == folder) {
                folders.push(folder.to_owned());
            }
        }
        let wrong = |file: &Path, why: protox::Error| {
            let (file, is_missing) = (file.display().to_string(), why.is_file_not_found());
            let why = why.to_string();
            match is_missing {
                true => ProtoError::NotFound { file, why },
                false => ProtoError::Compile { file, why },
            }
        };
        let mut compiler = Compiler::with_file_resolver(sources::resolver(folders));
        compiler.include_imports(true);
        for file in files {
            compiler.open_file(file).map_err(|why| wrong(file, why))?;
        }
        Ok(Self {
            pool: compiler.descriptor_pool(),
        })
    }

    /// From an encoded descriptor set.
    ///
    /// # Errors
    /// When it cannot be decoded, or when files that it imports are not in it.
    pub fn from_set(bytes: &[u8]) -> Result<Self, ProtoError> {
        let wrong = |why: &dyn Display| ProtoError::Set(why.to_string());
        let set = RawSet::decode(bytes).map_err(|why| wrong(&why))?;
        let file = |bytes: &Vec<u8>| editions::decode(bytes).map_err(|why| wrong(&why))?;
        let file = set.files.iter().map(file).collect::<Result<_, _>>()?;
        let pool = DescriptorPool::from_file_descriptor_set(FileDescriptorSet { file });
        Ok(Self {
            pool: pool.map_err(|why| wrong(&why))?,
        })
    }

    /// A method by its name.
    ///
    /// # Errors
    /// When there is no descriptor for it; the error lists those that exist.
    pub fn method(&self, name: &MethodName) -> Result<Method, ProtoError> {
        let Some(service) = self.pool.get_service_by_name(&name.service) else {
            return Err(ProtoError::NoService {
                name: name.service.clone(),
                known: list(
                    self.pool
                        .services()
                        .map(|known| known.full_name().to_owned()),
                ),
            });
        };
        let of_name = |service: &ServiceDescriptor| {
            service
                .methods()
                .find(|method| method.name() == name.method)
        };
        let Some(method) = of_name(&service) else {
            return Err(ProtoError::NoMethod {
                service: name.service.clone(),
                name: name.method.clone(),
                known: list(service.methods().map(|known| known.name().to_owned())),
            });
        };
        Ok(Method::new(method))
    }
}

/// Names as a list for an error message; a dash if there are none.
pub(crate) fn list(names: impl Iterator<Item = String>) -> String {
    /// More would fill the screen.
    const NAMES_MAX: usize = 20;
    let all: Vec<String> = names.collect();
    match all.len() {
        0 => "–".into(),
        count if count > NAMES_MAX => format!(
            "{} and {} more",
            all[..NAMES_MAX].join(", "),
            count - NAMES_MAX
        ),
        _ => all.join(", "),
    }
}
