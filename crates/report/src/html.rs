//! A view as one self-contained page: the web bundle with the view inside it.

use tare_schema::view::View;

/// The built page, with a place for the data.
const BUNDLE: &str = include_str!("../../../web/dist/report.html");

/// What stands in the bundle where the data goes.
const PLACE: &str = "@@TARE_VIEW_JSON@@";

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum HtmlError {
    /// The bundle is not the one this code knows.
    #[error("the page has {0} places for its data instead of one: build web/ again")]
    Place(usize),
    /// The view is no JSON.
    #[error("the view cannot be written: {0}")]
    Json(#[from] serde_json::Error),
}

/// The view as an HTML page that needs no network.
///
/// # Errors
/// When the bundle in the repository is broken.
pub fn html(view: &View) -> Result<String, HtmlError> {
    match BUNDLE.matches(PLACE).count() {
        1 => Ok(BUNDLE.replacen(PLACE, &embedded(&serde_json::to_string(view)?), 1)),
        places => Err(HtmlError::Place(places)),
    }
}

/// JSON that no HTML or script parser can take for anything else. Escapes are valid inside JSON strings, and outside of them
/// none of these characters occurs.
fn embedded(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                text.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_end_its_element_and_reads_back_the_same() {
        let nasty = serde_json::json!({"a": "</script><!-- \u{2028} & 'x' \u{1F600}"});
        let text = embedded(&nasty.to_string());
        assert!(!text.contains(['<', '>', '&', '\u{2028}']));
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap(),
            nasty
        );
    }

    #[test]
    fn the_bundle_has_exactly_one_place_for_the_data() {
        assert_eq!(BUNDLE.matches(PLACE).count(), 1);
    }
}
