//! Tare's own programs beside `tare`: a package has them, in a checkout cargo builds one when it is first needed.

use std::path::PathBuf;

use tare_experiment::target::CargoDef;

use super::cargo::Package;
use crate::{cached, home};

/// The path of the program `tare-NAME`, whose sources are in `crates/NAME`. What `say` gets is for a terminal.
///
/// # Errors
/// When it is not there and cannot be built.
pub fn own_program(name: &str, say: &mut dyn FnMut(&str)) -> Result<PathBuf, String> {
    let own = std::env::current_exe()
        .map_err(|error| format!("the path of tare itself cannot be read: {error}"))?;
    let package = format!("tare-{name}");
    let beside = own.with_file_name(&package);
    if beside.is_file() {
        return Ok(beside);
    }
    let home = home::home().map_err(|error| format!("{package} is not there: {error}"))?;
    let cache = cached::folder().unwrap_or_else(std::env::temp_dir);
    let def = CargoDef {
        package,
        folder: format!("crates/{name}"),
    };
    let built = Package::of(&def, &home, &own, &cache).build(say)?;
    Ok(built.bin)
}
