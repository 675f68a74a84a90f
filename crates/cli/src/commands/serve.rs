//! `tare serve`: starts the server `tare-serve`, a program of its own beside this one.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use tare_record::api::ServeOptions;

use crate::commands::plan::own_path;
use crate::commands::replace_by;
use crate::exit::bad_input;

/// Arguments of `tare serve`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Address to listen on. Other addresses than loopback need --tls-cert, --tls-key and --password-file.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7979")]
    listen: SocketAddr,
    /// Directory of runs and loads.
    #[arg(long, value_name = "DIR", default_value = "runs")]
    out: PathBuf,
    /// Show only: nothing can be started, stopped, deleted or imported.
    #[arg(long)]
    read_only: bool,
    /// Directory whose files (certificates, keys) a load may name; may be given several times.
    #[arg(long, value_name = "DIR")]
    files: Vec<PathBuf>,
    /// Environment variable that a Kafka cluster may name for its password; may be given several times.
    #[arg(long = "env", value_name = "VARIABLE")]
    environment: Vec<String>,
    /// Runs and loads that are measured at a time. What is measured at the same time on one machine spoils each other's results.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    parallel: u32,
    /// Whoever may use the page may use the Kafka clusters of `tare kafka clusters` with their secrets, also where the page has other
    /// users than you: with a password, another name (--host), or another address than loopback.
    #[arg(long)]
    lend_clusters: bool,
    /// Further name of this server in the address of the page, as behind a proxy; may be given several times. Needed with 0.0.0.0,
    /// where the printed link has the first one.
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
    /// Certificate of the server with its chain (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key of --tls-cert (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// File with the password of the page, for the user `tare` (HTTP basic authentication).
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

/// Replaces this process by the server.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let is_open = !args.listen.ip().is_loopback();
    if is_open && (args.tls_cert.is_none() || args.password_file.is_none()) {
        return Err(bad_input(format!(
            "{} can be reached from other machines: add --tls-cert, --tls-key and --password-file, or listen on 127.0.0.1",
            args.listen
        )));
    }
    if args.listen.ip().is_unspecified() && args.hosts.is_empty() {
        return Err(bad_input(format!(
            "{} stands for all addresses of this machine: add --host NAME, the name or address under which browsers ask for the page",
            args.listen.ip()
        )));
    }
    // Who can open the page of such a server can read the user's files anyway.
    let is_for_user = !is_open && args.hosts.is_empty() && args.password_file.is_none();
    let clusters = tare_lab::config::clusters();
    let options = ServeOptions {
        listen: args.listen,
        runs: args.out,
        read_only: args.read_only,
        files: args.files,
        environment: args.environment,
        clusters: clusters.filter(|_| is_for_user || args.lend_clusters),
        parallel: args.parallel,
        hosts: args.hosts,
        tls: args.tls_cert.zip(args.tls_key),
        password_file: args.password_file,
        home: tare_lab::home::home().map_err(bad_input)?,
        tare: own_path()?,
    };
    match replace_by("serve", &options)? {}
}
