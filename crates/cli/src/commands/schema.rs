//! `tare schema`: the JSON Schema of everything that is written by hand or crosses a process.

use std::process::ExitCode;

use tare_schema::problem::hint;
use tare_schema::schemas::{SHAPES, shape};

use crate::exit::{Exit, bad_input};
use crate::screen::print;

/// Arguments of `tare schema`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Which shape; all are listed when left out.
    #[arg(value_name = "WHICH")]
    which: Option<String>,
}

/// Runs `tare schema`.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Some(which) = args.which else {
        for shape in SHAPES {
            print(&format!("{:<14} {}\n", shape.name, shape.about))?;
        }
        return Ok(Exit::Done.into());
    };
    let Some(shape) = shape(&which) else {
        let known = SHAPES.iter().map(|shape| shape.name);
        let said = format!("unknown shape \"{which}\"{}", hint(&which, known));
        return Err(bad_input(said));
    };
    print(&shape.text())?;
    Ok(Exit::Done.into())
}
