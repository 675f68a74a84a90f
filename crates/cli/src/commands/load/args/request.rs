//! Arguments of requests, and of what a successful answer is.

use std::path::PathBuf;

use tare_record::units::Size;

/// The requests of a load.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Request")]
pub struct RequestArgs {
    /// HTTP method [default: GET, or POST with a body].
    #[arg(short = 'X', long, value_name = "METHOD")]
    pub method: Option<String>,
    /// Request header, such as `-H 'Accept: text/html'`, or `@FILE` with a header in each line, for credentials: other users can see a
    /// command line. May be given several times.
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    pub headers: Vec<String>,
    /// Request body, or `@FILE` for that of a file, as --body-file.
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["body_size", "body_file"])]
    pub body: Option<String>,
    /// File with the request body, sent byte for byte.
    #[arg(long, value_name = "FILE", conflicts_with = "body_size")]
    pub body_file: Option<PathBuf>,
    /// Size of a generated request body.
    #[arg(long, value_name = "SIZE")]
    pub body_size: Option<Size>,
    /// Expand the placeholders {uuid}, {int:1..1000}, {hex:16}, {seq}, {choice:a,b} and {date} in path, headers and body of each request.
    #[arg(long)]
    pub templates: bool,
    /// Expected status: one or more numbers (`200,304`), or `any` [default: 2xx and 3xx].
    #[arg(long, value_name = "STATUS")]
    pub expect_status: Option<String>,
    /// Expected response body, exactly, or `@FILE` for that of a file.
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["expect_match", "expect_length"])]
    pub expect_body: Option<String>,
    /// Regular expression to match in the first 64 KiB of the response body.
    #[arg(long, value_name = "REGEX", conflicts_with = "expect_length")]
    pub expect_match: Option<String>,
    /// Expected size of the response body.
    #[arg(long, value_name = "SIZE")]
    pub expect_length: Option<Size>,
    /// YAML file of several requests (docs/SESSIONS.md).
    #[arg(long, value_name = "FILE", conflicts_with_all = ONE)]
    pub requests: Option<PathBuf>,
    /// File of several requests in vegeta's format (text or JSON lines), sent in turn; `-` is standard input. Body files are in the
    /// current folder or below, as for vegeta, or in that of the file.
    #[arg(long, value_name = "FILE", conflicts_with_all = ONE)]
    pub targets: Option<PathBuf>,
    /// Access log, or file of URLs or paths, one a line, of any length: its GET and HEAD requests are sent in turn and counted by route;
    /// `-` is standard input (docs/SESSIONS.md).
    #[arg(long, value_name = "FILE", conflicts_with_all = ONE, conflicts_with_all = ["requests", "targets", "templates"])]
    pub paths: Option<PathBuf>,
    /// YAML file of a scripted session (docs/SESSIONS.md): --rate counts sessions, --clients counts users.
    #[arg(long, value_name = "FILE", conflicts_with_all = ONE, conflicts_with_all = ["requests", "targets", "paths"])]
    pub session: Option<PathBuf>,
    /// Print the requests of one session without sending them.
    #[arg(long, requires = "session")]
    pub dry_run: bool,
}

/// Arguments of a single request, which exclude a file of several.
const ONE: [&str; 7] = [
    "method",
    "body",
    "body_file",
    "body_size",
    "expect_body",
    "expect_match",
    "expect_length",
];
