//! The messages of the two gRPC services, as `proto/*.proto` describes them (a test compares the two).

use prost::Message;
use serde::Serialize;

#[derive(Clone, PartialEq, Eq, Message, Serialize)]
pub struct Emoji {
    /// The character.
    #[prost(string, tag = "1")]
    pub unicode: String,
    /// With its colons.
    #[prost(string, tag = "2")]
    pub shortcode: String,
}

/// Asks for all emojis.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct ListAllRequest {}

/// All emojis.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct ListAllResponse {
    /// In display order.
    #[prost(message, repeated, tag = "1")]
    pub list: Vec<Emoji>,
}

/// Asks for one emoji.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct FindByShortcodeRequest {
    /// With its colons.
    #[prost(string, tag = "1")]
    pub shortcode: String,
}

/// One emoji, if there is one of that name.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct FindByShortcodeResponse {
    #[prost(message, optional, tag = "1")]
    pub emoji: Option<Emoji>,
}

/// A vote; the method names the emoji.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct VoteRequest {}

/// The vote was counted.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct VoteResponse {}

/// Asks for the results.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct ResultsRequest {}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct ResultsResponse {
    /// Most votes first.
    #[prost(message, repeated, tag = "1")]
    pub results: Vec<VotingResult>,
}

/// The votes of one emoji.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct VotingResult {
    /// With its colons.
    #[prost(string, tag = "1")]
    pub shortcode: String,
    #[prost(uint64, tag = "2")]
    pub votes: u64,
}
