//! Runs as archives (tar): written out, and taken in with limits.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use flate2::read::GzDecoder;
use tar::{Archive, Builder, EntryType, Header, PaxExtensions};

use crate::error::{Refusal, Reply};
use crate::places;

/// Bytes of a received archive.
pub const RECEIVED_BYTES_MAX: u64 = 256 << 20;
/// Bytes of all files in it.
const UNPACKED_BYTES_MAX: u64 = 2 << 30;
/// Files and folders in it.
const ENTRIES_MAX: usize = 100_000;
/// Unpacked bytes for one received byte, beyond the first megabyte.
const RATIO_MAX: u64 = 100;
/// Bytes that an archive may have whatever its ratio.
const RATIO_FREE_BYTES: u64 = 1 << 20;
/// Bytes of a header that says more of the next entry: its long name, or attributes. It is held in memory.
const EXTENSION_BYTES_MAX: u64 = 1 << 20;
/// Bytes of the path of a file in it (PATH_MAX).
const PATH_BYTES_MAX: usize = 4096;
/// Deepest folder in it.
const DEPTH_MAX: usize = 12;
/// How the names of runs begin.
const NAME_TIME: &str = "%Y-%m-%dT%H-%M-%S";
/// What is kept of the name of an imported run.
const NAME_CHARS_MAX: usize = 120;

/// Writes the regular files of a folder as a tar, below its name.
pub fn write(folder: &Path, id: &str, to: impl io::Write) -> io::Result<()> {
    let mut archive = Builder::new(to);
    for (path, _) in places::files_below(folder, ENTRIES_MAX) {
        let Ok(file) = places::open_below(folder, &path) else {
            // Removed meanwhile.
            continue;
        };
        let bytes = file.metadata()?.len();
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o644);
        header.set_size(bytes);
        // A file that grows is cut at the length that was announced; one that shrank is filled up.
        let content = file.take(bytes).chain(io::repeat(0)).take(bytes);
        archive.append_data(&mut header, format!("{id}/{path}"), content)?;
    }
    archive.finish()
}

