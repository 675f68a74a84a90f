//! Tests of rendering an instance's files and commands.

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use serde_json::json;
use tare_record::topology::{InstanceRole, Security, Settings};

use super::*;

const DEFINITION: &str = r#"
target: t
about: A test
get: [{path: t}]
version: {command: ["{{ bin }}"], pattern: '(\d+)'}
roles: [sidecar]
protocols: [http1]
settings:
  mode: {default: small, about: Mode, pattern: '[a-z]+'}
  extra: {default: false, about: Extra}
render: {"conf/t.conf": t.conf.j2}
start: ["{{ bin }}", "{% if settings.extra %}--extra{% endif %}", -c, "{{ dir }}/conf/t.conf"]
env: {MODE: "{{ settings.mode }}"}
ready: {http: "http://{{ admin }}/ready", timeout: 5s}
counters:
  - {name: requests, from: {json: {url: "http://{{ admin }}/x", pointer: "/edges/{{ edge }}/n"}}}
  - {name: connections, from: {log: {file: t.log, pattern: 'x{2}'}}}
"#;

/// A target folder in a temporary place, removed at the end.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new(template: &str) -> Folder {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("t");
        fs::create_dir(&target).unwrap();
        fs::write(target.join("target.yaml"), DEFINITION).unwrap();
        fs::write(target.join("t.conf.j2"), template).unwrap();
        Folder(folder)
    }

    fn render(&self, context: &Context) -> Result<Rendered, LabError> {
        render(&Target::load(&self.0.path().join("t"))?, context)
    }
}

fn context() -> Context {
    let address = IpAddr::V4(Ipv4Addr::new(127, 0, 1, 2));
    Context {
        name: "server-sidecar".to_owned(),
        role: InstanceRole::Sidecar,
        pod: "server".to_owned(),
        bin: PathBuf::from("/bin/t"),
        dir: PathBuf::from("/run/t"),
        log: PathBuf::from("/run/t/output.log"),
        address,
        admin: SocketAddr::new(address, 15_000),
        admin_socket: PathBuf::from("/run/1.a0"),
        login: Login::random().unwrap(),
        ports: BTreeMap::new(),
        memory: Some(PathBuf::from("/memory/t")),
        programs: BTreeMap::new(),
        redirect: None,
        mesh: None,
        ca: None,
        exempt: None,
        cpus: vec![0],
        settings: Settings::new(),
        workload: Settings::new(),
        identity: None,
        routes: vec![RouteContext {
            edge: "client->server".to_owned(),
            id: edge_id("client->server"),
            from: "client".to_owned(),
            protocol: "http1".to_owned(),
            edge_security: Security::Plaintext,
            service: "server".to_owned(),
            hostname: None,
            listen: Some(Listen {
                address,
                port: 8080,
                security: Security::Plaintext,
                peer_identity: None,
                peer_identities: Vec::new(),
                redirected: None,
                redirect_port: None,
            }),
            upstream: None,
            advertise: None,
        }],
        peers: Vec::new(),
    }
}

#[test]
fn everything_a_target_says_is_filled_in() {
    let folder = Folder::new(
        "{% for route in routes if route.listen %}\nlisten {{ listen }} {{ route.id }}\n{% endfor %}\n",
    );
    let rendered = folder.render(&context()).unwrap();
    assert_eq!(rendered.files[0].name, "conf/t.conf");
    assert_eq!(
        rendered.files[0].text,
        "listen 127.0.1.2:8080 client__server\n"
    );
    assert_eq!(rendered.start, ["/bin/t", "-c", "/run/t/conf/t.conf"]);
    assert_eq!(rendered.env, [("MODE".to_owned(), "small".to_owned())]);
    assert_eq!(
        rendered.probe,
        ReadinessProbe::Http("http://127.0.1.2:15000/ready".to_owned())
    );
    let CounterSource::Json(json) = &rendered.counters[0].source else {
        panic!("not JSON")
    };
    assert_eq!(json.pointer, "/edges/client__server/n");
    assert_eq!(rendered.counters[0].edge.as_deref(), Some("client->server"));
    let CounterSource::Log(log) = &rendered.counters[1].source else {
        panic!("not a log")
    };
    assert_eq!(log.file, "/run/t/t.log");
    assert_eq!(log.pattern, "x{2}", "patterns are no templates");
}

