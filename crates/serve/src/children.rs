//! Runs and loads that were started from here: processes of their own, known by a folder each, which outlives the server.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::process::Rlimit;
use serde::{Deserialize, Serialize};
use tare_export::lock;
use tare_record::api::{StartReply, StartState};

use crate::error::{Refusal, Reply};
use crate::{places, sys};

/// Starts that are kept; older ones that have ended are removed.
const KEPT_MAX: usize = 200;
/// Lines of output that are shown, and bytes that are read for them.
const SHOWN_LINES: usize = 60;
const SHOWN_BYTES: u64 = 64 << 10;
/// Bytes of events in which the folder is looked for: fetching software says a lot.
const EVENTS_BYTES: u64 = 4 << 20;

/// A command to start, and where the result goes.
pub struct SpawnRequest {
    command: Command,
    reply: Sender<io::Result<Child>>,
}

/// Has processes started by the thread that kept the original affinity and niceness.
#[derive(Debug, Clone)]
pub struct Spawner(Sender<SpawnRequest>);

impl Spawner {
    pub fn new(requests: Sender<SpawnRequest>) -> Spawner {
        Spawner(requests)
    }

    pub fn spawn(&self, command: Command) -> io::Result<Child> {
        let (reply, answer) = channel();
        let gone = || io::Error::other("the server ends");
        self.0
            .send(SpawnRequest { command, reply })
            .map_err(|_| gone())?;
        answer.recv().map_err(|_| gone())?
    }
}

/// Starts processes until the server ends; `files` is the limit of open files that they get.
pub fn spawn_all(requests: &Receiver<SpawnRequest>, files: Rlimit) {
    for mut request in requests {
        let started = sys::spawn_in_session(&mut request.command, files);
        // An error means that nobody waits any more; the process goes on.
        let _ = request.reply.send(started);
    }
}

/// All starts.
pub struct Children {
    folder: PathBuf,
    spawner: Spawner,
    numbers: Mutex<u64>,
    /// Held from the question what is measured until there is one more.
    starting: Mutex<()>,
}

/// `start.json` of a start: there before its process is.
#[derive(Debug, Serialize, Deserialize)]
struct StartRecord {
    command: Vec<String>,
    /// None: it is being started.
    pid: Option<u32>,
    /// When the kernel started it, in ticks since boot: a process id alone can be given again.
    started_ticks: u64,
}

impl StartRecord {
    fn is_alive(&self) -> bool {
        self.pid
            .is_some_and(|pid| started_ticks(pid) == Some(self.started_ticks))
    }
}

impl Children {
    /// Opens the folder of starts, and removes the oldest that have ended.
    pub fn open(own: &Path, spawner: Spawner) -> io::Result<Children> {
        let folder = own.join("starts");
        fs::create_dir_all(&folder)?;
        let children = Children {
            folder,
            spawner,
            numbers: Mutex::new(0),
            starting: Mutex::default(),
        };
        for id in children.ids() {
            let folder = children.folder.join(&id);
            match children.record(&folder) {
                // A server that was killed has not removed them.
                Ok(record) if record.pid.is_some() => {
                    if children.is_over(&folder) {
                        let _ = fs::remove_dir_all(folder.join(SECRETS));
                    }
                }
                // Nothing was started, or nobody knows what.
                _ => {
                    let _ = fs::remove_dir_all(folder);
                }
            }
        }
        children.remove_old();
        Ok(children)
    }

    /// Removes the oldest starts that have ended.
    fn remove_old(&self) {
        for id in self.ids().iter().rev().skip(KEPT_MAX) {
            let folder = self.folder.join(id);
            if self.is_over(&folder) {
                let _ = fs::remove_dir_all(folder);
            }
        }
    }

    fn is_over(&self, folder: &Path) -> bool {
        self.record(folder).is_ok_and(|record| {
            record.pid.is_some() && (folder.join(EXIT).exists() || !record.is_alive())
        })
    }

    /// Until this is dropped, nobody else starts anything.
    pub fn starting(&self) -> MutexGuard<'_, ()> {
        self.starting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts that have no folder of a run or a load yet, by their identities.
    pub fn preparing(&self) -> Vec<String> {
        let ids = self.ids().into_iter();
        ids.filter(|id| {
            let folder = self.folder.join(id);
            let is_going_on = !self.is_over(&folder) && self.record(&folder).is_ok();
            is_going_on && self.reply(id).is_ok_and(|start| start.folder.is_none())
        })
        .collect()
    }

