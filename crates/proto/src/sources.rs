//! Source files as people have them: with a byte order mark, or of edition 2023.

use std::path::{Path, PathBuf};

use protox::Error;
use protox::file::{
    ChainFileResolver, File, FileResolver, GoogleFileResolver, IncludeFileResolver,
};

use crate::editions::{RawFile, as_parsable, to_proto2};

/// Finds files in these folders, then Google's own.
pub(crate) fn resolver(folders: Vec<PathBuf>) -> ChainFileResolver {
    let mut resolver = ChainFileResolver::new();
    for folder in folders {
        let files = IncludeFileResolver::new(folder.clone());
        resolver.add(SourceFiles { folder, files });
    }
    resolver.add(GoogleFileResolver::new());
    resolver
}

/// The files of one folder.
struct SourceFiles {
    folder: PathBuf,
    files: IncludeFileResolver,
}

impl FileResolver for SourceFiles {
    fn resolve_path(&self, path: &Path) -> Option<String> {
        self.files.resolve_path(path)
    }

    fn open_file(&self, name: &str) -> Result<File, Error> {
        // A file that cannot be read, or is not text, is told by the library.
        let Ok(text) = std::fs::read_to_string(self.folder.join(name)) else {
            return self.files.open_file(name);
        };
        let source = text.strip_prefix('\u{feff}').unwrap_or(&text);
        if let Some(source) = as_parsable(source) {
            let file = File::from_source(name, &source)?;
            let mut file = file.file_descriptor_proto().clone();
            to_proto2(&mut file, &RawFile::default());
            return Ok(File::from_file_descriptor_proto(file));
        }
        match source.len() == text.len() {
            true => self.files.open_file(name),
            false => File::from_source(name, source),
        }
    }
}
