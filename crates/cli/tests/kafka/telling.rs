//! Ways in which the brokers of the bed tell their metrics besides Jolokia: JMX remote, and a Prometheus exporter with rules and without.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tare_lab::fetch::Fetcher;
use tare_lab::targets::Target;

/// An address that leads nowhere; what brokers say of where their JMX is.
pub const ELSEWHERE: &str = "203.0.113.7";
pub const USER: &str = "watcher";
pub const PASSWORD: &str = "watcher-secret";

/// Rules as they are usual for Kafka: those that `tare kafka metrics` has to know by their metrics.
const RULES: &str = r#"
lowercaseOutputName: true
rules:
- {pattern: 'kafka.(\w+)<type=(.+), name=(.+)PerSec\w*, topic=(.+)><>Count', name: kafka_$1_$2_$3_total, type: COUNTER, labels: {topic: "$4"}}
- {pattern: 'kafka.(\w+)<type=(.+), name=(.+)PerSec\w*><>Count', name: kafka_$1_$2_$3_total, type: COUNTER}
- {pattern: 'kafka.(\w+)<type=(.+), name=(.+)><>Value', name: kafka_$1_$2_$3, type: GAUGE}
- {pattern: 'kafka.(\w+)<type=(.+), name=(.+), request=(.+)><>Count', name: kafka_$1_$2_$3_count, type: COUNTER, labels: {request: "$4"}}
- {pattern: 'kafka.(\w+)<type=(.+), name=(.+), request=(.+)><>(\d+)thPercentile', name: kafka_$1_$2_$3, type: GAUGE, labels: {request: "$4", quantile: "0.$5"}}
- {pattern: 'kafka.(\w+)<type=(.+), name=(.+)><>Count', name: kafka_$1_$2_$3_count, type: COUNTER}
"#;

/// Where each broker tells what. The first has an exporter with rules, the second one without, the third asks for a password.
pub struct Telling {
    pub jmx: Vec<SocketAddr>,
    pub exporters: Vec<SocketAddr>,
    agent: String,
    folder: tempfile::TempDir,
}

impl Telling {
    /// Ports, files and the exporter, which is fetched once.
    pub fn new() -> Telling {
        let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kafka/jmx-exporter");
        let target = Target::load(&target).unwrap();
        let software = Fetcher::from_env()
            .and_then(|fetcher| fetcher.provide(&target, &mut |_| ()))
            .unwrap();
        let jar = format!("jmx_prometheus_javaagent-{}.jar", software.version.version);
        // Held until all are known, so that they differ. Brokers listen there only later: on 127.0.0.1 somebody else's connection might
        // have got the port meanwhile.
        let held: Vec<TcpListener> = (0..5)
            .map(|_| TcpListener::bind("127.0.0.2:0").unwrap())
            .collect();
        let mut at = held.iter().map(|one| one.local_addr().unwrap());
        let telling = Telling {
            jmx: at.by_ref().take(3).collect(),
            exporters: at.collect(),
            agent: software.bin.join("jars").join(jar).display().to_string(),
            folder: tempfile::tempdir().unwrap(),
        };
        let write = |name: &str, text: &str| {
            let path = telling.folder.path().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        };
        write("rules.yaml", RULES);
        write("none.yaml", "{}\n");
        write("password", &format!("{USER} {PASSWORD}\n"));
        write("access", &format!("{USER} readonly\n"));
        telling
    }

    /// The environment of a broker.
    pub fn env(&self, number: u32) -> Vec<(String, String)> {
        let at = usize::try_from(number).unwrap() - 1;
        let file = |name: &str| self.folder.path().join(name).display().to_string();
        let jmx = self.jmx[at];
        let mut words = vec![
            format!("-Dcom.sun.management.jmxremote.host={}", jmx.ip()),
            format!("-Dcom.sun.management.jmxremote.port={}", jmx.port()),
            format!("-Dcom.sun.management.jmxremote.rmi.port={}", jmx.port()),
            "-Dcom.sun.management.jmxremote.ssl=false".to_owned(),
            format!("-Djava.rmi.server.hostname={ELSEWHERE}"),
        ];
        match self.exporters.get(at) {
            Some(exporter) => {
                let config = file(["rules.yaml", "none.yaml"][at]);
                words.push("-Dcom.sun.management.jmxremote.authenticate=false".to_owned());
                words.push(format!("-javaagent:{}={exporter}:{config}", self.agent));
            }
            None => {
                let key = "-Dcom.sun.management.jmxremote";
                words.push(format!("{key}.password.file={}", file("password")));
                words.push(format!("{key}.access.file={}", file("access")));
            }
        }
        vec![("JAVA_TOOL_OPTIONS".to_owned(), words.join(" "))]
    }
}
