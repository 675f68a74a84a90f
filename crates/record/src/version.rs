//! Which version of Tare a program is. Programs that belong together compare theirs.

/// Version, revision and date, which `scripts/release` names; `None`: it is no package.
pub const BUILD: Option<&str> = option_env!("TARE_BUILD");

/// The version; in packages the build.
pub const VERSION: &str = match BUILD {
    Some(build) => build,
    None => env!("CARGO_PKG_VERSION"),
};

/// Environment variable by which `tare` tells its version to a program of its own that goes on in its place.
pub const STARTED_BY: &str = "TARE_STARTED_BY";

/// Checks that the `tare` that this program goes on for is of the same version.
///
/// # Errors
/// What is said when it is another one.
pub fn check_starter() -> Result<(), String> {
    match std::env::var_os(STARTED_BY) {
        Some(version) if version != VERSION => Err(format!(
            "this program is version {VERSION}, and tare, which started it, {}: install both from one package, or build both again",
            version.to_string_lossy()
        )),
        _ => Ok(()),
    }
}
