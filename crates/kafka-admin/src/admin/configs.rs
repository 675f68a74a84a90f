//! Configuration of topics, brokers and groups: read with its source, changed key by key.

use std::collections::BTreeMap;
use std::fmt;

use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::describe_configs_response::DescribeConfigsResult;
use kafka_protocol::messages::incremental_alter_configs_request::{
    AlterConfigsResource, AlterableConfig,
};
use kafka_protocol::messages::{DescribeConfigsRequest, IncrementalAlterConfigsRequest};
use serde::Serialize;
use tare_record::schemas::JsonSchema;

use super::change::Mode;
use super::error::{Operation, Result, check};
use super::{Admin, str_bytes};

/// Resources per request.
const RESOURCES_PER_REQUEST: usize = 500;

/// What a configuration belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// A topic.
    Topic(String),
    /// One broker.
    Broker(i32),
    /// What all brokers have unless they have their own.
    #[serde(rename = "brokers")]
    BrokerDefaults,
    /// A consumer group.
    Group(String),
}

impl Resource {
    fn kind(&self) -> i8 {
        // KIP-133, KIP-848.
        match self {
            Resource::Topic(_) => 2,
            Resource::Broker(_) | Resource::BrokerDefaults => 4,
            Resource::Group(_) => 32,
        }
    }

    fn name(&self) -> String {
        match self {
            Resource::Topic(name) | Resource::Group(name) => name.clone(),
            Resource::Broker(id) => id.to_string(),
            Resource::BrokerDefaults => String::new(),
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Resource::Topic(name) => write!(f, "topic {name}"),
            Resource::Broker(id) => write!(f, "broker {id}"),
            Resource::BrokerDefaults => f.write_str("all brokers"),
            Resource::Group(name) => write!(f, "group {name}"),
        }
    }
}

/// Where a value comes from, by Kafka's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConfigSource {
    /// Set on the topic.
    DynamicTopic,
    /// Set on this broker while it runs.
    DynamicBroker,
    /// Set for all brokers while they run.
    DynamicDefaultBroker,
    /// The broker's file.
    StaticBroker,
    /// Kafka's own default.
    Default,
    /// Set on the group.
    DynamicGroup,
    /// Something newer than this program.
    Other,
}

impl ConfigSource {
    fn of(number: i8) -> ConfigSource {
        match number {
            1 => ConfigSource::DynamicTopic,
            2 => ConfigSource::DynamicBroker,
            3 => ConfigSource::DynamicDefaultBroker,
            4 => ConfigSource::StaticBroker,
            5 => ConfigSource::Default,
            8 => ConfigSource::DynamicGroup,
            _ => ConfigSource::Other,
        }
    }
}

/// One key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Config {
    /// Its name.
    pub name: String,
    /// Its value; none when it is not set, or a secret.
    pub value: Option<String>,
    /// Where it comes from.
    pub source: ConfigSource,
    /// Whether it can only be changed in the broker's file.
    pub is_read_only: bool,
    /// Whether it is a secret.
    pub is_sensitive: bool,
    /// What applies without the value that is set on the resource itself, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Kafka's documentation of the key, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub documentation: Option<String>,
}

/// A change of one key (IncrementalAlterConfigs).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigOp {
    /// Set the value.
    Set(String, String),
    /// Delete the override; the default applies again.
    Delete(String),
    /// Append to a list.
    Append(String, String),
    /// Remove from a list.
    Subtract(String, String),
}

impl ConfigOp {
    fn to_request(&self) -> AlterableConfig {
        let (operation, name, value) = match self {
            ConfigOp::Set(name, value) => (0, name, Some(value)),
            ConfigOp::Delete(name) => (1, name, None),
            ConfigOp::Append(name, value) => (2, name, Some(value)),
            ConfigOp::Subtract(name, value) => (3, name, Some(value)),
        };
        AlterableConfig::default()
            .with_name(str_bytes(name))
            .with_config_operation(operation)
            .with_value(value.map(|value| str_bytes(value)))
    }
}

impl Admin {
    /// Reads configurations, all keys or some: by resource, the keys in alphabetical order.
    ///
    /// # Errors
    /// If a resource does not exist, or a broker does not answer.
    pub fn configs(
        &mut self,
        resources: &[Resource],
        keys: Option<&[&str]>,
    ) -> Result<Vec<(Resource, Vec<Config>)>> {
        // Only the broker itself knows its configuration file; all other resources are read in batches from any broker.
        let (brokers, others): (Vec<&Resource>, Vec<&Resource>) = resources
            .iter()
            .partition(|resource| matches!(resource, Resource::Broker(_)));
        let mut found = BTreeMap::new();
        for one in brokers {
            self.collect_configs(&[one], describe(&[one], keys), &mut found)?;
        }
        for some in others.chunks(RESOURCES_PER_REQUEST) {
            self.collect_configs(some, describe(some, keys), &mut found)?;
        }
        Ok(found.into_iter().collect())
    }

