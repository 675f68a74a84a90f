//! The gRPC service `emoji`: the table of emojis.

use axum::extract::Request;
use axum::response::Response;

use crate::emoji_table::{self, ALL};
use crate::messages::{
    Emoji, FindByShortcodeRequest, FindByShortcodeResponse, ListAllRequest, ListAllResponse,
};
use crate::rpc;
use crate::service::Service;

/// Method that lists all.
pub const LIST_ALL: &str = "ListAll";
/// Method that finds one.
pub const FIND: &str = "FindByShortcode";

/// The service; its only state is the table.
#[derive(Debug, Clone, Copy)]
pub struct EmojiService;

impl Service for EmojiService {
    const NAME: &'static str = "emojivoto.v1.EmojiService";

    fn methods() -> Vec<String> {
        vec![LIST_ALL.to_owned(), FIND.to_owned()]
    }

    async fn answer(&self, method: &str, request: Request) -> Option<Response> {
        Some(match method {
            LIST_ALL => rpc::answer(request, async |_: ListAllRequest| Ok(list())).await,
            FIND => rpc::answer(request, async |asked| Ok(find(&asked))).await,
            _ => return None,
        })
    }
}

fn message(emoji: &emoji_table::Emoji) -> Emoji {
    Emoji {
        unicode: emoji.unicode.to_owned(),
        shortcode: emoji.shortcode(),
    }
}

fn list() -> ListAllResponse {
    ListAllResponse {
        list: ALL.iter().map(message).collect(),
    }
}

fn find(asked: &FindByShortcodeRequest) -> FindByShortcodeResponse {
    let place = emoji_table::place(&asked.shortcode);
    FindByShortcodeResponse {
        emoji: place.and_then(|place| ALL.get(place)).map(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_listed_can_be_found_and_nothing_else() {
        let listed = list().list;
        assert_eq!(listed.len(), 100);
        for emoji in listed {
            let shortcode = emoji.shortcode.clone();
            assert_eq!(
                find(&FindByShortcodeRequest { shortcode }).emoji,
                Some(emoji)
            );
        }
        let shortcode = String::from(":kangaroo:");
        assert_eq!(find(&FindByShortcodeRequest { shortcode }).emoji, None);
    }
}
