//! Tests of the problems reported for target files.

use super::*;
use serde_json::json;

const GOOD: &str = r#"
target: fast-proxy
about: A proxy
get:
  - path: fast-proxy
version: {command: ["{{ bin }}", -v], pattern: 'version (\S+)'}
roles: [sidecar]
protocols: [http1]
settings:
  workers: {default: 1, about: Threads}
  mode: {default: small, about: Mode, one_of: [small, large]}
start: ["{{ bin }}"]
ready: {tcp: "{{ listen }}", timeout: 5s}
counters:
  - name: requests
    from: {prometheus: {url: "http://{{ admin }}/m", metric: total, where: {a: b}}}
"#;

fn read(text: &str) -> Result<TargetDef, Problems> {
    TargetDef::from_yaml(text, Path::new("t/target.yaml"))
}

fn complaint(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "the test replaces nothing");
    read(&GOOD.replace(from, to)).unwrap_err().to_string()
}

#[test]
fn a_definition_survives_being_written_and_read_again() {
    let def = read(GOOD).unwrap();
    let again: TargetDef = serde_json::from_value(serde_json::to_value(&def).unwrap()).unwrap();
    assert_eq!(def, again);
    assert_eq!(def.ready.timeout.0.as_secs(), 5);
}

#[test]
fn an_unknown_key_is_told_with_its_place_and_the_nearest_one() {
    let said = complaint("protocols:", "protocls:");
    assert!(said.starts_with("t/target.yaml:8:1: "), "{said}");
    assert!(said.contains("did you mean \"protocols\"?"), "{said}");
}

#[test]
fn a_target_that_carries_traffic_has_protocols_and_a_control_plane_needs_none() {
    let said = complaint("protocols: [http1]\n", "");
    assert!(said.contains("it has no protocols"), "{said}");
    let control_plane = GOOD.replace("protocols: [http1]\n", "");
    read(&control_plane.replace("[sidecar]", "[control-plane]")).unwrap();
}

#[test]
fn a_target_has_no_capability_of_keepers() {
    let start = "start: [\"{{ bin }}\"]";
    for capability in ["SETUID", "CHOWN", "DAC_OVERRIDE", "KILL"] {
        let said = complaint(start, &format!("{start}\ncapabilities: [{capability}]"));
        assert!(said.contains("unknown word"), "{said}");
    }
    let allowed = format!("{start}\ncapabilities: [NET_BIND_SERVICE, SETGID]");
    read(&GOOD.replace(start, &allowed)).unwrap();
}

#[test]
fn an_unknown_role_is_told_with_the_nearest_one() {
    let said = complaint("[sidecar]", "[sidecart]");
    assert!(said.starts_with("t/target.yaml:7:"), "{said}");
    assert!(said.contains("did you mean \"sidecar\"?"), "{said}");
}

#[test]
fn an_unknown_counter_is_told_with_the_nearest_one_unless_it_is_marked_as_ones_own() {
    let said = complaint("name: requests", "name: request");
    assert!(said.starts_with("t/target.yaml:15:"), "{said}");
    assert!(said.contains("did you mean \"requests\"?"), "{said}");
    assert!(read(&GOOD.replace("name: requests", "name: x-request")).is_ok());
}

#[test]
fn a_probe_must_be_exactly_one_and_limited() {
    assert!(complaint("tcp: \"{{ listen }}\", ", "").contains("exactly one of"));
    assert!(complaint("timeout: 5s", "log: x, timeout: 5s").contains("exactly one of"));
    assert!(complaint("timeout: 5s", "service: a.B, timeout: 5s").contains("belongs to `grpc`"));
    let asked = GOOD.replace(
        "tcp: \"{{ listen }}\"",
        "grpc: \"{{ listen }}\", service: a.B",
    );
    assert_eq!(read(&asked).unwrap().ready.service.as_deref(), Some("a.B"));
    assert!(complaint("timeout: 5s", "timeout: 0s").contains("invalid timeout 0"));
    assert!(complaint(", timeout: 5s", "").contains("timeout"));
}

