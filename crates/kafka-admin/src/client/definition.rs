//! Connection settings from the definition of a cluster: a named one, or that of a page.

use std::time::Duration;

use tare_experiment::clusters::{ClusterDef, ClusterSaslDef, ClusterTlsDef};
use tare_kafka::sasl::Credentials;
use tare_record::broker_address::{self, Address};
use tare_record::load::{Identity, Trust};
use tare_record::metrics_source::password;

use super::settings::{ClientSettings, Tls};

impl ClientSettings {
    /// The settings of a cluster. Its password is read here.
    ///
    /// # Errors
    /// If the mechanism is unknown, the password cannot be read, or a certificate has no key.
    pub fn of_cluster(def: &ClusterDef, request_timeout: Duration) -> Result<Self, String> {
        let defaults = ClientSettings::default();
        Ok(ClientSettings {
            tls: def.tls.as_ref().map(tls).transpose()?,
            sasl: def.sasl.as_ref().map(sasl).transpose()?,
            reach: def.allow_public_target.into(),
            connect_timeout: defaults.connect_timeout.min(request_timeout),
            request_timeout,
            ..defaults
        })
    }
}

/// The bootstrap addresses of a cluster.
///
/// # Errors
/// If one is no `HOST:PORT`.
pub fn bootstrap(def: &ClusterDef) -> Result<Vec<Address>, String> {
    broker_address::list(&def.bootstrap.join(",")).map_err(|error| error.to_string())
}

fn tls(def: &ClusterTlsDef) -> Result<Tls, String> {
    let identity = match (&def.cert, &def.key) {
        (None, None) => None,
        (Some(certificate), Some(key)) => Some(Identity {
            certificate: certificate.clone(),
            key: key.clone(),
        }),
        _ => {
            return Err(
                "a client's certificate needs its key, and the key its certificate".to_owned(),
            );
        }
    };
    Ok(Tls {
        trust: match (&def.ca, def.insecure) {
            (_, true) => Trust::Any,
            (Some(path), false) => Trust::File { path: path.clone() },
            (None, false) => Trust::System,
        },
        identity,
        server_name: def.server_name.clone(),
    })
}

fn sasl(def: &ClusterSaslDef) -> Result<Credentials, String> {
    let (env, file) = (def.password_env.as_deref(), def.password_file.as_deref());
    Ok(Credentials {
        mechanism: def.mechanism.parse()?,
        user: def.user.clone(),
        password: password(&def.user, env, file)?,
    })
}
