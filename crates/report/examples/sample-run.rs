//! Writes a realistic run folder of known truth into a folder and prints its path: `sample-run DIR [VIEW.json]`.

#[allow(
    dead_code,
    reason = "the tests use more of the builder than this example does"
)]
#[path = "../tests/fixture/mod.rs"]
mod fixture;

use std::error::Error;
use std::io::Write;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let parent = arguments
        .next()
        .ok_or("name a folder to write the run into")?;
    let folder = fixture::SampleRun::sidecar().write(Path::new(&parent))?;
    if let Some(path) = arguments.next() {
        let view = tare_report::view(&tare_report::read(&folder)?);
        std::fs::write(path, tare_report::json(&view)?)?;
    }
    writeln!(std::io::stdout(), "{}", folder.display())?;
    Ok(())
}
