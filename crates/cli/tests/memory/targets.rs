//! Loads of many requests: each takes what its exchanges take, not the histograms of a whole load.

use std::fmt::Write as _;
use std::io::Write as _;

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
