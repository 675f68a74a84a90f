//! All fuzz targets of `tare_fuzzing::targets::ALL` in one program: `TARE_FUZZ_TARGET` names the one that is run.
#![no_main]

use std::sync::OnceLock;

use tare_fuzzing::targets::{ALL, FuzzTarget, find};

static TARGET: OnceLock<&FuzzTarget> = OnceLock::new();

libfuzzer_sys::fuzz_target!(
    init: {
        let name = std::env::var("TARE_FUZZ_TARGET").unwrap_or_default();
        match find(&name) {
            Some(target) => TARGET.get_or_init(|| target),
            // The list, for the script that runs them.
            None => {
                for target in ALL {
                    println!("{}\t{}", target.name, target.covers);
                }
                std::process::exit(0)
            }
        };
    },
    |data: &[u8]| {
        if let Some(target) = TARGET.get() {
            (target.run)(data);
        }
    }
);
