//! Load on a topic of a cluster of the list: the addresses, TLS and login of `tare load` from the cluster's settings.

use std::ffi::OsString;

use tare_kafka_admin::api::ClusterOrigin;
use tare_record::api::{KafkaLoadMode, KafkaLoadRequest};
use tare_record::metrics_source::password;

use super::Kafka;
use crate::children::PreparedStart;
use crate::error::{Refusal, Reply};

/// Schemes of a URL with brokers and a topic.
const PLAIN: &str = "kafka://";
const TLS: &str = "kafka+tls://";

/// Words of a load on a topic.
pub struct KafkaLoad {
    pub url: String,
    pub arguments: Vec<OsString>,
}

/// Whether a URL names a topic.
pub fn is_topic(url: &str) -> bool {
    url.starts_with(PLAIN) || url.starts_with(TLS)
}

impl Kafka {
    /// The load on the topic that a URL names.
    pub fn load(
        &self,
        url: &str,
        request: &KafkaLoadRequest,
        prepared: &PreparedStart,
    ) -> Reply<KafkaLoad> {
        let mut load = KafkaLoad {
            url: url.to_owned(),
            arguments: Vec::new(),
        };
        match request.mode {
            KafkaLoadMode::Produce => {}
            KafkaLoadMode::Consume => load.arguments.push("--consume".into()),
            KafkaLoadMode::EndToEnd => load.arguments.push("--end-to-end".into()),
        }
        if let Some(acks) = &request.acks {
            if !["0", "1", "all"].contains(&acks.as_str()) {
                return Err(Refusal::invalid("acks: 0, 1 or all"));
            }
            load.arguments.push(format!("--acks={acks}").into());
        }
        if let Some(group) = &request.group {
            if group.is_empty() || group.chars().any(char::is_control) {
                return Err(Refusal::invalid(
                    "the consumer group is empty or has control characters",
                ));
            }
            load.arguments.push(format!("--group={group}").into());
        }
        let Some(name) = &request.cluster else {
            return Ok(load);
        };
        let entry = self.definitions.find(name)?;
        let changes = request.mode != KafkaLoadMode::Consume || request.group.is_some();
        if entry.definition.read_only && changes {
            return Err(Refusal::forbidden(format!(
                "cluster {name} is read-only here: consume without a group"
            )));
        }
        if entry.origin == ClusterOrigin::TestBed {
            return Err(Refusal::invalid(
                "the brokers of a test bed are in networks of their own: `tare lab exec POD` runs `tare load` there",
            ));
        }
        let topic = url.rsplit('/').next().unwrap_or_default();
        let scheme = match entry.definition.cluster.tls {
            Some(_) => TLS,
            None => PLAIN,
        };
        load.url = format!(
            "{scheme}{}/{topic}",
            entry.definition.cluster.bootstrap.join(",")
        );
        if let Some(tls) = &entry.definition.cluster.tls {
            if tls.server_name.is_some() {
                return Err(Refusal::invalid(
                    "the certificates of this cluster are for another name, which a load cannot expect: name the brokers as in their certificates",
                ));
            }
            for (flag, file) in [
                ("--cacert", &tls.ca),
                ("--cert", &tls.cert),
                ("--key", &tls.key),
            ] {
                if let Some(file) = file {
                    load.arguments.push(format!("{flag}={file}").into());
                }
            }
            if tls.insecure {
                load.arguments.push("--insecure".into());
            }
        }
        if let Some(sasl) = &entry.definition.cluster.sasl {
            let (env, file) = (sasl.password_env.as_deref(), sasl.password_file.as_deref());
            let secret = password(&sasl.user, env, file).map_err(Refusal::invalid)?;
            // In a file: other users can see a command line and an environment.
            let file = prepared.write_secret("sasl", &secret)?;
            let words = [
                format!("--sasl-user={}", sasl.user),
                format!("--sasl-mechanism={}", sasl.mechanism),
                format!("--sasl-password-file={}", file.display()),
            ];
            load.arguments.extend(words.map(OsString::from));
        }
        if entry.definition.cluster.allow_public_target {
            load.arguments.push("--allow-public-target".into());
        }
        Ok(load)
    }
}
