"""The programs that Tare is measured against: how each is got, called and read.

A call is `call(at, work)`: `at` has the address (`url`, `ca`), `work` the connections, streams and seconds. It gives the
command, what goes to its standard input, and the function that reads requests, errors, p50 and p99 (µs) from what it left.
"""
import json
import os
import re
import shutil
import subprocess

import harness

HOME = os.path.join(harness.CACHE, "peers")
BIN = os.path.join(HOME, "bin")

# Pinned: a figure names the version it was taken with.
GO = {"fortio": "fortio.org/fortio@v1.68.0", "hey": "github.com/rakyll/hey@v0.1.4",
      "ghz": "github.com/bojand/ghz/cmd/ghz@v0.120.0", "k6": "go.k6.io/k6@v1.0.0"}
CARGO = {"oha": "1.16.0"}
DEBIAN = {"wrk": "wrk", "h2load": "nghttp2-client", "ab": "apache2-utils", "nginx": "nginx-light"}
VERSION = {"wrk": ["-v"], "h2load": ["--version"], "ab": ["-V"], "nginx": ["-v"], "fortio": ["version"],
           "oha": ["--version"], "k6": ["version"], "ghz": ["--version"]}

UNITS_US = {"us": 1, "µs": 1, "ms": 1e3, "s": 1e6, "m": 60e6}


def path(name):
    own = os.path.join(BIN, name)
    return own if os.path.exists(own) else shutil.which(name)


def install(name, say):
    """Fetches a peer by its ordinary client; false when that fails."""
    if path(name):
        return True
    say(f"  installing {name} (once; a minute or more)")
    os.makedirs(BIN, exist_ok=True)
    if name in GO:
        words, env = ["go", "install", GO[name]], {**os.environ, "GOBIN": BIN}
    elif name in CARGO:
        words = ["cargo", "install", "--quiet", "--locked", "--version", CARGO[name], "--root", HOME, name]
        env = os.environ
    else:
        words = ["apt-get", "install", "-y", "--no-install-recommends", DEBIAN[name]]
        words, env = (words if os.geteuid() == 0 else ["sudo", "-n", *words]), os.environ
    try:
        done = subprocess.run(words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, timeout=1200)
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        say(f"  {name} is left out: {error}")
        return False
    if done.returncode != 0 or not path(name):
        say(f"  {name} is left out: {done.stderr.strip().splitlines()[-1:] or 'it could not be installed'}")
        return False
    return True


def version(name):
    if name == "hey":
        return GO["hey"].rsplit("@", 1)[1]
    found = harness.output_of([path(name), *VERSION[name]]) or "unknown"
    return re.sub(r" Copyright.*|, Copyright.*|This is ApacheBench, Version |nginx version: ", "", found)


def number(pattern, text, default=None):
    found = re.search(pattern, text)
    if found is None:
        if default is None:
            raise harness.Failed(f"no {pattern!r} in what it printed: {text.strip()[-200:]!r}")
        return default
    return float(found.group(1).replace(",", ""))


def period_us(pattern, text):
    found = re.search(pattern, text)
    return float(found.group(1)) * UNITS_US[found.group(2)] if found else None


def read(requests, errors=0, p50_us=None, p99_us=None, window_s=None):
    return {"requests": int(requests), "errors": int(errors), "p50_us": p50_us, "p99_us": p99_us, "window_s": window_s}


def tare(binary, *more, url="url"):
    """Tare in its default configuration: as fast as the connections carry it."""
    def call(at, work):
        words = [binary, "load", at[url], "-C", str(work["connections"]), "-d", f"{work['seconds']}s", "--json", "-q",
                 "--no-calibrate"]
        if work.get("streams"):
            words += ["--streams", str(work["streams"])]
        if at["url"].startswith("https"):
            words += ["--cacert", at["ca"]]
        return words + list(more), None, read_tare
    return call


def read_tare(ran):
    found = json.loads(ran.text)
    result = found["result"]
    service = found["latency_ns"].get("client.request.service", {})
    us = {key: service[key] / 1000 if isinstance(service.get(key), (int, float)) else None for key in ("p50", "p99")}
    wrong = result["errors"] + result["unfinished"] + result["overflow"]
    return read(result["requests_sent_total"], wrong, us["p50"], us["p99"], result["window_ns"] / 1e9)


def floor(binary, *more):
    def call(at, work):
        address = at["url"].split("/")[2]
        return [binary, address, str(work["connections"]), str(work["seconds"]), *more], None, read_floor
    return call


def read_floor(ran):
    found = json.loads(ran.text)
    return read(found["requests"], window_s=found["seconds"])


def wrk(at, work):
    words = [path("wrk"), "-t1", "-c", str(work["connections"]), "-d", f"{work['seconds']}s", "--latency", at["url"]]
    return words, None, read_wrk


def read_wrk(ran):
    wrong = sum(int(n) for n in re.findall(r"(?:connect|read|write|timeout) (\d+)", ran.text))
    wrong += number(r"Non-2xx or 3xx responses: (\d+)", ran.text, 0)
    percentile = lambda which: period_us(rf"\n\s+{which}%\s+([\d.]+)(us|ms|s|m)", ran.text)
    window_s = period_us(r"requests in ([\d.]+)(ms|s|m)", ran.text)
    return read(number(r"(\d+) requests in", ran.text), wrong, percentile(50), percentile(99), window_s / 1e6)


