//! Lists the files of the built page, `web/dist/app`, so that they are in the program.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/dist/app");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .map_err(|error| {
            format!(
                "{}: {error}; build the page: npm run build in web/",
                folder.display()
            )
        })?
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<_>>()?;
    files.sort();
    let mut table = String::from(
        "/// Name and content of each file of the page.\npub const FILES: &[(&str, &[u8])] = &[\n",
    );
    for file in files {
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.file_name().ok_or("a file has a name")?;
        writeln!(
            table,
            "    ({name:?}, include_bytes!({:?})),",
            file.canonicalize()?
        )?;
    }
    table.push_str("];\n");
    let out = std::env::var("OUT_DIR")?;
    std::fs::write(Path::new(&out).join("page.rs"), table)?;
    Ok(())
}