#[test]
fn a_control_plane_is_refused_for_now() {
    let said = complaint("about: A proxy", "about: A\nkind: control-plane");
    assert!(said.contains("unknown key \"kind\""), "{said}");
}

#[test]
fn settings_are_defaults_with_later_ones_over_earlier_ones() {
    let def = read(GOOD).unwrap();
    let first = Settings::from([
        ("workers".to_owned(), json!(2)),
        ("mode".to_owned(), json!("large")),
    ]);
    let second = Settings::from([("workers".to_owned(), json!(3))]);
    let all = def.settings_with(&[&first, &second]).unwrap();
    assert_eq!(all["workers"], json!(3));
    assert_eq!(all["mode"], json!("large"));
}

#[test]
fn a_setting_that_takes_text_says_which() {
    let free = "mode: {default: small, about: Mode}";
    let said = complaint(
        "mode: {default: small, about: Mode, one_of: [small, large]}",
        free,
    );
    assert!(
        said.starts_with("t/target.yaml:11:3: `mode` takes any text"),
        "{said}"
    );
    let with = |pattern: &str, default: &str| {
        let own = format!("mode: {{default: {default}, about: Mode, pattern: '{pattern}'}}");
        read(&GOOD.replace(
            "mode: {default: small, about: Mode, one_of: [small, large]}",
            &own,
        ))
    };
    assert!(
        with("[a-z", "small")
            .unwrap_err()
            .to_string()
            .contains("is none")
    );
    assert!(
        with("[a-z]+", "Small")
            .unwrap_err()
            .to_string()
            .contains("the default of `mode` must be")
    );
    let def = with("[a-z]+|[0-9]", "[small, one]").unwrap();
    let set = |value: Value| def.settings_with(&[&Settings::from([("mode".to_owned(), value)])]);
    assert!(set(json!(["b", "9"])).is_ok());
    for bad in [
        json!(["b", "B"]),
        json!(["b9"]),
        json!(["b\n"]),
        json!([["b", {"x y": 1}]]),
        json!("b"),
    ] {
        assert!(set(bad.clone()).is_err(), "{bad}");
    }
}

#[test]
fn a_setting_that_does_not_exist_or_fit_is_refused_with_the_way_out() {
    let def = read(GOOD).unwrap();
    let set = |name: &str, value: Value| {
        def.settings_with(&[&Settings::from([(name.to_owned(), value)])])
            .unwrap_err()
            .to_string()
    };
    assert!(set("worker", json!(2)).contains("did you mean \"workers\"?"));
    assert!(set("colour", json!(2)).contains("known are mode and workers"));
    assert!(set("workers", json!("two")).contains("must be a whole number, not \"two\""));
    assert!(set("workers", json!(1.5)).contains("must be a whole number"));
    assert!(set("mode", json!("tiny")).contains("one of \"small\", \"large\""));
}

#[test]
fn counters_of_beans_need_to_be_told_how_beans_are_asked() {
    let jmx = GOOD.replace(
        "    from: {prometheus: {url: \"http://{{ admin }}/m\", metric: total, where: {a: b}}}\n",
        "    from: {jmx: {bean: \"a:type=B\", attribute: Count}}\njmx: {jolokia: x, sign: requests, remote: [java], exported: [{bean: 'a', attribute: Count, metric: m}]}\n",
    );
    assert!(read(&jmx).is_ok(), "{:?}", read(&jmx));
    for (from, to, said) in [
        ("a:type=B", "a", "DOMAIN:KEY=VALUE"),
        (
            "sign: requests",
            "sign: request",
            "did you mean \"requests\"?",
        ),
        ("remote: [java]", "remote: []", "the list is empty"),
        ("bean: 'a'", "bean: '('", "invalid pattern"),
        ("metric: m", "metric: m, scale: 0", "above 0"),
    ] {
        assert!(jmx.contains(from), "the test replaces nothing: {from}");
        let error = read(&jmx.replace(from, to)).unwrap_err().to_string();
        assert!(error.contains(said), "{from}: {error}");
    }
    let without = jmx.split("jmx: {jolokia").next().unwrap();
    let error = read(without).unwrap_err().to_string();
    assert!(error.contains("no `jmx` that says how"), "{error}");
}
