//! `tare kafka configs`: shows configurations with their source, and changes single keys.

use tare_kafka_admin::admin::{Admin, Config, ConfigOp, ConfigSource, Mode, Resource};

use tare_cli::screen::{print, say};
use tare_cli::values::maybe;

use super::CommonArgs;
use super::output::{of_named_broker, pair, table};
use super::printed::Configured;

/// Arguments of `tare kafka configs`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What it belongs to.
    #[command(subcommand)]
    of: ConfigScope,
}

/// What a configuration belongs to.
#[derive(Debug, clap::Subcommand)]
enum ConfigScope {
    /// Configuration of a topic.
    Topic {
        /// Topic name.
        name: String,
        #[command(flatten)]
        change: ChangeArgs,
    },
    /// Configuration of a broker.
    Broker {
        /// Broker ID.
        id: i32,
        #[command(flatten)]
        change: ChangeArgs,
    },
    /// Default configuration of all brokers.
    Brokers {
        #[command(flatten)]
        change: ChangeArgs,
    },
    /// Configuration of a consumer group.
    Group {
        /// Group name.
        name: String,
        #[command(flatten)]
        change: ChangeArgs,
    },
}

/// What to change; without any, it is shown.
#[derive(Debug, clap::Args)]
pub struct ChangeArgs {
    /// Key to set, with its value; may be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Key to reset to its default; may be given several times.
    #[arg(long, value_name = "KEY")]
    unset: Vec<String>,
    /// Value to append to a list; may be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    append: Vec<String>,
    /// Value to remove from a list; may be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    subtract: Vec<String>,
    /// Validate only; change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Show all keys, defaults included.
    #[arg(long)]
    all: bool,
}

impl ChangeArgs {
    fn changes(&self) -> anyhow::Result<Vec<ConfigOp>> {
        let mut changes: Vec<ConfigOp> = self.unset.iter().cloned().map(ConfigOp::Delete).collect();
        let kinds: [fn(String, String) -> ConfigOp; 3] =
            [ConfigOp::Set, ConfigOp::Append, ConfigOp::Subtract];
        for (given, change) in [&self.set, &self.append, &self.subtract]
            .into_iter()
            .zip(kinds)
        {
            for words in given {
                let (key, value) = pair(words)?;
                changes.push(change(key, value));
            }
        }
        Ok(changes)
    }
}

/// Runs the command.
pub fn run(admin: &mut Admin, args: &Args, common: &CommonArgs) -> anyhow::Result<()> {
    let (resource, change) = match &args.of {
        ConfigScope::Topic { name, change } => (Resource::Topic(name.clone()), change),
        ConfigScope::Broker { id, change } => (Resource::Broker(*id), change),
        ConfigScope::Brokers { change } => (Resource::BrokerDefaults, change),
        ConfigScope::Group { name, change } => (Resource::Group(name.clone()), change),
    };
    show_or_change(admin, &resource, change, common)
}

/// Applies the changes of the arguments, if any, and prints the configuration.
pub fn show_or_change(
    admin: &mut Admin,
    resource: &Resource,
    change: &ChangeArgs,
    common: &CommonArgs,
) -> anyhow::Result<()> {
    let changes = change.changes()?;
    if !changes.is_empty() {
        let mode = match change.dry_run {
            true => Mode::ValidateOnly,
            false => Mode::Apply,
        };
        let altered = admin.alter_configs(resource, &changes, mode);
        altered.map_err(of_named_broker)?;
        if !common.json {
            let word = match mode {
                Mode::ValidateOnly => "could be changed",
                Mode::Apply => "changed; every broker knows in a moment",
            };
            return print(&format!("{resource}: {word}\n"));
        }
    }
    let found = admin.configs(std::slice::from_ref(resource), None);
    let found = found.map_err(of_named_broker)?;
    let shown: Vec<Configured> = found
        .into_iter()
        .map(|(resource, mut configs)| {
            configs.retain(|one| change.all || is_set(one));
            Configured { resource, configs }
        })
        .collect();
    common.show(&shown, |shown| shown.iter().try_for_each(show))
}

fn show(one: &Configured) -> anyhow::Result<()> {
    if one.configs.is_empty() {
        say(format_args!(
            "nothing is set on {}; --all shows the defaults",
            one.resource
        ));
        return Ok(());
    }
    let rows = one.configs.iter().map(|config| {
        let value = match config.is_sensitive {
            true => "(secret)".to_owned(),
            false => maybe(config.value.as_ref()),
        };
        vec![config.name.clone(), value, source(config.source).to_owned()]
    });
    table(&["key", "value", "from"], rows)
}

/// Whether the value is not the default.
fn is_set(config: &Config) -> bool {
    config.source != ConfigSource::Default
}

fn source(source: ConfigSource) -> &'static str {
    match source {
        ConfigSource::DynamicTopic => "topic",
        ConfigSource::DynamicBroker => "broker",
        ConfigSource::DynamicDefaultBroker => "all brokers",
        ConfigSource::StaticBroker => "broker's file",
        ConfigSource::Default => "default",
        ConfigSource::DynamicGroup => "group",
        ConfigSource::Other => "elsewhere",
    }
}
