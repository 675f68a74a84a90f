//! Arguments of loads on TCP.

use clap::ValueEnum;
use tare_load::protocols::tcp::Direction;
use tare_schema::units::Size;

/// TCP without a protocol above it.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "TCP (tcp://host:port, over TLS tls://host:port)")]
pub struct TcpArgs {
    /// Bytes sent per exchange: the letters a to z, over and over [default: 100B; a block of 1MiB with --throughput].
    #[arg(long, value_name = "SIZE")]
    pub send: Option<Size>,
    /// Bytes that come back [default: as many as sent; with --half-close as many as come].
    #[arg(long, value_name = "SIZE")]
    pub expect_size: Option<Size>,
    /// Accept any bytes; without it they must be the letters a to z, over and over, as an echo returns them.
    #[arg(long)]
    pub any_content: bool,
    /// Send, end that direction, and read to the end of the other one: a connection for every exchange.
    #[arg(long)]
    pub half_close: bool,
    /// Move as many bytes as go through; an exchange is a block. A server that discards for `up`, a source for `down`, an echo for `both`.
    #[arg(long, value_name = "WAY", conflicts_with_all = ["half_close", "expect_size"])]
    pub throughput: Option<ThroughputDirection>,
}

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ThroughputDirection {
    /// To the server.
    Up,
    /// From the server.
    Down,
    /// Both at the same time.
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
