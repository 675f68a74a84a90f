//! Environment variables that a program is given: those of a list for its kind. Others, which may be secrets, stay here.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

use tare_record::locate;

/// Every program: its user, folders, language and time.
const BASE: &[&str] = &[
    "HOME",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "LOGNAME",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_*",
    // How much a program of ours says when it panics.
    "RUST_BACKTRACE",
];
/// What fetches: the way to the network, and whom to trust there.
const NETWORK: &[&str] = &[
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
];
const APT: &[&str] = &["APT_CONFIG"];
/// Indexes of packages, and how they are asked.
const PIP: &[&str] = &["PIP_*"];
/// Where modules come from and are kept. The flags of builds, and exceptions from checksums (`GOFLAGS`, `GONOSUMDB`, `GONOSUMCHECK`,
/// `GOINSECURE`, `GOPRIVATE`), are not the user's: what is built is pinned.
const GO: &[&str] = &[
    "GOPROXY",
    "GONOPROXY",
    "GOSUMDB",
    "GOCACHE",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "GOMAXPROCS",
];
/// Toolchain, registry, and what makes a build the same as that of Tare itself, with which it shares the folder.
const CARGO: &[&str] = &[
    "CARGO_HOME",
    "CARGO_HTTP_*",
    "CARGO_NET_*",
    "CARGO_SOURCE_*",
    "CARGO_REGISTRIES_*",
    "CARGO_BUILD_*",
    "CARGO_TARGET_*",
    "CARGO_PROFILE_*",
    "CARGO_INCREMENTAL",
    "CARGO_ENCODED_RUSTFLAGS",
    "RUSTFLAGS",
    "RUSTC",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTUP_*",
    "AR",
    "CC",
    "CFLAGS",
    "LDFLAGS",
];
/// Parts of the names of secrets, which no pattern above covers.
const SECRET: [&str; 4] = ["TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"];

/// A kind of program, by what it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProgramKind {
    /// Nothing more than every program.
    Plain,
    /// It fetches files.
    Download,
    Apt,
    Pip,
    Go,
    Cargo,
}

impl ProgramKind {
    fn lists(self) -> &'static [&'static [&'static str]] {
        match self {
            ProgramKind::Plain => &[BASE],
            ProgramKind::Download => &[BASE, NETWORK],
            ProgramKind::Apt => &[BASE, NETWORK, APT],
            ProgramKind::Pip => &[BASE, NETWORK, PIP],
            ProgramKind::Go => &[BASE, NETWORK, GO],
            ProgramKind::Cargo => &[BASE, NETWORK, CARGO],
        }
    }

    fn may_have(self, name: &str) -> bool {
        let is_secret = || name.ends_with("KEY") || SECRET.iter().any(|part| name.contains(part));
        let mut known = self.lists().iter().flat_map(|list| list.iter());
        known.any(|one| match one.strip_suffix('*') {
            Some(begin) => name.starts_with(begin) && !is_secret(),
            None => name == *one,
        })
    }

    /// The variables with these names, and `PATH`.
    fn of(self, all: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
        let is_known = |name: &OsStr| name.to_str().is_some_and(|name| self.may_have(name));
        let all = all.into_iter().filter(|(name, _)| is_known(name));
        all.chain([(OsString::from("PATH"), locate::search_path())])
            .collect()
    }

    /// With variables of the call.
    pub(crate) fn with<'a>(self, set: &'a [(&'a str, &'a str)]) -> Variables<'a> {
        Variables { kind: self, set }
    }
}

/// Variables of a program: those of its kind, and those of the call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Variables<'a> {
    kind: ProgramKind,
    set: &'a [(&'a str, &'a str)],
}

impl From<ProgramKind> for Variables<'_> {
    fn from(kind: ProgramKind) -> Self {
        Variables { kind, set: &[] }
    }
}

impl Variables<'_> {
    /// Gives these to a command, and no others.
    pub(crate) fn give(self, command: &mut Command) {
        command
            .env_clear()
            .envs(self.kind.of(std::env::vars_os()))
            .envs(self.set.iter().copied());
    }
}

/// Variables of what is measured: enough to run, nothing that could change a result or tell a secret.
pub(crate) fn of_measured(folder: &Path) -> Vec<(String, String)> {
    vec![
        (
            String::from("PATH"),
            locate::search_path().to_string_lossy().into_owned(),
        ),
        (String::from("HOME"), folder.display().to_string()),
        (String::from("LANG"), String::from("C.UTF-8")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names that a program of this kind gets of these.
    fn given(kind: ProgramKind, names: &[&str]) -> Vec<String> {
        let all = names.iter().map(|name| (OsString::from(name), "x".into()));
        let given = kind.of(all).into_iter();
        let mut names: Vec<String> = given.map(|(name, _)| name.into_string().unwrap()).collect();
        names.retain(|name| name != "PATH");
        names
    }

    const ALL: [ProgramKind; 6] = [
        ProgramKind::Plain,
        ProgramKind::Download,
        ProgramKind::Apt,
        ProgramKind::Pip,
        ProgramKind::Go,
        ProgramKind::Cargo,
    ];

    #[test]
    fn no_program_gets_a_secret_of_the_environment() {
        let secrets = [
            "GH_TOKEN",
            "GITHUB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "KAFKA_PASSWORD",
            "CARGO_REGISTRY_TOKEN",
            "CARGO_REGISTRIES_OWN_TOKEN",
            "CARGO_REGISTRIES_OWN_CREDENTIAL_PROVIDER",
            "PIP_PASSWORD",
            "PIP_INDEX_KEY",
            "KUBECONFIG",
            "SSH_AUTH_SOCK",
            "XDG_API_KEY",
        ];
        for kind in ALL {
            assert_eq!(given(kind, &secrets), [""; 0], "{kind:?}");
        }
    }

    #[test]
    fn no_program_gets_code_or_flags_from_the_environment_that_it_would_obey() {
        let obeyed = [
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "PYTHONPATH",
            "JAVA_TOOL_OPTIONS",
            "GOFLAGS",
            "GOTOOLCHAIN",
            "GONOSUMDB",
            "GONOSUMCHECK",
            "GOINSECURE",
            "GOPRIVATE",
            "GIT_DIR",
        ];
        for kind in ALL {
            assert_eq!(given(kind, &obeyed), [""; 0], "{kind:?}");
        }
    }

    #[test]
    fn each_kind_gets_what_it_needs_and_not_what_others_need() {
        let names = [
            "HOME",
            "LC_ALL",
            "https_proxy",
            "GOPROXY",
            "PIP_INDEX_URL",
            "CARGO_HOME",
            "RUSTFLAGS",
        ];
        assert_eq!(given(ProgramKind::Plain, &names), ["HOME", "LC_ALL"]);
        assert_eq!(
            given(ProgramKind::Download, &names),
            ["HOME", "LC_ALL", "https_proxy"]
        );
        assert_eq!(
            given(ProgramKind::Go, &names),
            ["HOME", "LC_ALL", "https_proxy", "GOPROXY"]
        );
        assert_eq!(
            given(ProgramKind::Pip, &names),
            ["HOME", "LC_ALL", "https_proxy", "PIP_INDEX_URL"]
        );
        assert_eq!(
            given(ProgramKind::Cargo, &names),
            ["HOME", "LC_ALL", "https_proxy", "CARGO_HOME", "RUSTFLAGS"]
        );
    }
}
