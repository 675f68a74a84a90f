//! The program `tare` without the clients of Kafka: what needs them it leaves to `tare-with-kafka`.

use std::process::ExitCode;

fn main() -> ExitCode {
    tare_cli::run(&[])
}
