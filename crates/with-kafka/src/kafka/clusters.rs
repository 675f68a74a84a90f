//! `tare kafka clusters`: a file of named clusters with their connection settings.

use std::path::PathBuf;

use anyhow::Context;
use tare_experiment::clusters::{self as file, ClusterDef, ClustersDef};
use tare_experiment::problem::{hint, list};
use tare_record::durable;

use tare_cli::exit::bad_input;
use tare_cli::screen::print;
use tare_cli::values::{MISSING, maybe};

use super::CommonArgs;
use super::connect::ConnectionArgs;
use super::metrics::SourceArgs;
use super::output::table;
use super::printed::NamedCluster;

/// Arguments of `tare kafka clusters`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    action: Action,
}

/// What to do with names.
#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List named clusters.
    List,
    /// Add a named cluster: `tare kafka clusters add NAME --bootstrap HOST:PORT …`.
    Add {
        /// Cluster name.
        name: String,
        #[command(flatten)]
        metrics: SourceArgs,
    },
    /// Remove a named cluster; the cluster itself is not changed.
    Remove {
        /// Cluster name.
        name: String,
    },
}

/// Named clusters.
pub struct ClusterRegistry {
    path: PathBuf,
    def: ClustersDef,
}

impl ClusterRegistry {
    /// Reads the file; a missing one is empty.
    pub fn open() -> anyhow::Result<ClusterRegistry> {
        let path = path()?;
        let def = match path.exists() {
            true => file::read(&path).map_err(bad_input)?,
            false => ClustersDef::default(),
        };
        Ok(ClusterRegistry { path, def })
    }

    /// The cluster of this name, or the only one when no name is given.
    pub fn find(&self, name: Option<&str>) -> anyhow::Result<ClusterDef> {
        let known = &self.def.clusters;
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        match name {
            Some(name) => known.get(name).cloned().ok_or_else(|| {
                let hint = hint(name, names.iter().copied());
                bad_input(format!(
                    "no cluster {name} in {}{hint}: see `tare kafka clusters list`",
                    self.path.display()
                ))
            }),
            None => match (known.len(), known.values().next()) {
                (1, Some(only)) => Ok(only.clone()),
                (0, _) => Err(bad_input(
                    "say which cluster: --bootstrap HOST:PORT, or give it a name with `tare kafka clusters add NAME --bootstrap HOST:PORT`",
                )),
                _ => Err(bad_input(format!(
                    "say which cluster: --cluster NAME, one of {}",
                    list(&names)
                ))),
            },
        }
    }

    fn save(&self) -> anyhow::Result<()> {
        let text = file::write(&self.def).map_err(bad_input)?;
        let folder = self.path.parent().unwrap_or(&self.path);
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        durable::write_shared(&self.path, text.as_bytes())
            .with_context(|| format!("cannot write {}", self.path.display()))
    }
}

/// The file of named clusters.
pub fn path() -> anyhow::Result<PathBuf> {
    let path = tare_lab::config::clusters();
    path.ok_or_else(|| bad_input("there is no home folder: set HOME or XDG_CONFIG_HOME"))
}

/// Runs the subcommand.
pub fn run(args: &Args, connection: &ConnectionArgs, common: &CommonArgs) -> anyhow::Result<()> {
    let mut registry = ClusterRegistry::open()?;
    match &args.action {
        Action::List => {
            let all = registry.def.clusters.into_iter();
            let all: Vec<_> = all
                .map(|(name, cluster)| NamedCluster { name, cluster })
                .collect();
            common.show(&all, |all| show(all))
        }
        Action::Add { name, metrics } => {
            let mut def = connection.def()?;
            def.metrics = metrics.def()?;
            if registry.def.clusters.contains_key(name) {
                common.confirm(&format!("replace what {name} means"))?;
            }
            registry.def.clusters.insert(name.clone(), def);
            registry.save()?;
            print(&format!("{name} is in {}\n", registry.path.display()))
        }
        Action::Remove { name } => {
            registry.find(Some(name))?;
            registry.def.clusters.remove(name);
            registry.save()?;
            print(&format!("{name} is forgotten\n"))
        }
    }
}

fn show(all: &[NamedCluster]) -> anyhow::Result<()> {
    let rows = all.iter().map(|NamedCluster { name, cluster }| {
        let tls = match &cluster.tls {
            None => MISSING,
            Some(tls) if tls.cert.is_some() => "with a certificate",
            Some(_) => "yes",
        };
        let sasl = cluster.sasl.as_ref();
        let sasl = sasl.map(|sasl| format!("{} as {}", sasl.mechanism, sasl.user));
        vec![
            name.clone(),
            cluster.bootstrap.join(" "),
            tls.to_owned(),
            maybe(sasl),
        ]
    });
    table(&["name", "brokers", "TLS", "SASL"], rows)
}
