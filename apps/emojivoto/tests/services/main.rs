//! The three services as processes, over real sockets; and the messages against the .proto files.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says where by panicking"
)]

mod contract;
mod rig;

use std::time::Instant;

use rig::Running;
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_vote_makes_two_calls_and_stands_on_the_leaderboard() {
    let [web, emoji, voting] = Running::all(&[]);
    for choice in [":tea:", ":rocket:", ":tea:"] {
        let (status, body) = web.get(&format!("/api/vote?choice={choice}"));
        assert_eq!((status, body.as_str()), (200, r#"{"vote":"counted"}"#));
    }
    assert_eq!(web.counted("emojivoto_calls_total", "web__emoji"), 3);
    assert_eq!(web.counted("emojivoto_calls_total", "web__voting"), 3);
    assert_eq!(
        emoji.counted("emojivoto_requests_total", "FindByShortcode"),
        3
    );
    assert_eq!(voting.counted("emojivoto_requests_total", "VoteTea"), 2);
    assert_eq!(voting.counted("emojivoto_requests_total", "VoteRocket"), 1);
    let (status, body) = web.get("/api/leaderboard");
    assert_eq!(status, 200);
    let expected = r#"[{"unicode":"🍵","shortcode":":tea:","votes":2},
        {"unicode":"🚀","shortcode":":rocket:","votes":1}]"#;
    assert_eq!(json(&body), json(expected));
}

#[test]
fn the_leaderboard_makes_one_call_and_one_more_for_every_voted_emoji() {
    let [web, emoji, voting] = Running::all(&["--votes", "1"]);
    let (status, body) = web.get("/api/leaderboard");
    assert_eq!((status, json(&body).as_array().unwrap().len()), (200, 100));
    assert_eq!(voting.counted("emojivoto_requests_total", ""), 1);
    assert_eq!(emoji.counted("emojivoto_requests_total", ""), 100);
}

#[test]
fn the_list_has_every_emoji_and_makes_one_call() {
    let [web, emoji, voting] = Running::all(&[]);
    let (status, body) = web.get("/api/list");
    assert_eq!(status, 200);
    assert_eq!(json(&body).as_array().unwrap().len(), 100);
    assert_eq!(emoji.counted("emojivoto_requests_total", "ListAll"), 1);
    assert_eq!(voting.counted("emojivoto_requests_total", ""), 0);
}

#[test]
fn both_pages_are_served_without_a_call() {
    let [web, emoji, _voting] = Running::all(&[]);
    for path in ["/", "/leaderboard"] {
        let (status, body) = web.get(path);
        assert_eq!(status, 200);
        assert!(body.starts_with("<!doctype html>"), "{body:.60}");
    }
    assert_eq!(
        web.counted("emojivoto_requests_total", "\"/leaderboard\""),
        1
    );
    assert_eq!(emoji.counted("emojivoto_requests_total", ""), 0);
}

#[test]
fn a_vote_for_what_is_not_there_is_refused_in_words() {
    let [web, _emoji, voting] = Running::all(&[]);
    let (status, body) = web.get("/api/vote?choice=:kangaroo:");
    assert_eq!(status, 404);
    assert!(body.contains("/api/list"), "{body}");
    let (status, body) = web.get("/api/vote");
    assert_eq!(status, 400);
    assert!(body.contains("choice="), "{body}");
    assert_eq!(web.counted("emojivoto_failures_total", "/api/vote"), 2);
    assert_eq!(voting.counted("emojivoto_requests_total", ""), 0);
}

#[test]
fn a_failing_service_behind_the_web_is_told_apart_from_the_web() {
    let [web, _emoji, voting] = Running::all(&["--fail-share", "0.5"]);
    let statuses: Vec<u16> = (0..4)
        .map(|_| web.get("/api/vote?choice=:fox:").0)
        .collect();
    assert_eq!(statuses, [200, 502, 200, 502]);
    assert_eq!(voting.counted("emojivoto_failures_total", "VoteFox"), 2);
    assert_eq!(web.counted("emojivoto_calls_total", "VoteFox"), 4);
}

#[test]
fn a_service_that_is_not_there_is_an_error_and_the_web_is_not_ready() {
    let emoji = Running::start("emoji", &[]);
    let at_emoji = emoji.at.to_string();
    let web = Running::start("web", &["--emoji", &at_emoji, "--voting", "127.0.0.1:1"]);
    let (status, body) = web.admin("/ready");
    assert_eq!(status, 503);
    assert!(body.contains("voting"), "{body}");
    assert_eq!(web.get("/api/vote?choice=:fox:").0, 502);
    assert_eq!(web.get("/api/list").0, 200);
}

#[test]
fn the_web_is_ready_when_both_services_say_that_they_serve() {
    let [web, emoji, _voting] = Running::all(&[]);
    assert_eq!(web.admin("/ready"), (200, "ready\n".to_owned()));
    // Probes are no requests.
    assert_eq!(emoji.counted("emojivoto_requests_total", ""), 0);
}

#[test]
fn a_delay_is_kept_and_a_call_that_takes_too_long_is_given_up() {
    let emoji = Running::start("emoji", &["--delay-us", "60000"]);
    let voting = Running::start("voting", &[]);
    let (at_emoji, at_voting) = (emoji.at.to_string(), voting.at.to_string());
    let backends = ["--emoji", &at_emoji, "--voting", &at_voting];
    let patient = Running::start("web", &backends);
    let began = Instant::now();
    assert_eq!(patient.get("/api/list").0, 200);
    assert!(began.elapsed().as_millis() >= 60);
    // An answer that is there when the caller comes to look is taken: this one comes later than any caller is held up.
    let slow = Running::start("emoji", &["--delay-us", "30000000"]);
    let at_slow = slow.at.to_string();
    let hasty = ["--emoji", &at_slow, "--voting", &at_voting];
    let hasty = Running::start("web", &[&hasty[..], &["--call-timeout", "5"]].concat());
    assert_eq!(hasty.get("/api/list").0, 504);
}

#[test]
fn a_request_under_way_is_answered_when_the_service_is_told_to_end() {
    let emoji = Running::start("emoji", &["--delay-us", "300000"]);
    let voting = Running::start("voting", &[]);
    let (at_emoji, at_voting) = (emoji.at.to_string(), voting.at.to_string());
    let mut web = Running::start("web", &["--emoji", &at_emoji, "--voting", &at_voting]);
    let mut asked = rig::send(web.at, "/api/list");
    let began = Instant::now();
    while web.counted("emojivoto_requests_total", "/api/list") == 0 {
        assert!(began.elapsed() < rig::LIMIT, "the request never came in");
    }
    assert!(web.terminate().success());
    let (status, body) = rig::read(&mut asked);
    assert_eq!((status, json(&body).as_array().unwrap().len()), (200, 100));
}

#[test]
fn more_connections_than_there_is_room_for_wait_and_are_served() {
    let emoji = Running::start("emoji", &[]);
    let at = emoji.at.to_string();
    let web = Running::start(
        "web",
        &["--emoji", &at, "--voting", &at, "--connections", "1"],
    );
    let first = std::net::TcpStream::connect(web.at).unwrap();
    let mut second = rig::send(web.at, "/");
    // The first holds the only place, so nothing can have been counted for the second.
    assert_eq!(web.counted("emojivoto_requests_total", "\"/\""), 0);
    drop(first);
    assert_eq!(rig::read(&mut second).0, 200);
}