def h2load(*more):
    def call(at, work):
        words = [path("h2load"), "-t1", "-c", str(work["connections"]), "-m", str(work.get("streams") or 1),
                 "-D", str(work["seconds"]), *more, at["url"]]
        return words, None, read_h2load
    return call


def read_h2load(ran):
    # It prints no percentiles.
    done = number(r"(\d+) done", ran.text)
    wrong = number(r"(\d+) failed", ran.text) + number(r"status codes: (\d+) 2xx", ran.text) - done
    window_s = period_us(r"finished in ([\d.]+)(ms|s|m)", ran.text)
    if done == 0:
        raise harness.Failed("h2load had no answer")
    return read(done, abs(wrong), window_s=window_s / 1e6)


def ab(at, work):
    words = [path("ab"), "-q", "-k", "-c", str(work["connections"]), "-t", str(work["seconds"]),
             "-n", "5000000", at["url"]]
    return words, None, read_ab


def read_ab(ran):
    percentile = lambda which: number(rf"\n\s+{which}%\s+(\d+)", ran.text) * 1000
    return read(number(r"Complete requests:\s+(\d+)", ran.text), number(r"Failed requests:\s+(\d+)", ran.text),
                percentile(50), percentile(99), number(r"Time taken for tests:\s+([\d.]+)", ran.text))


def fortio(at, work):
    words = [path("fortio"), "load", "-quiet", "-loglevel", "error", "-c", str(work["connections"]), "-qps", "0",
             "-t", f"{work['seconds']}s", "-p", "50,99", "-json", "-"]
    if at["url"].startswith("https"):
        words += ["-k"]
    return words + [at["url"]], None, read_fortio


def read_fortio(ran):
    found = json.loads(ran.text)
    percentiles = {p["Percentile"]: p["Value"] * 1e6 for p in found["DurationHistogram"]["Percentiles"]}
    count = found["DurationHistogram"]["Count"]
    return read(count, count - found["RetCodes"].get("200", 0), percentiles.get(50), percentiles.get(99),
                found["ActualDuration"] / 1e9)


def hey(at, work):
    words = [path("hey"), "-z", f"{work['seconds']}s", "-c", str(work["connections"]), at["url"]]
    return words, None, read_hey


def read_hey(ran):
    percentile = lambda which: number(rf"{which}%+ in ([\d.]+) secs", ran.text, float("nan")) * 1e6
    # It keeps the latencies of the first million answers only; all of them are in its rate.
    window_s = number(r"Total:\s+([\d.]+) secs", ran.text)
    requests = number(r"Requests/sec:\s+([\d.]+)", ran.text) * window_s
    errors = sum(int(n) for n in re.findall(r"\n\s+\[(\d+)\]\s+\w+ \"", ran.text))
    return read(requests, errors, percentile(50), percentile(99), window_s)


def oha(*more):
    def call(at, work):
        words = [path("oha"), "-z", f"{work['seconds']}s", "-c", str(work["connections"]), "--no-tui",
                 "--output-format", "json", *more]
        if work.get("streams"):
            words += ["-p", str(work["streams"])]
        if at["url"].startswith("https"):
            words += ["--insecure"]
        return words + [at["url"]], None, read_oha
    return call


def read_oha(ran):
    found = json.loads(ran.text)
    count = found["statusCodeDistribution"].get("200", 0)
    wrong = sum(found["statusCodeDistribution"].values()) - count
    # What was under way at the deadline is no error of the server.
    wrong += sum(n for text, n in found["errorDistribution"].items() if "deadline" not in text)
    us = {key: (found["latencyPercentiles"].get(key) or float("nan")) * 1e6 for key in ("p50", "p99")}
    return read(count, wrong, us["p50"], us["p99"], found["summary"]["total"])


K6_SCRIPT = """
import http from 'k6/http';
export const options = { vus: %d, duration: '%gs', insecureSkipTLSVerify: true, discardResponseBodies: true };
export default function () { http.get('%s'); }
export function handleSummary(data) { return { stdout: JSON.stringify(data.metrics) }; }
"""


def k6(at, work):
    script = K6_SCRIPT % (work["connections"], work["seconds"], at["url"])
    words = [path("k6"), "run", "--quiet", "--no-usage-report", "--summary-trend-stats", "med,p(99)", "-"]
    return words, script, read_k6


def read_k6(ran):
    found = json.loads(ran.text[ran.text.index("{"):])
    count = found["http_reqs"]["values"]["count"]
    took = found["http_req_duration"]["values"]
    failed = found["http_req_failed"]["values"]["passes"]
    return read(count, failed, took["med"] * 1000, took["p(99)"] * 1000, count / found["http_reqs"]["values"]["rate"])


def ghz(call_name, proto):
    def call(at, work):
        words = [path("ghz"), "--insecure", "--proto", proto, "--call", call_name.lstrip("/"), "-d", "{}",
                 "--connections", str(work["connections"]), "-c", str(work["connections"] * work["streams"]),
                 "-z", f"{work['seconds']}s", "--duration-stop", "wait", "-O", "json", at["url"].split("/")[2]]
        return words, None, read_ghz
    return call


def read_ghz(ran):
    found = json.loads(ran.text)
    right = found["statusCodeDistribution"].get("OK", 0)
    percentiles = {p["percentage"]: p["latency"] / 1000 for p in found["latencyDistribution"] or []}
    return read(found["count"], found["count"] - right, percentiles.get(50), percentiles.get(99), found["total"] / 1e9)