    /// Has processes started with the original affinity and niceness.
    pub fn spawner(&self) -> &Spawner {
        &self.spawner
    }

    /// All starts, the oldest first.
    pub fn ids(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut ids: Vec<String> = entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        ids.sort();
        ids
    }

    /// A new folder for a start, for files that its command needs.
    pub fn prepare(&self) -> io::Result<PreparedStart> {
        self.remove_old();
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let number = self.numbers.lock().map_or(0, |mut last| {
            *last += 1;
            *last
        });
        let id = format!("{:013}-{number:04}", now.as_millis());
        let folder = self.folder.join(&id);
        fs::create_dir(&folder)?;
        Ok(PreparedStart { id, folder })
    }

    /// Starts the command of a prepared start. When this fails there is no process: neither one that nobody knows, as on a full disk,
    /// nor one that nobody waits for.
    pub fn start(&self, prepared: &PreparedStart, mut command: Command) -> io::Result<StartReply> {
        let file = |name: &str| private_file(&prepared.folder.join(name));
        command
            .stdin(Stdio::null())
            .stdout(file("events")?)
            .stderr(file("messages")?);
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let mut record = StartRecord {
            command: words
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
            pid: None,
            started_ticks: 0,
        };
        write_record(&prepared.folder, &record)?;
        let begun = self.spawn(prepared, command, &mut record);
        if begun.is_err() {
            // Without this file the folder goes with `prepared`.
            let _ = fs::remove_file(prepared.folder.join(RECORD));
        }
        begun?;
        self.reply(&prepared.id)
            .map_err(|refusal| io::Error::other(refusal.error.message))
    }

    fn spawn(
        &self,
        prepared: &PreparedStart,
        command: Command,
        record: &mut StartRecord,
    ) -> io::Result<()> {
        let folder = prepared.folder.clone();
        let (sender, started) = channel::<Child>();
        std::thread::Builder::new()
            .name("wait".into())
            .spawn(move || {
                let Ok(mut child) = started.recv() else {
                    return;
                };
                let code = child.wait().ok().and_then(|status| status.code());
                let _ = fs::remove_dir_all(folder.join(SECRETS));
                // Killed by a signal: there is no code.
                let _ = fs::write(
                    folder.join(EXIT),
                    code.map_or_else(|| "killed".to_owned(), |code| code.to_string()),
                );
            })?;
        let mut child = self.spawner.spawn(command)?;
        record.pid = Some(child.id());
        record.started_ticks = started_ticks(child.id()).unwrap_or_default();
        let written = write_record(&prepared.folder, record);
        if written.is_err() {
            let _ = child.kill();
            let _ = child.wait();
        } else {
            // An error would mean that the thread has ended, which waits for this.
            let _ = sender.send(child);
        }
        written
    }

    /// What is known of a start.
    pub fn reply(&self, id: &str) -> Reply<StartReply> {
        let folder = self.folder.join(places::name(id)?);
        let record = self.record(&folder)?;
        let exit = fs::read_to_string(folder.join(EXIT)).ok();
        let events = events(&folder.join("events"));
        let is_alive = exit.is_none() && (record.pid.is_none() || record.is_alive());
        let found = events
            .iter()
            .find_map(|event| event.get("folder")?.as_str());
        let mut output: Vec<String> = events
            .iter()
            .filter_map(|event| event.get("what").or_else(|| event.get("text"))?.as_str())
            .map(str::to_owned)
            .collect();
        output.extend(last_lines(&folder.join("messages")));
        output.drain(..output.len().saturating_sub(SHOWN_LINES));
        Ok(StartReply {
            id: id.to_owned(),
            state: match (is_alive, found) {
                (false, _) => StartState::Ended,
                (true, None) => StartState::Preparing,
                (true, Some(_)) => StartState::Running,
            },
            folder: found.and_then(|path| Some(Path::new(path).file_name()?.to_str()?.to_owned())),
            exit_code: exit.and_then(|code| code.trim().parse().ok()),
            output,
            command: record.command,
        })
    }

