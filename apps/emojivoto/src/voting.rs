//! The gRPC service `voting`: a method per emoji that counts a vote, and the results.

use std::collections::HashMap;

use axum::extract::Request;
use axum::response::Response;

use crate::emoji_table::{ALL, Emoji};
use crate::messages::{ResultsRequest, ResultsResponse, VoteRequest, VoteResponse};
use crate::rpc;
use crate::service::Service;
use crate::votes::Votes;

/// Method of the results.
pub const RESULTS: &str = "Results";

#[derive(Debug)]
pub struct VotingService {
    votes: Votes,
    /// Method → index of its emoji.
    places: HashMap<String, usize>,
}

impl VotingService {
    /// The service over these votes.
    pub fn new(votes: Votes) -> VotingService {
        let places = ALL.iter().enumerate();
        VotingService {
            votes,
            places: places.map(|(at, emoji)| (emoji.method(), at)).collect(),
        }
    }
}

impl Service for VotingService {
    const NAME: &'static str = "emojivoto.v1.VotingService";

    fn methods() -> Vec<String> {
        let mut methods: Vec<String> = ALL.iter().map(Emoji::method).collect();
        methods.push(RESULTS.to_owned());
        methods
    }

    async fn answer(&self, method: &str, request: Request) -> Option<Response> {
        if method == RESULTS {
            let results = |_: ResultsRequest| {
                let results = self.votes.ranking();
                std::future::ready(Ok(ResultsResponse { results }))
            };
            return Some(rpc::answer(request, results).await);
        }
        let place = *self.places.get(method)?;
        let vote = |_: VoteRequest| {
            self.votes.count(place);
            std::future::ready(Ok(VoteResponse {}))
        };
        Some(rpc::answer(request, vote).await)
    }
}
