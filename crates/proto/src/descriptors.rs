//! Service descriptors, from files.

use std::path::{Path, PathBuf};

use prost::Message;
use prost_reflect::prost_types::{FileDescriptorProto, FileDescriptorSet};
use prost_reflect::{DescriptorPool, ServiceDescriptor};
use protox::Compiler;
use tare_record::grpc_schema::MethodName;
use tare_record::text::preview;

use crate::ProtoError;
use crate::method::Method;

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
        let wrong = |file: &Path, why: protox::Error| ProtoError::Compile {
            file: file.display().to_string(),
            why: why.to_string(),
        };
        let first = files.first().map_or(Path::new(""), PathBuf::as_path);
        let mut compiler = Compiler::new(folders).map_err(|why| wrong(first, why))?;
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
        let set = FileDescriptorSet::decode(bytes);
        check_syntax(&set.map_err(|why| ProtoError::Set(why.to_string()))?.file)?;
        let pool = DescriptorPool::decode(bytes).map_err(|why| ProtoError::Set(why.to_string()))?;
        Ok(Self { pool })
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

/// Refuses files of a syntax that prost-reflect does not know: it panics on them.
pub(crate) fn check_syntax(files: &[FileDescriptorProto]) -> Result<(), ProtoError> {
    for file in files {
        match file.syntax.as_deref() {
            None | Some("proto2" | "proto3") => {}
            Some(other) => {
                return Err(ProtoError::Syntax {
                    file: preview(file.name()),
                    syntax: preview(other),
                });
            }
        }
    }
    Ok(())
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