    /// Asks a start to end, as Ctrl-C does.
    pub fn stop(&self, id: &str) -> Reply<()> {
        let record = self.record(&self.folder.join(places::name(id)?))?;
        match record.pid {
            None => Err(Refusal::conflict("it is only being started: try again")),
            Some(pid) if lock::interrupt(pid, || record.is_alive()) => Ok(()),
            Some(_) => Err(Refusal::conflict("it has ended")),
        }
    }

    fn record(&self, folder: &Path) -> Reply<StartRecord> {
        let text = fs::read(folder.join(RECORD))
            .map_err(|_| Refusal::not_found("there is no such start"))?;
        serde_json::from_slice(&text).map_err(|error| Refusal::failed(error.to_string()))
    }
}

/// File that says what was started, and file with the exit code.
const RECORD: &str = "start.json";
const EXIT: &str = "exit";
/// Folder of the files with secrets of a start, which go when it has ended.
const SECRETS: &str = "secrets";

/// A start whose command has not been started yet; it goes with this unless it was.
pub struct PreparedStart {
    pub id: String,
    pub folder: PathBuf,
}

impl PreparedStart {
    /// Writes a file that only this user can read.
    pub fn write(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        let path = self.folder.join(name);
        io::Write::write_all(&mut private_file(&path)?, text.as_bytes())?;
        Ok(path)
    }

    /// The same for a secret: the file goes when the command has ended.
    pub fn write_secret(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        fs::create_dir_all(self.folder.join(SECRETS))?;
        self.write(&format!("{SECRETS}/{name}"), text)
    }
}

