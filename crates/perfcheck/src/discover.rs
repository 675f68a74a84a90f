//! Finds projects with benchmarks below a folder, by their tools.

use std::fs;
use std::path::{Path, PathBuf};

use crate::tools::{TOOLS, Tool};

/// Greatest depth of folders.
const DEPTH_MAX: usize = 12;
/// Most files and folders that are looked at.
const ENTRIES_MAX: usize = 200_000;
/// Largest file that is looked into.
const FILE_BYTES_MAX: u64 = 4 << 20;
/// Folders of what was built, fetched or copied, and Go's files for tests.
const PASSED_OVER: [&str; 8] = [
    "target",
    "node_modules",
    "vendor",
    "build",
    "dist",
    "testdata",
    "venv",
    "__pycache__",
];

/// A project: a folder with benchmarks of a tool.
#[derive(Clone)]
pub struct Project {
    /// Its folder.
    pub folder: PathBuf,
    pub tool: &'static dyn Tool,
}

/// The projects below a folder, in order, and whether there was more than is looked at.
pub fn projects(base: &Path) -> (Vec<Project>, bool) {
    let mut search = Search {
        base,
        entries: 0,
        found: Vec::new(),
    };
    search.folder(base, 0);
    let order = |one: &Project| (one.folder.clone(), one.tool.name());
    search.found.sort_by_key(order);
    (search.found, search.entries >= ENTRIES_MAX)
}

struct Search<'a> {
    base: &'a Path,
    entries: usize,
    found: Vec<Project>,
}

impl Search<'_> {
    fn folder(&mut self, folder: &Path, depth: usize) {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries {
            self.entries += 1;
            if self.entries >= ENTRIES_MAX {
                return;
            }
            let (name, path) = (entry.file_name(), entry.path());
            let name = name.to_string_lossy();
            // Links are not followed: they can lead back.
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir() {
                let is_passed = name.starts_with('.') || PASSED_OVER.contains(&name.as_ref());
                if !is_passed && depth < DEPTH_MAX {
                    self.folder(&path, depth + 1);
                }
            } else if kind.is_file() {
                self.file(&path, &name);
            }
        }
    }

    fn file(&mut self, path: &Path, name: &str) {
        for tool in TOOLS.into_iter().filter(|tool| tool.may_have(name)) {
            let folder = self.project(path, tool);
            let same = |one: &Project| one.folder == folder && one.tool.name() == tool.name();
            if self.found.iter().any(same) {
                continue;
            }
            let text = tare_record::regular::read_regular_text(path, FILE_BYTES_MAX);
            if text.is_ok_and(|text| tool.has(&text)) {
                self.found.push(Project { folder, tool });
            }
        }
    }

    /// The folder of the project of a file: the nearest one above it with a marker, but none above the base.
    fn project(&self, file: &Path, tool: &dyn Tool) -> PathBuf {
        let is_marked = |folder: &&Path| {
            tool.markers()
                .iter()
                .any(|marker| folder.join(marker).is_file())
        };
        let mut above = file
            .ancestors()
            .skip(1)
            .take_while(|folder| folder.starts_with(self.base));
        above.find(is_marked).unwrap_or(self.base).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_are_found_by_their_tools_and_what_was_built_or_hidden_is_passed_over() {
        let place = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = place.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let go = "func BenchmarkA(b *testing.B) {}";
        write("service/go.mod", "module x");
        write("service/codec/codec_test.go", go);
        write("service/codec/b_test.go", go);
        write("service/other_test.go", "func TestA(t *testing.T) {}");
        write("service/vendor/y/y_test.go", go);
        write("service/.cache/z/z_test.go", go);
        write(
            "tool/Cargo.toml",
            "[dev-dependencies]\ncriterion = \"0.7\"\n",
        );
        write(
            "tool/target/package/Cargo.toml",
            "[dev-dependencies]\ncriterion = \"0.7\"\n",
        );
        write("python/pyproject.toml", "");
        write("python/tests/test_a.py", "def test_a(benchmark): pass");
        write("python/tests/test_b.py", "def test_b(): pass");
        write("java/pom.xml", "<artifactId>jmh-core</artifactId>");
        write(
            "pom.xml",
            "<packaging>pom</packaging><artifactId>jmh-core</artifactId>",
        );
        write(
            "cpp/CMakeLists.txt",
            "project(x)\ntarget_link_libraries(b benchmark::benchmark)",
        );
        write("script/bench.yaml", "nonsense");
        write("loose_test.go", go);
        std::os::unix::fs::symlink(place.path(), place.path().join("script/again")).unwrap();

        let (found, is_cut) = projects(place.path());
        let found: Vec<String> = found
            .iter()
            .map(|one| {
                let folder = one.folder.strip_prefix(place.path()).unwrap();
                format!("{} {}", folder.display(), one.tool.name())
            })
            .collect();
        assert_eq!(
            found,
            [
                " go",
                "cpp google-benchmark",
                "java jmh",
                "python pytest",
                "script command",
                "service go",
                "tool criterion",
            ]
        );
        assert!(!is_cut);
    }
}
