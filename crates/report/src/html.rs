//! A view as one self-contained HTML page: the web bundle with the view as JSON.

use tare_record::view::View;

/// The built page, with a placeholder for the data.
const BUNDLE: &str = include_str!("../../../web/dist/report.html");

/// The placeholder in the bundle.
const PLACEHOLDER: &str = "@@TARE_VIEW_JSON@@";

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum HtmlError {
    /// The bundle does not have exactly one placeholder.
    #[error("the page has {0} places for its data instead of one: build web/ again")]
    Placeholder(usize),
    /// The view cannot be serialised.
    #[error("the view cannot be written: {0}")]
    Json(#[from] serde_json::Error),
}

/// The view as an HTML page that needs no network.
///
/// # Errors
/// When the bundle does not have exactly one placeholder, or the view cannot be serialised.
pub fn html(view: &View) -> Result<String, HtmlError> {
    match BUNDLE.matches(PLACEHOLDER).count() {
        1 => Ok(BUNDLE.replacen(PLACEHOLDER, &embedded(&serde_json::to_string(view)?), 1)),
        places => Err(HtmlError::Placeholder(places)),
    }
}

/// JSON that is safe inside a script element. The escapes are valid inside JSON strings, and outside of them none of these
/// characters occurs.
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
        assert_eq!(BUNDLE.matches(PLACEHOLDER).count(), 1);
    }
}
