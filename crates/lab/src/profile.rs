//! Samples stacks of processes with `perf record` on the software clock of each core, which every machine has.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, OFlags};

use crate::fetch;
use crate::keeper::{PrivateFolder, default_base, new_path};
use crate::subprocess::{self, StdIo};
use crate::variables::ProgramKind::Plain;

/// Samples per second of CPU time: no divisor of the rates at which programs have timers.
pub const HERTZ: u32 = 997;
/// Most frames of a stack, the innermost ones.
const FRAMES_MAX: usize = 127;
/// Most bytes that perf may print about one window.
const OUTPUT_BYTES_MAX: usize = 256 << 20;
/// Pipe that perf reads: it ends with the last one that writes to it.
const STOP: &str = "stop";
/// Time between two looks whether perf has begun.
const START_INTERVAL: Duration = Duration::from_millis(20);
/// Time to write the file after the window.
const STOP_LIMIT: Duration = Duration::from_secs(20);
/// Time to find the names of all functions.
const NAMES_LIMIT: Duration = Duration::from_secs(120);

/// Stacks and how often each was seen.
pub type Stacks = BTreeMap<String, u64>;

/// Samples the stacks of some processes.
#[derive(Debug, Clone)]
pub struct Profiler {
    perf: PathBuf,
    pids: Vec<u32>,
    /// Target with version.
    pub software: String,
}

impl Profiler {
    /// A profiler of these processes and of threads that they start.
    ///
    /// # Errors
    /// When there is no perf, or nothing to sample.
    pub fn of(pids: Vec<u32>, software: &str) -> Result<Profiler, String> {
        if pids.is_empty() {
            return Err(String::from("none of its processes runs"));
        }
        Ok(Profiler {
            perf: find()?,
            pids,
            software: software.to_owned(),
        })
    }

    /// Begins to sample at a time, for so long.
    #[must_use]
    pub fn start(self, at: Instant, length: Duration) -> Sampling {
        let folder = private_folder();
        let pipe = folder.as_ref().ok().map(|folder| folder.path().join(STOP));
        let sample = move || {
            let folder = folder?;
            thread::sleep(at.saturating_duration_since(Instant::now()));
            let stacks = self.sample_in(folder.path(), length);
            // What cannot be removed now is swept up by the next keeper.
            let _ = folder.remove();
            stacks
        };
        Sampling {
            thread: thread::spawn(sample),
            pipe,
            writer: None,
        }
    }

    /// Begins to sample now, until [`Sampling::finish`], and for so long at most. Returns when samples are taken.
    ///
    /// # Errors
    /// When none are.
    pub fn begin(self, length: Duration) -> Result<Sampling, String> {
        let mut sampling = self.start(Instant::now(), length);
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        while let Some(pipe) = &sampling.pipe
            && !sampling.thread.is_finished()
        {
            // As long as perf does not read it, nobody can write to it.
            if let Ok(writer) = rustix::fs::open(pipe, flags, Mode::empty()) {
                sampling.writer = Some(writer);
                return Ok(sampling);
            }
            thread::sleep(START_INTERVAL);
        }
        match sampling.finish() {
            Ok(_) => Err(String::from("perf ended at once")),
            Err(why) => Err(why),
        }
    }

    fn sample_in(&self, folder: &Path, length: Duration) -> Result<Stacks, String> {
        let pids: Vec<String> = self.pids.iter().map(ToString::to_string).collect();
        let perf = self.perf.display().to_string();
        let record = [
            &perf,
            "record",
            "--event=cpu-clock",
            &format!("--freq={HERTZ}"),
            "--call-graph=fp",
            "--quiet",
            "--output=perf.data",
            &format!("--pid={}", pids.join(",")),
            "--",
            "sh",
            "-c",
            // perf ends with it; its own exit code is none of perf's.
            &format!("timeout {} cat {STOP} || true", length.as_secs_f64()),
        ];
        let output = subprocess::run_in(folder, &record, Plain, length + STOP_LIMIT)?;
        if !output.success {
            return Err(refused(&output.text(), output.last_line()));
        }
        let script = [
            &perf,
            "script",
            "--input=perf.data",
            "--fields=ip,sym,dso",
            &format!("--max-stack={FRAMES_MAX}"),
            "--demangle",
        ];
        let stdio = StdIo {
            input: "",
            output_bytes_max: OUTPUT_BYTES_MAX,
        };
        let output =
            subprocess::run_with_in(folder, &script, Plain, stdio, NAMES_LIMIT, &mut |_| {})?;
        match output.success {
            true => Ok(folded(&output.stdout)),
            false => Err(format!("perf script said: {}", output.last_line())),
        }
    }
}

/// A window that is being sampled.
#[derive(Debug)]
pub struct Sampling {
    thread: JoinHandle<Result<Stacks, String>>,
    /// What perf reads until the end of the window.
    pipe: Option<PathBuf>,
    /// Its other end; perf ends when it is closed.
    writer: Option<OwnedFd>,
}

