//! Tare's own programs beside `tare`: a package has them, in a checkout cargo builds one when it is first needed.

use std::path::PathBuf;

use tare_experiment::target::CargoDef;

use super::cargo::Package;
use crate::{cached, home};

/// Tare's own programs by name, and what each is for.
pub const OWN_PROGRAMS: [(&str, &str); 5] = [
    ("serve", "tare serve"),
    ("history", "tare history, suite and size"),
    ("perfcheck", "tare perfcheck"),
    (
        "with-kafka",
        "tare kafka, completions and man; loads and runs with Kafka",
    ),
    ("proto", "tare load with --data or --proto"),
];

/// The program `tare-NAME`, where it is beside `tare`.
#[must_use]
pub fn own_program_found(name: &str) -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    let beside = own.with_file_name(format!("tare-{name}"));
    beside.is_file().then_some(beside)
}

/// The path of the program `tare-NAME`, whose sources are in `crates/NAME`. What `say` gets is for a terminal.
///
/// # Errors
/// When it is not there and cannot be built.
pub fn own_program(name: &str, say: &mut dyn FnMut(&str)) -> Result<PathBuf, String> {
    if let Some(found) = own_program_found(name) {
        return Ok(found);
    }
    let own = std::env::current_exe()
        .map_err(|error| format!("the path of tare itself cannot be read: {error}"))?;
    let package = format!("tare-{name}");
    let home = home::home().map_err(|error| format!("{package} is not there: {error}"))?;
    let cache = cached::folder().unwrap_or_else(std::env::temp_dir);
    let def = CargoDef {
        package,
        folder: format!("crates/{name}"),
    };
    let built = Package::of(&def, &home, &own, &cache).build(say)?;
    Ok(built.bin)
}