/// What is to survive a power cut.
enum Durable<'a> {
    /// All that is in a folder.
    Content(&'a Path),
    /// The names in a folder.
    Names(&'a Path),
}

fn make_durable(what: &Durable<'_>) -> io::Result<()> {
    match what {
        // Of its whole file system, in one call: a run has thousands of files.
        Durable::Content(folder) => Ok(rustix::fs::syncfs(File::open(folder)?)?),
        Durable::Names(folder) => File::open(folder)?.sync_all(),
    }
}

/// Unpacks a received archive of a run, and gives it a name that is free; the name. Once this returns, it stays.
pub fn import(runs: &Path, own: &Path, mut received: File) -> Reply<String> {
    let received_bytes = received.metadata()?.len();
    received.seek(SeekFrom::Start(0))?;
    let mut magic = [0; 2];
    let is_packed = received.read(&mut magic)? == 2 && magic == [0x1f, 0x8b];
    received.seek(SeekFrom::Start(0))?;
    let place = tempfile::Builder::new().prefix("import-").tempdir_in(own)?;
    let bytes_max =
        UNPACKED_BYTES_MAX.min(RATIO_FREE_BYTES + received_bytes.saturating_mul(RATIO_MAX));
    let file = BufReader::new(received);
    let content: Box<dyn Read> = match is_packed {
        true => Box::new(GzDecoder::new(file)),
        false => Box::new(file),
    };
    let folder = place.path().join("run");
    let name = unpack(content, &folder, bytes_max)?;
    let run = tare_report::read(&folder).map_err(|error| {
        Refusal::invalid(format!("the archive has no run that can be read: {error}"))
    })?;
    tare_lab::seal::mark_imported(&folder)?;
    let started_us = run.state.as_ref().map_or(0, |state| state.started_unix_us);
    let name = imported_name(&name, started_us, SystemTime::now());
    keep(&folder, runs, &name, make_durable)
}

/// Moves an unpacked run to its place, under a name that is free.
fn keep(
    folder: &Path,
    runs: &Path,
    name: &str,
    make_durable: impl Fn(&Durable<'_>) -> io::Result<()>,
) -> Reply<String> {
    make_durable(&Durable::Content(folder))?;
    for number in 1..1000 {
        let id = match number {
            1 => name.to_owned(),
            n => format!("{name}-{n}"),
        };
        let path = runs.join(&id);
        // A folder that exists and is not empty is not replaced by this.
        if !path.exists() && fs::rename(folder, &path).is_ok() {
            make_durable(&Durable::Names(runs))?;
            return Ok(id);
        }
    }
    Err(Refusal::conflict("too many runs have this name"))
}

/// The name of an imported run: its own if that begins with a time, as runs are named, which is not to come; else one that does. Runs
/// are listed by their names, the newest first, and a folder of another name could stand for something else.
fn imported_name(name: &str, started_us: u64, now: SystemTime) -> String {
    // A number may follow.
    let cut = |name: &str| name.chars().take(NAME_CHARS_MAX).collect::<String>();
    let date = |time: SystemTime| {
        let time = jiff::Timestamp::try_from(time).unwrap_or_default();
        time.strftime(NAME_TIME).to_string()
    };
    // In any time zone.
    let latest = date(now + Duration::from_secs(24 * 60 * 60));
    let time = name.get(..latest.len()).unwrap_or_default();
    let is_time = jiff::civil::DateTime::strptime(NAME_TIME, time).is_ok();
    if is_time && time <= latest.as_str() && name.len() > latest.len() {
        return cut(name);
    }
    let started = UNIX_EPOCH
        .checked_add(Duration::from_micros(started_us))
        .filter(|started| *started <= now);
    cut(&format!("{}-{name}", date(started.unwrap_or(now))))
}

fn bad(error: io::Error) -> Refusal {
    Refusal::invalid(format!("it is no archive that can be read: {error}"))
}

/// Why a file of an archive cannot be written: because of its name, or because the machine cannot.
fn not_unpacked(path: &Path) -> impl Fn(io::Error) -> Refusal {
    move |error| match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => error.into(),
        _ => Refusal::invalid(format!("{} cannot be unpacked: {error}", path.display())),
    }
}

/// What headers before an entry say of it. They are read here: the library would keep one of any length.
#[derive(Default)]
struct Extensions {
    path: Option<Vec<u8>>,
    bytes: Option<u64>,
}

impl Extensions {
    /// Reads an entry if it is such a header, and returns whether it is.
    fn read<R: Read>(&mut self, entry: &mut tar::Entry<'_, R>) -> Reply<bool> {
        let kind = entry.header().entry_type();
        if !kind.is_gnu_longname() && !kind.is_pax_local_extensions() {
            return Ok(false);
        }
        if entry.size() > EXTENSION_BYTES_MAX {
            return Err(Refusal::invalid(format!(
                "a header in the archive has {} bytes, more than {EXTENSION_BYTES_MAX}",
                entry.size()
            )));
        }
        let mut text = Vec::new();
        entry.read_to_end(&mut text).map_err(bad)?;
        if kind.is_gnu_longname() {
            while text.pop_if(|last| *last == 0).is_some() {}
            self.path = Some(text);
            return Ok(true);
        }
        for extension in PaxExtensions::new(&text) {
            let extension = extension.map_err(bad)?;
            match extension.key_bytes() {
                // The other kind of name is believed first, as everywhere.
                b"path" if self.path.is_none() => {
                    self.path = Some(extension.value_bytes().to_owned());
                }
                b"size" => {
                    let bytes = extension.value().ok().and_then(|text| text.parse().ok());
                    self.bytes = Some(bytes.unwrap_or(u64::MAX));
                }
                _ => {}
            }
        }
        Ok(true)
    }

    /// The path of the entry that they are about.
    fn path_of<R: Read>(self, entry: &tar::Entry<'_, R>) -> Reply<PathBuf> {
        // Readers disagree about where such an entry ends. No file needs it that is smaller than 8 GiB.
        if self.bytes.is_some_and(|bytes| bytes != entry.size()) {
            return Err(Refusal::invalid("the archive has two sizes for one file"));
        }
        let path = match self.path {
            Some(path) => path,
            None => entry.path_bytes().into_owned(),
        };
        if path.len() > PATH_BYTES_MAX {
            return Err(Refusal::invalid(format!(
                "the archive has a path of more than {PATH_BYTES_MAX} bytes"
            )));
        }
        Ok(OsString::from_vec(path).into())
    }
}

/// Unpacks regular files; the name of the folder that they are in.
fn unpack(content: impl Read, into: &Path, bytes_max: u64) -> Reply<String> {
    let mut archive = Archive::new(content.take(bytes_max + (ENTRIES_MAX as u64) * 1024));
    let (mut bytes, mut entries) = (0, 0);
    let mut name: Option<String> = None;
    let mut extensions = Extensions::default();
    fs::create_dir(into)?;
    for entry in archive.entries().map_err(bad)?.raw(true) {
        let mut entry = entry.map_err(bad)?;
        entries += 1;
        bytes += entry.size();
        if entries > ENTRIES_MAX || bytes > bytes_max {
            return Err(Refusal::new(
                axum::http::StatusCode::PAYLOAD_TOO_LARGE,
                format!(
                    "the archive has more than {ENTRIES_MAX} entries or unpacks to more than {bytes_max} bytes"
                ),
            ));
        }
        if extensions.read(&mut entry)? {
            continue;
        }
        let path = std::mem::take(&mut extensions).path_of(&entry)?;
        match entry.header().entry_type() {
            EntryType::Regular => {}
            EntryType::Directory => continue,
            other => {
                return Err(Refusal::invalid(format!(
                    "{} is no regular file ({other:?}): a run has no others",
                    path.display()
                )));
            }
        }
        let (top, below) = split(&path).ok_or_else(|| {
            Refusal::invalid(format!(
                "{} is no path of a file in the folder of a run",
                path.display()
            ))
        })?;
        if name.get_or_insert_with(|| top.clone()) != &top {
            return Err(Refusal::invalid(
                "the archive has more than one folder: send one run",
            ));
        }
        let target = into.join(&below);
        let refused = not_unpacked(&path);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(&refused)?;
        }
        let mut file = BufWriter::new(File::create_new(&target).map_err(&refused)?);
        io::copy(&mut entry, &mut file).map_err(&refused)?;
        file.into_inner()
            .map_err(|error| refused(error.into_error()))?;
    }
    name.ok_or_else(|| Refusal::invalid("the archive is empty"))
}