    /// All keys of one resource with their defaults and, from brokers since 2.6, their documentation.
    ///
    /// # Errors
    /// As [`Admin::configs`].
    pub fn documented_configs(&mut self, resource: &Resource) -> Result<Vec<Config>> {
        let request = describe(&[resource], None)
            .with_include_synonyms(true)
            .with_include_documentation(true);
        let mut found = BTreeMap::new();
        self.collect_configs(&[resource], request, &mut found)?;
        Ok(found.into_values().flatten().collect())
    }

    fn collect_configs(
        &mut self,
        resources: &[&Resource],
        request: DescribeConfigsRequest,
        found: &mut BTreeMap<Resource, Vec<Config>>,
    ) -> Result<()> {
        let answer = match resources {
            [Resource::Broker(id)] => self.cluster.request_to(*id, &request, i16::MAX)?,
            _ => self.cluster.request(&request)?,
        };
        collect_results(resources, &answer.results, found)
    }

    /// Changes keys of one resource; other keys stay as they are.
    ///
    /// # Errors
    /// If the cluster refuses.
    pub fn alter_configs(
        &mut self,
        resource: &Resource,
        changes: &[ConfigOp],
        mode: Mode,
    ) -> Result<()> {
        let altered = AlterConfigsResource::default()
            .with_resource_type(resource.kind())
            .with_resource_name(str_bytes(&resource.name()))
            .with_configs(changes.iter().map(ConfigOp::to_request).collect());
        let request = IncrementalAlterConfigsRequest::default()
            .with_resources(vec![altered])
            .with_validate_only(mode == Mode::ValidateOnly);
        // Safe to repeat: setting a value twice has the same effect. A broker's own configuration must be sent to that broker.
        let answer = match resource {
            Resource::Broker(id) => self.cluster.request_to(*id, &request, i16::MAX)?,
            _ => self.cluster.request(&request)?,
        };
        let mut responses = answer.responses.iter();
        responses.try_for_each(|one| {
            check(one.error_code, one.error_message.as_ref(), resource)
                .map_err(|error| error.needing(Operation::AlterConfigs))
        })
    }
}

fn describe(resources: &[&Resource], keys: Option<&[&str]>) -> DescribeConfigsRequest {
    let requested = resources.iter().map(|resource| {
        DescribeConfigsResource::default()
            .with_resource_type(resource.kind())
            .with_resource_name(str_bytes(&resource.name()))
            .with_configuration_keys(
                keys.map(|keys| keys.iter().map(|key| str_bytes(key)).collect()),
            )
    });
    DescribeConfigsRequest::default().with_resources(requested.collect())
}

fn collect_results(
    requested: &[&Resource],
    results: &[DescribeConfigsResult],
    found: &mut BTreeMap<Resource, Vec<Config>>,
) -> Result<()> {
    for result in results {
        let mut requested = requested.iter();
        let Some(resource) = requested.find(|one| {
            one.kind() == result.resource_type && one.name() == result.resource_name.as_str()
        }) else {
            continue;
        };
        check(result.error_code, result.error_message.as_ref(), resource)
            .map_err(|error| error.needing(Operation::DescribeConfigs))?;
        found.insert((*resource).clone(), read(result));
    }
    Ok(())
}

fn read(result: &DescribeConfigsResult) -> Vec<Config> {
    let mut configs: Vec<Config> = result
        .configs
        .iter()
        .map(|one| Config {
            name: one.name.to_string(),
            value: one.value.as_ref().map(|value| value.to_string()),
            source: ConfigSource::of(one.config_source),
            is_read_only: one.read_only,
            is_sensitive: one.is_sensitive,
            default: one.synonyms.iter().find_map(|synonym| {
                let is_own = matches!(
                    ConfigSource::of(synonym.source),
                    ConfigSource::DynamicTopic
                        | ConfigSource::DynamicBroker
                        | ConfigSource::DynamicGroup
                );
                let value = synonym.value.as_ref().filter(|_| !is_own)?;
                Some(value.to_string())
            }),
            documentation: one.documentation.as_ref().map(|text| text.to_string()),
        })
        .collect();
    configs.sort_by(|a, b| a.name.cmp(&b.name));
    configs
}