impl Drop for PreparedStart {
    fn drop(&mut self) {
        if !self.folder.join(RECORD).exists() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// Writes the record whole, or not at all.
fn write_record(folder: &Path, record: &StartRecord) -> io::Result<()> {
    let partial = folder.join("start.json.partial");
    fs::write(&partial, serde_json::to_vec(record)?)?;
    fs::rename(partial, folder.join(RECORD))
}

fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

/// Start of a process in ticks since boot, the 22nd field of `/proc/PID/stat` (proc_pid_stat(5)); `None`: it is gone.
fn started_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program may contain anything but ends with the last parenthesis.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    // A zombie has ended.
    let is_running = fields.next()? != "Z";
    fields.nth(18)?.parse().ok().filter(|_| is_running)
}

/// The first events that a process has written.
fn events(path: &Path) -> Vec<serde_json::Value> {
    let Ok(file) = File::open(path) else {
        return Vec::new();
    };
    let lines = BufReader::new(file.take(EVENTS_BYTES)).lines();
    lines
        .map_while(Result::ok)
        .filter(|line| {
            !line.starts_with(r#"{"event":"sample"#) && !line.starts_with(r#"{"event":"usage"#)
        })
        .take(1000)
        .filter_map(|line| serde_json::from_str(&line).ok())
        .collect()
}

/// The last lines of a text file.
fn last_lines(path: &Path) -> Vec<String> {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let bytes = file.metadata()?.len();
        file.seek(SeekFrom::Start(bytes.saturating_sub(SHOWN_BYTES)))?;
        let mut text = Vec::new();
        file.take(SHOWN_BYTES).read_to_end(&mut text)?;
        Ok(text)
    };
    let text = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let from = lines.len().saturating_sub(SHOWN_LINES);
    lines[from..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn children(own: &Path) -> Children {
        let (sender, requests) = channel();
        std::thread::spawn(move || spawn_all(&requests, sys::raise_files()));
        Children::open(own, Spawner::new(sender)).unwrap()
    }

    fn until_ended(children: &Children, id: &str) -> StartReply {
        for _ in 0..500 {
            let reply = children.reply(id).unwrap();
            if reply.state == StartState::Ended && reply.exit_code.is_some() {
                return reply;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("it did not end");
    }

    #[test]
    fn a_start_is_known_by_its_folder_also_to_the_next_server() {
        let own = tempfile::tempdir().unwrap();
        let first = children(own.path());
        let prepared = first.prepare().unwrap();
        let secret = prepared
            .write_secret("headers", "authorization: x")
            .unwrap();
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(
            r#"echo '{"event":"started","folder":"/runs/one"}'; echo '{"event":"note","text":"hello"}'; echo last >&2; exit 3"#,
        );
        first.start(&prepared, command).unwrap();
        until_ended(&first, &prepared.id);
        let next = children(own.path());
        assert_eq!(next.ids(), std::slice::from_ref(&prepared.id));
        let reply = next.reply(&prepared.id).unwrap();
        assert_eq!((reply.state, reply.exit_code), (StartState::Ended, Some(3)));
        assert_eq!(reply.folder.as_deref(), Some("one"));
        assert_eq!(reply.output, ["hello", "last"]);
        assert!(!secret.exists());
        assert!(next.stop(&prepared.id).is_err());
        assert!(next.reply("../starts").is_err());
    }

    #[test]
    fn a_start_is_a_session_of_its_own_and_ends_when_asked() {
        let own = tempfile::tempdir().unwrap();
        let children = children(own.path());
        let prepared = children.prepare().unwrap();
        // Where tests run in the background of a script, SIGINT is ignored, and children inherit that.
        let mut command = Command::new("/usr/bin/env");
        command.args(["--default-signal=INT", "sleep", "60"]);
        children.start(&prepared, command).unwrap();
        let record = children.record(&prepared.folder).unwrap();
        // Before, it is `env` that still ignores the signal.
        let pid = record.pid.unwrap();
        let name = || fs::read_to_string(format!("/proc/{pid}/comm")).unwrap();
        while name() != "sleep\n" {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let session: Vec<&str> = stat
            .rsplit_once(')')
            .unwrap()
            .1
            .split_ascii_whitespace()
            .collect();
        assert_eq!(session[3], pid.to_string());
        children.stop(&prepared.id).unwrap();
        for _ in 0..500 {
            if children.reply(&prepared.id).unwrap().state == StartState::Ended {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("it did not end");
    }

    #[test]
    fn a_start_that_cannot_be_recorded_leaves_no_process_and_no_folder() {
        let own = tempfile::tempdir().unwrap();
        let (sender, requests) = channel::<SpawnRequest>();
        let (pids, started) = channel();
        let starts = own.path().join("starts");
        std::thread::spawn(move || {
            for mut request in requests {
                let child = request.command.spawn();
                pids.send(child.as_ref().unwrap().id()).unwrap();
                // As a full disk: what is written next cannot be.
                let start = fs::read_dir(&starts).unwrap().next().unwrap().unwrap();
                fs::create_dir(start.path().join("start.json.partial")).unwrap();
                request.reply.send(child).unwrap();
            }
        });
        let children = Children::open(own.path(), Spawner::new(sender)).unwrap();
        let prepared = children.prepare().unwrap();
        let mut command = Command::new("/bin/sleep");
        command.arg("1000");
        assert!(children.start(&prepared, command).is_err());
        drop(prepared);
        assert_eq!(children.ids(), Vec::<String>::new());
        let pid = started.recv().unwrap();
        assert!(
            !Path::new(&format!("/proc/{pid}")).exists(),
            "it runs, or nobody has waited for it"
        );
    }

    #[test]
    fn starts_that_have_ended_are_removed_while_the_server_lives() {
        let own = tempfile::tempdir().unwrap();
        let children = children(own.path());
        let over = StartRecord {
            command: Vec::new(),
            pid: Some(u32::MAX),
            started_ticks: 1,
        };
        let prepared: Vec<_> = (0..KEPT_MAX + 50)
            .map(|_| {
                let prepared = children.prepare().unwrap();
                write_record(&prepared.folder, &over).unwrap();
                prepared
            })
            .collect();
        drop(children.prepare().unwrap());
        let left = children.ids();
        assert_eq!(left.len(), KEPT_MAX);
        assert_eq!(left.last(), prepared.last().map(|start| &start.id));
        // A server that was killed while it started something, or before.
        write_record(
            &children.prepare().unwrap().folder,
            &StartRecord { pid: None, ..over },
        )
        .unwrap();
        std::mem::forget(children.prepare().unwrap());
        let (sender, _requests) = channel();
        let next = Children::open(own.path(), Spawner::new(sender)).unwrap();
        assert!(next.preparing().is_empty() && next.ids().len() <= KEPT_MAX);
    }
}
