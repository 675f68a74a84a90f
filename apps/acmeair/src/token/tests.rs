//! Tokens that are good, and every way in which one is not.

use axum::http::HeaderValue;

use super::*;
use crate::signing;

fn issuer() -> Issuer {
    signing::install();
    Issuer::new(SHIPPED_KEY).unwrap()
}

fn other_issuer() -> Issuer {
    Issuer::new(include_bytes!("../../keys/other.der")).unwrap()
}

fn keys(of: &Issuer) -> Keys {
    Keys::new(std::slice::from_ref(&of.public))
}

#[test]
fn what_is_no_key_is_refused() {
    assert!(Issuer::new(b"no key").is_err());
}

/// A token with another part in place of one of its three.
fn with_part(token: &str, at: usize, part: &str) -> String {
    let mut parts: Vec<&str> = token.split('.').collect();
    parts[at] = part;
    parts.join(".")
}

#[test]
fn a_token_says_who_is_logged_in() {
    let issuer = issuer();
    let token = issuer.token("uid1@email.com", now_s()).unwrap();
    assert_eq!(keys(&issuer).subject(&token).unwrap(), "uid1@email.com");
}

#[test]
fn an_expired_token_is_refused() {
    let issuer = issuer();
    let token = issuer
        .token("uid1@email.com", now_s() - LIFE.as_secs() - 2)
        .unwrap();
    let bad = keys(&issuer).subject(&token).unwrap_err();
    assert!(bad.to_string().contains("Expired"), "{bad}");
}

#[test]
fn a_token_of_another_issuer_is_signed_by_an_unknown_key() {
    let token = issuer().token("uid1@email.com", now_s()).unwrap();
    assert_eq!(
        keys(&other_issuer()).subject(&token),
        Err(TokenError::UnknownKey)
    );
}

#[test]
fn a_forged_token_is_refused() {
    let (issuer, forger) = (issuer(), other_issuer());
    let keys = keys(&issuer);
    let token = issuer.token("uid1@email.com", now_s()).unwrap();
    let other = issuer.token("uid2@email.com", now_s()).unwrap();
    let claims = other.split('.').nth(1).unwrap();
    let none = URL_SAFE_NO_PAD.encode(format!(r#"{{"alg":"none","kid":"{}"}}"#, issuer.public.kid));
    let mut header = Header::new(Algorithm::RS256);
    header.kid = Some(issuer.public.kid.clone());
    let fields = Claims {
        iss: ISSUER.to_owned(),
        sub: "uid1@email.com".to_owned(),
        iat: now_s(),
        exp: now_s() + 60,
        groups: Vec::new(),
    };
    let forged = [
        // Another subject under the old signature.
        with_part(&token, 1, claims),
        // The right name of the key, but the signature of another.
        jsonwebtoken::encode(&header, &fields, &forger.key).unwrap(),
        // No signature, by an algorithm that asks for none.
        with_part(&with_part(&token, 0, &none), 2, ""),
        with_part(&token, 2, ""),
        "a.b.c".to_owned(),
        String::new(),
        "x".repeat(TOKEN_MAX + 1),
    ];
    for token in forged {
        assert!(
            matches!(keys.subject(&token), Err(TokenError::Refused(_))),
            "{token:.80}"
        );
    }
}

#[test]
fn a_token_signed_with_the_public_key_as_a_secret_is_refused() {
    let issuer = issuer();
    let header = URL_SAFE_NO_PAD.encode(format!(
        r#"{{"alg":"HS256","kid":"{}"}}"#,
        issuer.public.kid
    ));
    let token = with_part(
        &issuer.token("uid1@email.com", now_s()).unwrap(),
        0,
        &header,
    );
    let bad = keys(&issuer).subject(&token).unwrap_err();
    assert_eq!(bad, TokenError::Refused("not RS256".to_owned()));
}

#[test]
fn a_token_is_found_in_header_or_cookie() {
    let mut headers = HeaderMap::new();
    headers.insert(
        header::COOKIE,
        HeaderValue::from_static("a=b; Bearer=from-cookie; c=d"),
    );
    assert_eq!(of(&headers), Some("from-cookie"));
    headers.insert(
        header::AUTHORIZATION,
        HeaderValue::from_static("Bearer from-header"),
    );
    assert_eq!(of(&headers), Some("from-header"));
    let mut empty = HeaderMap::new();
    empty.insert(header::COOKIE, HeaderValue::from_static("Bearer="));
    assert_eq!(of(&empty), None);
}