impl Sampling {
    /// The stacks of the window.
    ///
    /// # Errors
    /// Why there are none.
    pub fn finish(self) -> Result<Stacks, String> {
        drop(self.writer);
        let done = self.thread.join();
        done.unwrap_or_else(|_| Err(String::from("the profiler panicked")))
    }
}

/// A folder for what perf writes, with the pipe that it reads.
fn private_folder() -> Result<PrivateFolder, String> {
    let folder = PrivateFolder::make(new_path(&default_base()));
    let folder = folder.map_err(|error| error.to_string())?;
    let pipe = folder.path().join(STOP);
    rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
        .map_err(|error| format!("{}: {error}", pipe.display()))?;
    Ok(folder)
}

fn find() -> Result<PathBuf, String> {
    tare_record::locate::locate("perf")
        .ok_or_else(|| String::from("there is no perf: apt-get install -y linux-perf"))
}

/// Installs perf where it is missing.
///
/// # Errors
/// Why it cannot be installed, and the command that does it.
pub fn install(say: &mut dyn FnMut(&str)) -> Result<(), String> {
    fetch::install_package(&fetch::package("linux-perf", "perf"), say)
}

/// What perf said, with the next step.
fn refused(text: &str, last: &str) -> String {
    match text.contains("perf_event_paranoid") || text.contains("No permission") {
        true => String::from(
            "this user may not sample other processes: run as root, or sysctl kernel.perf_event_paranoid=-1",
        ),
        false => format!("perf record said: {last}"),
    }
}

/// The output of `perf script`: a block of frames per sample, the innermost first.
fn folded(text: &str) -> Stacks {
    let mut stacks = Stacks::new();
    for block in text.split("\n\n") {
        let mut frames: Vec<String> = block.lines().filter_map(frame).collect();
        // Of functions without names one says as much as twenty.
        frames.dedup_by(|a, b| a == b && a.starts_with('['));
        if !frames.is_empty() {
            frames.reverse();
            *stacks.entry(frames.join(";")).or_default() += 1;
        }
    }
    stacks
}

/// `   7f31c2 Envoy::Http::decode(bool) (/opt/envoy)`: the function, without its arguments; `[envoy]` where the program has no names
/// of functions.
fn frame(line: &str) -> Option<String> {
    let (address, rest) = line.trim().split_once(' ')?;
    let address = u64::from_str_radix(address, 16).ok()?;
    let (name, program) = match rest.trim().strip_suffix(')')?.rsplit_once(" (") {
        Some((name, program)) => (name.trim(), program),
        None => ("", rest.trim_matches(['(', ')'])),
    };
    let name = match name {
        "[unknown]" | "" => {
            let program = program.rsplit('/').next().unwrap_or_default();
            format!("[{}]", program.trim_matches(['[', ']']).replace(';', ":"))
        }
        name => short(name),
    };
    // The upper half of addresses is the kernel's.
    let kernel = if address >> 63 == 1 { "_[k]" } else { "" };
    Some(format!("{name}{kernel}"))
}

/// A function without its arguments and the arguments of its templates, in which `;` would be taken for a separator.
fn short(name: &str) -> String {
    let mut kept = String::new();
    let mut depth = 0_u32;
    for one in name.chars() {
        match one {
            '<' => {
                depth += 1;
                if depth == 1 {
                    kept.push_str("<…>");
                }
            }
            '>' => depth = depth.saturating_sub(1),
            '(' if depth == 0 && !kept.is_empty() && !kept.ends_with("::") => break,
            ';' => kept.push(':'),
            one if depth == 0 => kept.push(one),
            _ => {}
        }
    }
    kept.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_one_stack_are_counted_from_the_outermost_function() {
        let sample = "\n   55d0c1 inner(int, char) (/opt/envoy)\n   55d0b0 Envoy::Map<int, a<b>>::at(int) (/opt/envoy)\n   \
                      55d0a0 [unknown] (/opt/en;voy)\n   55d0a1 [unknown] (/opt/en;voy)\n   7f31 main (/usr/lib/libc.so.6)\n\n";
        let kernel = "ffffffff81000000 do_syscall_64 ([kernel.kallsyms])\n   7f31 [unknown] ([unknown])\n\nnonsense\n";
        let stacks = folded(&format!("{sample}{sample}{kernel}"));
        let expected = [
            ("[unknown];do_syscall_64_[k]", 1),
            ("main;[en:voy];Envoy::Map<…>::at;inner", 2),
        ];
        let expected = expected.map(|(stack, count)| (stack.to_owned(), count));
        assert_eq!(stacks, Stacks::from(expected));
        assert!(folded("").is_empty());
    }

    #[test]
    fn names_keep_what_tells_functions_apart() {
        for (name, expected) in [
            (
                "Envoy::(anonymous namespace)::run(int)",
                "Envoy::(anonymous namespace)::run",
            ),
            ("operator()", "operator"),
            ("<alloc::vec::Vec<T> as Drop>::drop", "<…>::drop"),
            ("a;b", "a:b"),
        ] {
            assert_eq!(short(name), expected);
        }
    }
}
