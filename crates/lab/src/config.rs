//! The user's configuration folder.

use std::ffi::OsString;
use std::path::PathBuf;

/// `tare` in `XDG_CONFIG_HOME`, else `~/.config/tare`; `None` when neither it nor `HOME` is set.
#[must_use]
pub fn folder() -> Option<PathBuf> {
    chosen(
        std::env::var_os("XDG_CONFIG_HOME"),
        std::env::var_os("HOME"),
    )
}

/// The file of named Kafka clusters.
#[must_use]
pub fn clusters() -> Option<PathBuf> {
    Some(folder()?.join("clusters.yaml"))
}

fn chosen(config: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    // XDG's rule: a path that is not absolute is ignored. What happens to be in the current directory is nobody's configuration.
    let absolute =
        |value: Option<OsString>| value.map(PathBuf::from).filter(|path| path.is_absolute());
    let config = absolute(config).or_else(|| Some(absolute(home)?.join(".config")));
    Some(config?.join("tare"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_configuration_is_never_in_the_current_directory() {
        let cases = [
            (["/config", "/home"], Some("/config/tare")),
            (["", "/home"], Some("/home/.config/tare")),
            (["config", "/home"], Some("/home/.config/tare")),
            (["config", "home"], None),
            (["", ""], None),
        ];
        for (variables, folder) in cases {
            let [config, home] = variables.map(|value| Some(OsString::from(value)));
            assert_eq!(
                chosen(config, home).as_deref(),
                folder.map(Path::new),
                "{variables:?}"
            );
        }
        assert_eq!(chosen(None, None), None);
    }
}
