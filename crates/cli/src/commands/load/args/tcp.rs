//! Arguments of loads on TCP.

use clap::ValueEnum;
use tare_load::protocols::tcp::Direction;
use tare_schema::units::Size;

/// TCP without a protocol above it.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "TCP (tcp://host:port, over TLS tls://host:port)")]
pub struct TcpArgs {
    /// Size of a request: the letters a to z, repeated [default: 100B; with --throughput blocks of 1MiB].
    #[arg(long, value_name = "SIZE")]
    pub send: Option<Size>,
    /// Expected size of a response [default: that of the request; with --half-close any].
    #[arg(long, value_name = "SIZE")]
    pub expect_size: Option<Size>,
    /// Accept any response bytes. Default: the letters a to z, repeated, as from an echo server.
    #[arg(long)]
    pub any_content: bool,
    /// New connection for every exchange: send the request, shut down the sending direction, read the response to its end.
    #[arg(long)]
    pub half_close: bool,
    /// Measure the maximum throughput in this direction; an exchange is a block. Needs a discard server for `up`, a source for
    /// `down`, an echo server for `both`.
    #[arg(long, value_name = "DIRECTION", conflicts_with_all = ["half_close", "expect_size"])]
    pub throughput: Option<ThroughputDirection>,
}

/// Direction of a throughput measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ThroughputDirection {
    /// To the server.
    Up,
    /// From the server.
    Down,
    /// Both directions at the same time.
    Both,
}

impl From<ThroughputDirection> for Direction {
    fn from(direction: ThroughputDirection) -> Self {
        match direction {
            ThroughputDirection::Up => Direction::Up,
            ThroughputDirection::Down => Direction::Down,
            ThroughputDirection::Both => Direction::Both,
        }
    }
}

impl TcpArgs {
    /// The first of these flags that was given.
    pub fn given(&self) -> Option<&'static str> {
        let flags = [
            (self.send.is_some(), "--send"),
            (self.expect_size.is_some(), "--expect-size"),
            (self.any_content, "--any-content"),
            (self.half_close, "--half-close"),
            (self.throughput.is_some(), "--throughput"),
        ];
        let given = flags.into_iter().find(|(is_given, _)| *is_given);
        given.map(|(_, flag)| flag)
    }
}