#[test]
fn a_counter_whose_label_is_a_template_is_read_once_for_each_route_that_has_it() {
    let folder = Folder::new("");
    let file = folder.0.path().join("t/target.yaml");
    let more = r#"
  - {name: bytes-sent, from: {prometheus: {url: "http://{{ admin }}/m", metric: sent, where: {to: "{% if route.listen %}in|{{ route.listen.port }}{% endif %}"}}}}
  - {name: bytes-received, from: {prometheus: {url: "http://{{ admin }}/m", metric: got, where: {to: "{% if not route.listen %}out{% endif %}"}}}}
"#;
    fs::write(&file, DEFINITION.to_owned() + more.trim_start_matches('\n')).unwrap();
    let counters = folder.render(&context()).unwrap().counters;
    let [sent] = &counters[2..] else {
        panic!("{counters:?}");
    };
    assert_eq!(sent.edge.as_deref(), Some("client->server"));
    let CounterSource::Prometheus(from) = &sent.source else {
        panic!("{sent:?}");
    };
    assert_eq!(from.only["to"], "in|8080");
}

#[test]
fn routes_of_one_edge_with_the_same_labels_share_a_counter() {
    let folder = Folder::new("");
    let file = folder.0.path().join("t/target.yaml");
    let more = r#"
  - {name: bytes-sent, from: {prometheus: {url: "http://{{ admin }}/m", metric: sent, where: {to: "in|{{ route.listen.port }}"}}}}
"#;
    fs::write(&file, DEFINITION.to_owned() + more.trim_start_matches('\n')).unwrap();
    let mut context = context();
    let second = context.routes[0].clone();
    context.routes.push(second);
    let counters = |context: &Context| folder.render(context).unwrap().counters.len();
    let of_one = counters(&context);
    context.routes[1].listen.as_mut().unwrap().port = 8081;
    assert_eq!(counters(&context), of_one + 1);
}

#[test]
fn a_word_of_a_command_that_renders_to_nothing_is_left_out() {
    let folder = Folder::new("");
    let mut context = context();
    context.settings = Settings::from([("extra".to_owned(), json!(true))]);
    assert_eq!(folder.render(&context).unwrap().start[1], "--extra");
}

#[test]
fn an_unknown_name_in_a_template_is_told_with_file_and_line() {
    let folder = Folder::new("one\ntwo {{ settings.mood }}\n");
    let said = folder.render(&context()).unwrap_err().to_string();
    assert!(said.contains("t/t.conf.j2:2: "), "{said}");
    assert!(said.contains("settings.mood"), "{said}");
}

#[test]
fn a_template_that_does_not_parse_is_told_with_file_and_line() {
    let folder = Folder::new("one\ntwo\n{% if %}\n");
    let said = folder.render(&context()).unwrap_err().to_string();
    assert!(said.contains("t/t.conf.j2:3: "), "{said}");
}

#[test]
fn templates_may_include_others_of_their_folder_only() {
    let folder = Folder::new("{% include '../secret' %}");
    fs::write(folder.0.path().join("secret"), "secret").unwrap();
    let said = folder.render(&context()).unwrap_err().to_string();
    assert!(said.contains("non-existing template"), "{said}");
    let folder = Folder::new("{% include 'part.j2' %}");
    fs::write(folder.0.path().join("t/part.j2"), "part of {{ name }}").unwrap();
    let rendered = folder.render(&context()).unwrap();
    assert_eq!(rendered.files[0].text, "part of server-sidecar");
}

