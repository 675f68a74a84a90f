//! What is sent, and what a right answer is.

use tare_schema::units::Size;

/// The requests of a load.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Request")]
pub struct RequestArgs {
    /// Method [default: GET, or POST with a body].
    #[arg(short = 'X', long, value_name = "METHOD")]
    pub method: Option<String>,
    /// A header, as in `-H 'Accept: text/html'`; may be given several times.
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    pub headers: Vec<String>,
    /// Request body.
    #[arg(long, value_name = "TEXT", conflicts_with = "body_size")]
    pub body: Option<String>,
    /// Request body of so many bytes.
    #[arg(long, value_name = "SIZE")]
    pub body_size: Option<Size>,
    /// The right status: a number, or `any` [default: 2xx and 3xx].
    #[arg(long, value_name = "STATUS")]
    pub expect_status: Option<String>,
}