/// The first folder of a path, which becomes the name of the run, and the rest.
fn split(path: &Path) -> Option<(String, PathBuf)> {
    let parts: Option<Vec<&str>> = path
        .components()
        .filter(|part| *part != Component::CurDir)
        .map(|part| match part {
            Component::Normal(name) => name
                .to_str()
                .filter(|name| !name.chars().any(char::is_control)),
            _ => None,
        })
        .collect();
    let parts = parts?;
    let (top, below) = parts.split_first()?;
    let is_fine = !below.is_empty() && below.len() <= DEPTH_MAX && places::name(top).is_ok();
    is_fine.then(|| ((*top).to_owned(), below.iter().collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(entries: &[(&str, EntryType, usize)]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        for (path, kind, bytes) in entries {
            let mut header = Header::new_gnu();
            // As a hostile archive has it: the library itself refuses such paths.
            let name = header.as_old_mut();
            name.name[..path.len()].copy_from_slice(path.as_bytes());
            header.set_entry_type(*kind);
            header.set_size(*bytes as u64);
            header.set_mode(0o644);
            header.set_cksum();
            builder
                .append(&header, io::repeat(b'x').take(*bytes as u64))
                .unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn unpacked(
        entries: &[(&str, EntryType, usize)],
        bytes_max: u64,
    ) -> Result<Vec<(String, u64)>, String> {
        let place = tempfile::tempdir().unwrap();
        let into = place.path().join("run");
        let found = unpack(archive(entries).as_slice(), &into, bytes_max);
        assert_eq!(
            fs::read_dir(place.path()).unwrap().count(),
            1,
            "something was written beside it"
        );
        found
            .map(|_| places::files_below(&into, 100))
            .map_err(|refusal| refusal.error.message)
    }

    #[test]
    fn regular_files_of_one_folder_are_unpacked() {
        let entries = [
            ("run/", EntryType::Directory, 0),
            ("run/plan.json", EntryType::Regular, 3),
            ("run/trials/0001/record.json", EntryType::Regular, 2),
        ];
        let found = unpacked(&entries, 1000).unwrap();
        assert_eq!(
            found,
            [
                ("plan.json".to_owned(), 3),
                ("trials/0001/record.json".to_owned(), 2)
            ]
        );
    }

    #[test]
    fn links_devices_and_paths_that_lead_elsewhere_are_refused() {
        for (path, kind) in [
            ("run/a", EntryType::Symlink),
            ("run/a", EntryType::Link),
            ("run/a", EntryType::Char),
            ("run/a", EntryType::Fifo),
            ("../a", EntryType::Regular),
            ("run/../../a", EntryType::Regular),
            ("/etc/a", EntryType::Regular),
            ("a", EntryType::Regular),
            (".serve/token", EntryType::Regular),
            ("run/a\u{1b}", EntryType::Regular),
        ] {
            assert!(
                unpacked(&[(path, kind, 0)], 1000).is_err(),
                "{path} {kind:?}"
            );
        }
    }

    #[test]
    fn an_archive_that_grows_or_has_two_runs_is_refused() {
        let large = [
            ("run/a", EntryType::Regular, 900),
            ("run/b", EntryType::Regular, 200),
        ];
        assert!(
            unpacked(&large, 1000)
                .unwrap_err()
                .contains("more than 1000 bytes")
        );
        let two = [
            ("one/a", EntryType::Regular, 1),
            ("two/a", EntryType::Regular, 1),
        ];
        assert!(
            unpacked(&two, 1000)
                .unwrap_err()
                .contains("more than one folder")
        );
        let twice = [
            ("one/a", EntryType::Regular, 1),
            ("one/a", EntryType::Regular, 1),
        ];
        assert!(unpacked(&twice, 1000).is_err());
    }

    /// A header before an entry, by the letter of its kind, and what it says.
    fn extension(kind: u8, text: &[u8]) -> Vec<u8> {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::new(kind));
        header.set_size(text.len() as u64);
        header.set_cksum();
        let mut all = [header.as_bytes(), text].concat();
        all.resize(all.len().next_multiple_of(512), 0);
        all
    }

    /// What is made of an archive of one file of a byte, with this before it.
    fn after(before: &[Vec<u8>]) -> Result<Vec<(String, u64)>, Refusal> {
        let place = tempfile::tempdir().unwrap();
        let into = place.path().join("run");
        let file = archive(&[("run/plan.json", EntryType::Regular, 1)]);
        let all = [before.concat(), file].concat();
        unpack(all.as_slice(), &into, 1 << 20).map(|_| places::files_below(&into, 100))
    }

    #[test]
    fn long_names_are_those_that_headers_before_an_entry_say() {
        let long = format!("{}/{}", "d".repeat(90), "f".repeat(90));
        let gnu = extension(b'L', format!("run/{long}\0").as_bytes());
        let record = format!("195 path=run/{long}\n");
        assert_eq!(record.len(), 195);
        let pax = extension(
            b'x',
            [record.as_bytes(), b"10 size=1\n"].concat().as_slice(),
        );
        for before in [gnu, pax] {
            assert_eq!(after(&[before]).unwrap(), [(long.clone(), 1)]);
        }
        let made = {
            let mut builder = Builder::new(Vec::new());
            let mut header = Header::new_gnu();
            header.set_size(1);
            let path = format!("run/{long}");
            builder.append_data(&mut header, path, &b"x"[..]).unwrap();
            builder.into_inner().unwrap()
        };
        let place = tempfile::tempdir().unwrap();
        let into = place.path().join("run");
        assert_eq!(unpack(made.as_slice(), &into, 1000).unwrap(), "run");
        assert!(into.join(long).is_file());
    }

    #[test]
    fn an_archive_with_two_sizes_for_a_file_or_a_path_without_end_is_refused() {
        let said = |before: Vec<u8>| {
            let refusal = after(&[before]).unwrap_err();
            assert_eq!(refusal.status, 422);
            refusal.error.message
        };
        for size in ["12 size=512\n", "12 size=x12\n"] {
            assert!(said(extension(b'x', size.as_bytes())).contains("two sizes"));
        }
        let path = format!("run/{}", "d/".repeat(5000));
        let refused = said(extension(b'L', path.as_bytes()));
        assert!(
            refused.contains("more than 4096 bytes") && refused.len() < 100,
            "{refused}"
        );
    }

    /// Counts what is read.
    struct Counted<R>(R, u64);

    impl<R: Read> Read for Counted<R> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let read = self.0.read(into)?;
            self.1 += read as u64;
            Ok(read)
        }
    }

    #[test]
    fn a_header_of_any_length_is_not_held_in_memory() {
        for kind in [b'L', b'K', b'x', b'g'] {
            let mut header = Header::new_gnu();
            header.set_entry_type(EntryType::new(kind));
            header.set_size(1 << 29);
            header.set_cksum();
            let mut content = Counted(header.as_bytes().chain(io::repeat(b'a')), 0);
            let place = tempfile::tempdir().unwrap();
            let into = place.path().join("run");
            let refusal = unpack(&mut content, &into, UNPACKED_BYTES_MAX).unwrap_err();
            assert_eq!(refusal.status, 422, "{}", refusal.error.message);
            assert!(content.1 < 1 << 20, "{kind}: {} bytes were read", content.1);
        }
    }

    #[test]
    fn a_file_that_can_have_no_such_name_is_a_mistake_of_the_archive_and_a_full_disk_is_none() {
        let regular = EntryType::Regular;
        for (entries, path) in [
            // Something below a file, and a file in the place of a folder.
            ([("run/a", regular, 1), ("run/a/b", regular, 1)], "run/a/b"),
            ([("run/a/b", regular, 1), ("run/a", regular, 1)], "run/a"),
        ] {
            let said = unpacked(&entries, 1000).unwrap_err();
            assert!(
                said.starts_with(&format!("{path} cannot be unpacked: ")),
                "{said}"
            );
        }
        for path in [format!("run/{}/f", "d".repeat(256)), "f".repeat(256)] {
            let path = format!("run/{path}");
            let refusal = after(&[extension(b'L', path.as_bytes())]).unwrap_err();
            assert_eq!(refusal.status, 422);
            let said = refusal.error.message;
            assert!(
                said.contains(&format!("{path} cannot be unpacked")),
                "{said}"
            );
        }
        let full = not_unpacked(Path::new("run/a"))(ErrorKind::StorageFull.into());
        assert_eq!(full.status, 500);
    }

    #[test]
    fn an_imported_run_is_durable_before_it_has_its_name_and_its_name_before_it_is_said() {
        let place = tempfile::tempdir().unwrap();
        let (runs, folder) = (place.path().join("runs"), place.path().join("new"));
        fs::create_dir(&runs).unwrap();
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("plan.json"), "{}").unwrap();
        let steps = std::cell::RefCell::new(Vec::new());
        let id = keep(&folder, &runs, "run", |what| {
            let is_named = runs.join("run").exists();
            steps.borrow_mut().push(match what {
                Durable::Content(of) => (*of == folder, is_named),
                Durable::Names(of) => (*of == runs, is_named),
            });
            make_durable(what)
        });
        assert_eq!(id.unwrap(), "run");
        assert_eq!(*steps.borrow(), [(true, false), (true, true)]);
        fs::create_dir(&folder).unwrap();
        let full = |_: &Durable<'_>| Err(io::Error::from(io::ErrorKind::StorageFull));
        assert!(keep(&folder, &runs, "run", full).is_err());
        assert!(!runs.join("run-2").exists());
    }

    #[test]
    fn an_imported_run_has_a_name_by_which_it_hides_nothing() {
        // 2026-11-28T12:00:00Z
        let now = UNIX_EPOCH + Duration::from_secs(1_795_867_200);
        let named = |name: &str, started_s: u64| imported_name(name, started_s * 1_000_000, now);
        let own = "2026-11-25T10-00-00-sidecar-2";
        assert_eq!(named(own, 0), own);
        let started = 1_795_600_000;
        for (name, kept) in [
            ("nights", "2026-11-25T09-46-40-nights"),
            ("zzz", "2026-11-25T09-46-40-zzz"),
            (
                "2026-13-25T10-00-00-x",
                "2026-11-25T09-46-40-2026-13-25T10-00-00-x",
            ),
            (
                "9999-01-01T00-00-00-x",
                "2026-11-25T09-46-40-9999-01-01T00-00-00-x",
            ),
            (
                "2026-11-25T10-00-00",
                "2026-11-25T09-46-40-2026-11-25T10-00-00",
            ),
        ] {
            assert_eq!(named(name, started), kept);
        }
        assert_eq!(
            named("run", u64::MAX / 1_000_000),
            "2026-11-28T12-00-00-run"
        );
        for long in ["x".repeat(128), format!("{own}-{}", "x".repeat(98))] {
            let kept = named(&long, started);
            assert!(
                kept.starts_with("2026-11-25T") && places::name(&format!("{kept}-999")).is_ok()
            );
        }
    }
}
