//! Loads of many requests: each takes what its exchanges take, not the histograms of a whole load.

use std::fmt::Write as _;
use std::io::Write as _;
use std::io::{BufRead as _, BufReader};
use std::sync::{Arc, Mutex};

use tare_record::load_report::LoadReport;

use super::{peak_of, rig, server, wait_for_bytes};

/// As many requests as a load may have.
const TARGETS: usize = 4096;

/// What a load of so many may take.
const PEAK_BYTES_MAX: u64 = 100_000_000;

#[test]
fn four_thousand_targets_take_less_than_a_hundred_megabytes() {
    let address = server(|mut stream| {
        loop {
            wait_for_bytes(&stream)?;
            let _ = std::io::Read::read(&mut stream, &mut [0; 4096])?;
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")?;
        }
    });
    let mut targets = String::new();
    for number in 0..TARGETS {
        writeln!(targets, "GET http://{address}/item/{number}").unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("targets.txt");
    std::fs::write(&file, targets).unwrap();
    for form in [&["--json"][..], &[]] {
        let mut load = rig::tare(&["load", "--no-calibrate", "-c", "4", "-n", "8192"]);
        load.arg("--targets").arg(&file).args(form);
        let (peak, output) = peak_of(load);
        let said = rig::stdout(&output);
        assert!(
            peak < PEAK_BYTES_MAX,
            "{peak} bytes: {}",
            rig::stderr(&output)
        );
        if form.is_empty() {
            assert!(said.contains("the slowest 20 of 4096 requests"), "{said}");
        } else {
            let report: LoadReport = serde_json::from_str(&said).unwrap();
            assert_eq!((report.result.intended, report.result.ok), (8192, 8192));
            assert_eq!(report.result.by_request.len(), TARGETS);
        }
    }
}

/// How much more a long list may take than a short one.
const MORE_BYTES_MAX: u64 = 10_000_000;

#[test]
fn a_list_of_a_million_lines_takes_the_memory_of_a_short_one_and_is_sent_in_its_order() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    let address = server(move |stream| {
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        while let Some(request) = lines.next().transpose()? {
            kept.lock().unwrap().push(request);
            while lines
                .next()
                .transpose()?
                .is_some_and(|line| !line.is_empty())
            {}
            (&stream).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")?;
        }
        Ok(())
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access.log");
    let mut peaks = Vec::new();
    for lines in [1000, 1_000_000] {
        let mut log = String::new();
        for number in 0..lines {
            let path = ["items", "users"][number % 2];
            writeln!(log, "::1 - - [t] \"GET /{path}/{number}?x HTTP/1.1\" 200 1").unwrap();
        }
        std::fs::write(&file, log).unwrap();
        seen.lock().unwrap().clear();
        let url = format!("http://{address}");
        let mut load = rig::tare(&["load", &url, "--no-calibrate", "-c", "1", "-n", "3000"]);
        load.arg("--json").arg("--paths").arg(&file);
        let (peak, output) = peak_of(load);
        peaks.push(peak);
        let wrong = rig::stderr(&output);
        let report: LoadReport = serde_json::from_str(&rig::stdout(&output)).expect(&wrong);
        assert_eq!(
            (report.result.intended, report.result.ok),
            (3000, 3000),
            "{wrong}"
        );
        let names: Vec<&String> = report.result.by_request.keys().collect();
        assert_eq!(names, ["GET-items-id", "GET-users-id"]);
        for (at, request) in seen.lock().unwrap().iter().enumerate() {
            let number = at % lines;
            let path = ["items", "users"][number % 2];
            assert_eq!(*request, format!("GET /{path}/{number}?x HTTP/1.1"));
        }
        assert!(seen.lock().unwrap().len() >= 3000);
    }
    assert!(peaks[1] < peaks[0] + MORE_BYTES_MAX, "{peaks:?}");
}
