//! The votes: one counter per emoji, in memory, lost with the process.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::catalogue::{ALL, COUNT};
use crate::messages::VotingResult;

/// How often each emoji was voted for.
#[derive(Debug)]
pub struct Votes {
    counts: [AtomicU64; COUNT],
}

impl Votes {
    /// Every emoji begins with so many votes.
    #[must_use]
    pub fn starting_with(each: u64) -> Votes {
        Votes {
            counts: std::array::from_fn(|_| AtomicU64::new(each)),
        }
    }

    /// One more for the emoji at this place of the table.
    pub fn count(&self, place: usize) {
        if let Some(count) = self.counts.get(place) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Every emoji with votes, the most first; equals stay in the order of the table.
    #[must_use]
    pub fn standing(&self) -> Vec<VotingResult> {
        let mut standing: Vec<VotingResult> = ALL
            .iter()
            .zip(&self.counts)
            .map(|(emoji, count)| (emoji, count.load(Ordering::Relaxed)))
            .filter(|(_, votes)| *votes > 0)
            .map(|(emoji, votes)| VotingResult {
                shortcode: emoji.shortcode(),
                votes,
            })
            .collect();
        standing.sort_by_key(|result| std::cmp::Reverse(result.votes));
        standing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::place;

    #[test]
    fn the_most_votes_come_first_and_what_has_none_is_left_out() {
        let votes = Votes::starting_with(0);
        assert!(votes.standing().is_empty());
        for shortcode in [":fox:", ":rocket:", ":rocket:", ":joy:"] {
            votes.count(place(shortcode).unwrap());
        }
        let standing: Vec<(String, u64)> = votes
            .standing()
            .into_iter()
            .map(|result| (result.shortcode, result.votes))
            .collect();
        let expected = [(":rocket:", 2), (":joy:", 1), (":fox:", 1)];
        assert_eq!(
            standing,
            expected.map(|(name, votes)| (name.to_owned(), votes))
        );
    }

    #[test]
    fn votes_to_begin_with_put_every_emoji_on_the_board() {
        let standing = Votes::starting_with(1).standing();
        assert_eq!(standing.len(), COUNT);
        assert_eq!(standing[0].shortcode, ":joy:");
    }
}
