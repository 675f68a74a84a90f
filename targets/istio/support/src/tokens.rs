//! Tokens of service accounts, and their review (`authentication.k8s.io/v1` TokenReview).

use std::path::Path;

use anyhow::Context;
use serde::Deserialize;
use serde_json::{Value, json};

/// Largest file of tokens: thousands of proxies.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// A token and whose it is.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Token {
    token: String,
    namespace: String,
    account: String,
    pod: String,
}

/// All accepted tokens.
#[derive(Debug, Clone, Default)]
pub struct Tokens(Vec<Token>);

impl Tokens {
    /// Reads a file of tokens.
    ///
    /// # Errors
    /// When it cannot be read or is malformed.
    pub fn read(path: &Path) -> anyhow::Result<Tokens> {
        let shown = path.display();
        let size = std::fs::metadata(path)
            .with_context(|| format!("cannot read {shown}"))?
            .len();
        anyhow::ensure!(
            size <= FILE_BYTES_MAX,
            "{shown} has {size} bytes; at most {FILE_BYTES_MAX} are read"
        );
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
        Tokens::parse(&text).with_context(|| format!("{shown} is no list of tokens"))
    }

    /// Parses a list of tokens.
    ///
    /// # Errors
    /// When it is malformed.
    pub fn parse(text: &str) -> serde_json::Result<Tokens> {
        serde_json::from_str(text).map(Tokens)
    }

    /// The review with its status: who the token belongs to, or that it is unknown.
    #[must_use]
    pub fn review(&self, mut review: Value) -> Value {
        let spec = review.get("spec").cloned().unwrap_or_default();
        let presented = spec
            .get("token")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let found = self.0.iter().find(|known| known.token == presented);
        let status = match found.filter(|_| !presented.is_empty()) {
            Some(Token {
                namespace,
                account,
                pod,
                ..
            }) => json!({
                "authenticated": true,
                "audiences": spec.get("audiences").cloned().unwrap_or_default(),
                "user": {
                    "username": format!("system:serviceaccount:{namespace}:{account}"),
                    "groups": ["system:serviceaccounts"],
                    "extra": {"authentication.kubernetes.io/pod-name": [pod]},
                },
            }),
            None => json!({"authenticated": false, "error": "unknown token"}),
        };
        if let Some(review) = review.as_object_mut() {
            review.insert(String::from("status"), status);
        }
        review
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens() -> Tokens {
        let text =
            r#"[{"token": "t1", "namespace": "tare", "account": "server", "pod": "server"}]"#;
        Tokens::parse(text).unwrap()
    }

    #[test]
    fn a_known_token_is_that_of_its_service_account() {
        let review =
            json!({"kind": "TokenReview", "spec": {"token": "t1", "audiences": ["istio-ca"]}});
        let reviewed = tokens().review(review);
        let status = &reviewed["status"];
        assert_eq!(status["authenticated"], true);
        assert_eq!(
            status["user"]["username"],
            "system:serviceaccount:tare:server"
        );
        assert_eq!(status["audiences"], json!(["istio-ca"]));
        assert_eq!(reviewed["kind"], "TokenReview");
    }

    #[test]
    fn unknown_empty_and_absent_tokens_are_refused() {
        for spec in [
            json!({"token": "t2"}),
            json!({"token": ""}),
            json!({}),
            json!(null),
            json!(7),
        ] {
            let reviewed = tokens().review(json!({"spec": spec}));
            assert_eq!(reviewed["status"]["authenticated"], false, "{reviewed}");
        }
        assert_eq!(Tokens::default().review(json!([])), json!([]));
    }
}
