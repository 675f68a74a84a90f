//! Connects to a cluster by name or by address.

use std::str::FromStr;
use std::time::Duration;

use tare_experiment::clusters::{ClusterDef, ClusterSaslDef, ClusterTlsDef};
use tare_kafka::sasl::Mechanism;
use tare_kafka_admin::admin::Admin;
use tare_kafka_admin::client::{ClientSettings, addresses, bootstrap};
use tare_record::load::AddressPolicy;

use tare_cli::exit::bad_input;

use super::clusters::ClusterRegistry;

/// Default SASL mechanism, as of `tare load`.
const MECHANISM: &str = "scram-sha-512";

/// Which cluster, and how to talk to it.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Cluster")]
pub struct ConnectionArgs {
    /// Name of a cluster of `tare kafka clusters` [default: the only one].
    #[arg(long, global = true, value_name = "NAME", conflicts_with = "bootstrap")]
    cluster: Option<String>,
    /// Bootstrap brokers, separated by commas.
    #[arg(long, global = true, value_name = "HOST:PORT,…")]
    bootstrap: Option<String>,
    /// Use TLS; implied by --cacert, --insecure, --cert and --server-name.
    #[arg(long, global = true)]
    tls: bool,
    /// CA certificates to trust, instead of the system's (PEM).
    #[arg(long, global = true, value_name = "FILE")]
    cacert: Option<String>,
    /// Accept any broker certificate.
    #[arg(long, global = true, conflicts_with = "cacert")]
    insecure: bool,
    /// Client certificate with its chain (PEM), and with its key where --key names no other file.
    #[arg(long, global = true, value_name = "FILE")]
    cert: Option<String>,
    /// Private key of --cert (PEM), not encrypted.
    #[arg(long, global = true, value_name = "FILE", requires = "cert")]
    key: Option<String>,
    /// Expected name in the brokers' certificates [default: the host].
    #[arg(long, global = true, value_name = "NAME")]
    server_name: Option<String>,
    /// SASL mechanism: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512 [default: SCRAM-SHA-512].
    #[arg(long, global = true, value_name = "NAME", requires = "sasl_user")]
    sasl_mechanism: Option<String>,
    /// SASL user name.
    #[arg(long, global = true, value_name = "USER")]
    sasl_user: Option<String>,
    /// Environment variable with the SASL password.
    #[arg(
        long,
        global = true,
        value_name = "VARIABLE",
        conflicts_with = "sasl_password_file"
    )]
    sasl_password_env: Option<String>,
    /// File with the SASL password in its first line.
    #[arg(long, global = true, value_name = "FILE")]
    sasl_password_file: Option<String>,
    /// Allow public addresses of brokers (neither loopback nor private): only with the operator's consent.
    #[arg(long, global = true)]
    allow_public_target: bool,
    /// Timeout of a request, in seconds.
    #[arg(long, global = true, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
}

impl ConnectionArgs {
    /// Connects to the cluster of the arguments.
    pub fn connect(&self) -> anyhow::Result<Admin> {
        let def = match &self.bootstrap {
            Some(_) => self.def()?,
            None => ClusterRegistry::open()?.find(self.cluster.as_deref())?,
        };
        let mut settings =
            ClientSettings::of_cluster(&def, self.request_timeout()).map_err(bad_input)?;
        settings.reach = self.reach(Some(&def));
        Ok(Admin::connect(
            bootstrap(&def).map_err(bad_input)?,
            settings,
        )?)
    }

    /// The cluster definition of the flags.
    pub fn def(&self) -> anyhow::Result<ClusterDef> {
        let Some(bootstrap) = &self.bootstrap else {
            return Err(bad_input("say which brokers to ask: --bootstrap HOST:PORT"));
        };
        let known = addresses(bootstrap).map_err(bad_input)?;
        let is_tls = self.tls
            || self.insecure
            || self.cacert.is_some()
            || self.cert.is_some()
            || self.server_name.is_some();
        let tls = is_tls.then(|| ClusterTlsDef {
            ca: self.cacert.clone(),
            cert: self.cert.clone(),
            key: self.key.clone().or_else(|| self.cert.clone()),
            server_name: self.server_name.clone(),
            insecure: self.insecure,
        });
        let named = self.sasl_mechanism.as_deref();
        let sasl = self.sasl_user.clone().map(|user| ClusterSaslDef {
            mechanism: named.unwrap_or(MECHANISM).to_owned(),
            user,
            password_env: self.sasl_password_env.clone(),
            password_file: self.sasl_password_file.clone(),
        });
        if let Some(sasl) = &sasl {
            Mechanism::from_str(&sasl.mechanism).map_err(bad_input)?;
        }
        Ok(ClusterDef {
            bootstrap: known.iter().map(ToString::to_string).collect(),
            tls,
            sasl,
            allow_public_target: self.allow_public_target,
            metrics: None,
        })
    }

    /// Whether the command line gives addresses.
    pub fn has_bootstrap(&self) -> bool {
        self.bootstrap.is_some()
    }

    /// The cluster name of the command line.
    pub fn name(&self) -> Option<&str> {
        self.cluster.as_deref()
    }

    /// Which addresses may be connected to, by the flags and the cluster's definition.
    pub fn reach(&self, def: Option<&ClusterDef>) -> AddressPolicy {
        let of_cluster = def.is_some_and(|def| def.allow_public_target);
        (self.allow_public_target || of_cluster).into()
    }

    /// Longest wait for an answer.
    pub fn request_timeout(&self) -> Duration {
        Duration::from_secs(self.timeout)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        connection: ConnectionArgs,
    }

    fn sasl_of(flags: &[&str]) -> ClusterSaslDef {
        let line = ["tare", "--bootstrap", "127.0.0.1:9092"];
        let line = Line::try_parse_from(line.iter().chain(flags).copied()).unwrap();
        line.connection.def().unwrap().sasl.unwrap()
    }

    #[test]
    fn sasl_flags_are_those_of_load() {
        let expected = |mechanism: &str| ClusterSaslDef {
            mechanism: mechanism.to_owned(),
            user: "ann".to_owned(),
            password_env: None,
            password_file: Some("password".to_owned()),
        };
        let of_load = ["--sasl-user", "ann", "--sasl-password-file", "password"];
        let named = [&of_load[..], &["--sasl-mechanism", "PLAIN"]].concat();
        assert_eq!(sasl_of(&of_load), expected("scram-sha-512"));
        assert_eq!(sasl_of(&named), expected("PLAIN"));
        let variable = sasl_of(&["--sasl-user", "ann", "--sasl-password-env", "PASSWORD"]);
        assert_eq!(variable.password_env.as_deref(), Some("PASSWORD"));
    }
}
