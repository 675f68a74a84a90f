"""Interleaved rounds: runs processes on one core each, reads what they cost, and gives medians with ranges."""
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CORES = sorted(os.sched_getaffinity(0))
SERVER_CORE, LOAD_CORE = CORES[0], CORES[-1]
OUTPUT_BYTES_MAX = 16 << 20


def cache():
    """The folder of what can be fetched again, by the rule of Tare itself (docs/COMMAND-LINE.md)."""
    caches = os.environ.get("XDG_CACHE_HOME", "")
    caches = caches if os.path.isabs(caches) else os.path.expanduser("~/.cache")
    return os.environ.get("TARE_CACHE") or os.path.join(caches, "tare")


CACHE = cache()


class Failed(Exception):
    """A program that did not do what it was started for."""


class Ran:
    """What a finished process left: its output, CPU time (children it waited for included) and peak memory."""

    def __init__(self, text, errors, cpu_us, peak_bytes, seconds, code):
        self.text, self.errors, self.code = text, errors, code
        self.cpu_us, self.peak_bytes, self.seconds = cpu_us, peak_bytes, seconds


def raise_descriptors():
    """As many open files as the hard limit allows, for everything started from here."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def start(core, words, **options):
    """Starts a program that stays on one core."""
    return subprocess.Popen(["taskset", "-c", str(core), *words], **options)


def stop(process):
    """Ends a program started by `start`, and waits for it."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def peak_bytes(pid):
    """High-water mark of the process' memory. Not ru_maxrss: that keeps what the parent had before the exec."""
    try:
        with open(f"/proc/{pid}/status") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except (FileNotFoundError, ProcessLookupError):
        pass
    return 0


def run(words, limit_s, core=LOAD_CORE, stdin=None, accept=(0,)):
    """Runs a program on the load's core to its end; raises `Failed` when it fails or takes longer than `limit_s`."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        began = time.monotonic()
        given = subprocess.PIPE if stdin else subprocess.DEVNULL
        process = start(core, words, stdin=given, stdout=out, stderr=errors)
        if stdin:
            process.stdin.write(stdin.encode())
            process.stdin.close()
        late = threading.Timer(limit_s, process.kill)
        late.start()
        peak = 0
        try:
            while True:
                peak = max(peak, peak_bytes(process.pid))
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                if pid:
                    break
                time.sleep(0.05)
        finally:
            late.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - began
        texts = []
        for file in (out, errors):
            file.seek(0)
            texts.append(file.read(OUTPUT_BYTES_MAX).decode(errors="replace"))
        if process.returncode not in accept:
            said = (texts[1] or texts[0]).strip().splitlines()[-3:]
            raise Failed(f"{os.path.basename(words[0])} ended with {process.returncode}: {' / '.join(said)}")
        cpu_us = (usage.ru_utime + usage.ru_stime) * 1e6
        return Ran(texts[0], texts[1], cpu_us, peak, seconds, process.returncode)


def output_of(words):
    """First line that a command prints, or None."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=20)
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return None
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[0].strip() if lines else None


def in_turn(names, rounds, measure, say):
    """Runs `measure(name)` for every name in every round, in alternating order; the results by name and round.

    What fails once is left out of all further rounds, with the reason."""
    found, failed = {name: [] for name in names}, {}
    for number in range(rounds):
        order = names if number % 2 == 0 else names[::-1]
        for name in order:
            if name in failed:
                continue
            try:
                found[name].append(measure(name))
            except Failed as error:
                failed[name] = str(error)
                say(f"    {name}: {error}")
                continue
            say(f"    round {number + 1}/{rounds} {name}: {found[name][-1].get('said', '')}")
    for name in failed:
        del found[name]
    return found, failed


def spread(values):
    """Median and range of the values there are; None without any."""
    values = [value for value in values if value is not None]
    if not values:
        return None
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "n": len(values)}


def ratios(above, below):
    """The spread of the quotients round by round; only rounds that have both."""
    pairs = [(a, b) for a, b in zip(above, below) if a is not None and b]
    return spread([a / b for a, b in pairs])


def shown(found, digits=1, scale=1.0):
    """A spread as text: median (min-max)."""
    if found is None:
        return "–"
    median, low, high = (found[key] * scale for key in ("median", "min", "max"))
    return f"{median:,.{digits}f} ({low:,.{digits}f}–{high:,.{digits}f})"


def busy_share(seconds):
    """Share of the machine that others take while nothing of ours runs (steal of the hypervisor included)."""
    def reading():
        with open("/proc/stat") as stat:
            times = [int(word) for word in stat.readline().split()[1:9]]
        return sum(times), times[3] + times[4]
    (all_before, idle_before) = reading()
    time.sleep(seconds)
    (all_after, idle_after) = reading()
    return 1 - (idle_after - idle_before) / max(1, all_after - all_before)


def machine():
    """What the figures depend on."""
    cpu = "unknown"
    with open("/proc/cpuinfo") as info:
        for line in info:
            if line.startswith("model name"):
                cpu = line.split(":", 1)[1].strip()
                break
    with open("/proc/meminfo") as info:
        memory_kb = int(info.readline().split()[1])
    kernel = os.uname().release
    busy = busy_share(1)
    if busy > 0.05:
        print(f"other programs take {busy:.0%} of this machine now: nothing but ratios will mean anything", file=sys.stderr)
    return {"cpu": cpu, "cores": len(CORES), "memory_bytes": memory_kb * 1024, "kernel": kernel,
            "busy_share_before": round(busy, 3)}


def build(*wanted, package="tare-load"):
    """Builds the binary and examples of one package with the project's own profile; the paths."""
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
    if "tare" in wanted:
        subprocess.run([os.path.join(ROOT, "tare"), "--version"], check=True, stdout=sys.stderr)
    examples = [name for name in wanted if name != "tare"]
    if examples:
        words = ["cargo", "build", "--release", "--locked", "--quiet", "-p", package]
        for name in examples:
            words += ["--example", name]
        subprocess.run(words, check=True, cwd=ROOT)
    places = {"tare": os.path.join(target, "release", "tare")}
    places.update({name: os.path.join(target, "release", "examples", name) for name in examples})
    return places