#[test]
fn a_setting_that_the_target_does_not_have_stops_the_rendering() {
    let folder = Folder::new("");
    let mut context = context();
    context.settings = Settings::from([("mod".to_owned(), json!("large"))]);
    let said = folder.render(&context).unwrap_err().to_string();
    assert!(said.contains("did you mean \"mode\"?"), "{said}");
}

#[test]
fn rendered_files_are_written_with_the_folders_they_need() {
    let folder = Folder::new("text");
    let place = tempfile::tempdir().unwrap();
    let mut context = context();
    context.dir = place.path().to_owned();
    folder.render(&context).unwrap().write().unwrap();
    let written = fs::read_to_string(place.path().join("conf/t.conf")).unwrap();
    assert_eq!(written, "text");
    assert!(Path::new(&context.dir).is_dir());
}

#[test]
fn ids_of_edges_are_fit_for_names() {
    assert_eq!(edge_id("client->server"), "client__server");
    assert_eq!(edge_id("*->database"), "any__database");
    assert_eq!(edge_id("a.b->c-d"), "a_b__c-d");
}

#[test]
fn what_a_template_sees_begins_no_line_of_its_own() {
    let folder = Folder::new("{{ name }} {{ pod }}");
    type Change = fn(&mut Context);
    let changes: [Change; 5] = [
        |context| context.name.push('\n'),
        |context| context.pod.push('\r'),
        |context| context.routes[0].service.push('\u{2028}'),
        |context| context.routes[0].edge.push('\0'),
        |context| {
            let text = json!(["a", {"b\nc": 1}]);
            context.workload = Settings::from([("list".to_owned(), text)]);
        },
    ];
    for change in changes {
        let mut context = context();
        change(&mut context);
        let said = folder.render(&context).unwrap_err().to_string();
        assert!(said.contains("control character"), "{said}");
    }
}

#[test]
fn a_password_is_written_for_this_user_alone_and_never_into_a_command() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("password={{ login.password }}\n");
    let place = tempfile::tempdir().unwrap();
    let mut context = context();
    context.dir = place.path().to_owned();
    let rendered = folder.render(&context).unwrap();
    rendered.write().unwrap();
    let path = place.path().join("conf/t.conf");
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = fs::read_to_string(path).unwrap();
    assert_eq!(text, format!("password={}\n", context.login.password));
    let target = folder.0.path().join("t/target.yaml");
    for (from, to) in [
        ("start: [", "start: [\"-p={{ login.password }}\", "),
        (
            "env: {MODE: ",
            "env: {PASSWORD: \"{{ login.password }}\", MODE: ",
        ),
        (
            "start: [",
            "prepare: [{name: x, command: [\"{{ login.password }}\"]}]\nstart: [",
        ),
    ] {
        fs::write(&target, DEFINITION.replace(from, to)).unwrap();
        let said = folder.render(&context).unwrap_err().to_string();
        assert!(said.contains("others can read"), "{said}");
    }
}

#[test]
fn a_command_that_runs_with_our_rights_is_no_file_that_the_software_can_replace() {
    let folder = Folder::new("");
    let target = folder.0.path().join("t/target.yaml");
    let counter = "counters:\n  - {name: connections, from: {command: {command: [sh, \"{{ dir }}/x.sh\"], pattern: '(?<value>\\d+)'}}}\n";
    for (from, to) in [
        ("counters:\n", counter),
        (
            "ready: {http: \"http://{{ admin }}/ready\"",
            "ready: {command: [sh, \"{{ dir }}/x.sh\"]",
        ),
    ] {
        let text = DEFINITION.replace(from, to);
        assert_ne!(text, DEFINITION);
        fs::write(&target, text).unwrap();
        let said = folder.render(&context()).unwrap_err().to_string();
        assert!(said.contains("can replace"), "{said}");
    }
}
