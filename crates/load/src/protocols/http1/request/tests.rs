//! Which requests are valid, and how they are encoded.

use super::*;

fn spec(method: &str, path: &str) -> RequestSpec {
    RequestSpec {
        name: "r".into(),
        weight: 1.0,
        method: method.into(),
        path: path.into(),
        headers: Vec::new(),
        body: Body::None,
        template: Default::default(),
        expect: Expect {
            status: ExpectStatus::Success,
            body: ExpectBody::Any,
        },
    }
}

fn text(spec: &RequestSpec) -> String {
    String::from_utf8(Prepared::new(spec, "here:80").unwrap().bytes.into_vec()).unwrap()
}

#[test]
fn a_request_has_host_headers_and_the_length_of_its_body() {
    let mut post = spec("POST", "/a?b=c");
    post.headers.push(("X-One".into(), "1".into()));
    post.body = Body::Filler { bytes: 28 };
    let sent = text(&post);
    assert!(
        sent.starts_with("POST /a?b=c HTTP/1.1\r\nHost: here:80\r\n"),
        "{sent}"
    );
    assert!(sent.contains("\r\nX-One: 1\r\n"));
    assert!(sent.ends_with("Content-Length: 28\r\n\r\nabcdefghijklmnopqrstuvwxyzab"));
    assert!(!text(&spec("GET", "/")).contains("Content-Length"));
}

#[test]
fn a_host_header_of_the_user_replaces_ours() {
    let mut get = spec("GET", "/");
    get.headers.push(("host".into(), "there".into()));
    assert_eq!(text(&get).matches("ost: ").count(), 1);
}

#[test]
fn nothing_in_a_plan_can_smuggle_a_second_request() {
    let bad = |spec: &RequestSpec| Prepared::new(spec, "h").unwrap_err();
    assert!(matches!(bad(&spec("GET /", "/")), RequestError::Method(_)));
    assert!(matches!(
        bad(&spec("GET", "/ HTTP/1.1\r\nX: y")),
        RequestError::Path(_)
    ));
    assert!(matches!(bad(&spec("GET", "a")), RequestError::Path(_)));
    assert!(matches!(bad(&spec("CONNECT", "/")), RequestError::Connect));
    let with = |name: &str, value: &str| {
        let mut spec = spec("GET", "/");
        spec.headers.push((name.into(), value.into()));
        spec
    };
    assert!(matches!(
        bad(&with("a b", "c")),
        RequestError::HeaderName(_)
    ));
    assert!(matches!(
        bad(&with("a", "b\r\nc: d")),
        RequestError::HeaderValue(_)
    ));
    assert!(matches!(
        bad(&with("Content-Length", "5")),
        RequestError::Framing(_)
    ));
}
