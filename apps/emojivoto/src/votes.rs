//! Vote counters, one per emoji, in memory.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::emoji_table::{ALL, COUNT};
use crate::messages::VotingResult;

/// The number of votes for each emoji.
#[derive(Debug)]
pub struct Votes {
    counts: [AtomicU64; COUNT],
}

impl Votes {
    /// Every emoji starts with this many votes.
    pub fn starting_with(each: u64) -> Votes {
        Votes {
            counts: std::array::from_fn(|_| AtomicU64::new(each)),
        }
    }

    /// Counts a vote for the emoji at this index.
    pub fn count(&self, place: usize) {
        if let Some(count) = self.counts.get(place) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Emojis with votes, most votes first; equals in table order.
    pub fn ranking(&self) -> Vec<VotingResult> {
        let mut ranking: Vec<VotingResult> = ALL
            .iter()
            .zip(&self.counts)
            .map(|(emoji, count)| (emoji, count.load(Ordering::Relaxed)))
            .filter(|(_, votes)| *votes > 0)
            .map(|(emoji, votes)| VotingResult {
                shortcode: emoji.shortcode(),
                votes,
            })
            .collect();
        ranking.sort_by_key(|result| std::cmp::Reverse(result.votes));
        ranking
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emoji_table::place;

    #[test]
    fn the_most_votes_come_first_and_what_has_none_is_left_out() {
        let votes = Votes::starting_with(0);
        assert!(votes.ranking().is_empty());
        for shortcode in [":fox:", ":rocket:", ":rocket:", ":joy:"] {
            votes.count(place(shortcode).unwrap());
        }
        let ranking: Vec<(String, u64)> = votes
            .ranking()
            .into_iter()
            .map(|result| (result.shortcode, result.votes))
            .collect();
        let expected = [(":rocket:", 2), (":joy:", 1), (":fox:", 1)];
        assert_eq!(
            ranking,
            expected.map(|(name, votes)| (name.to_owned(), votes))
        );
    }

    #[test]
    fn votes_to_begin_with_put_every_emoji_on_the_board() {
        let ranking = Votes::starting_with(1).ranking();
        assert_eq!(ranking.len(), COUNT);
        assert_eq!(ranking[0].shortcode, ":joy:");
    }
}
