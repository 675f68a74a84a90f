//! Compares the committed JSON Schemas (`docs/schema`) with the types, and writes them.

use std::collections::BTreeSet;
use std::path::Path;

use schemars::JsonSchema;
use serde_json::Value;
use tare_cli::commands::merge::MergedReport;
use tare_cli::commands::schema::all;
use tare_experiment::benchmarks::BenchFileDef;
use tare_experiment::clusters::ClustersDef;
use tare_experiment::def::{ExperimentDef, MeshDef, WorkloadDef};
use tare_experiment::script::{RequestsDef, SessionDef};
use tare_experiment::sizing::TopologyDef;
use tare_experiment::suite::{AcknowledgedDef, SuiteDef};
use tare_experiment::target::{TargetDef, TargetVersions};
use tare_kafka_admin::admin::reassign::Throttles;
use tare_kafka_admin::admin::{
    BrokerDescription, ClusterDescription, GroupDescription, GroupLag, GroupListing, ItemResult,
    LogDir, ReplicaComparison, Reset, TopicDescription,
};
use tare_kafka_admin::api::KafkaApiShapes;
use tare_kafka_admin::metrics::MetricsView;
use tare_kafka_admin::reassignment::ReassignmentPlan;
use tare_load::protocols::options_schema;
use tare_record::agent::AgentMessage;
use tare_record::api::{ApiShapes, GoldenFile, NightReport, PerfcheckReport, SizingReport};
use tare_record::event::{FailureReport, LoadEvent, RunEvent};
use tare_record::load::LoadPlan;
use tare_record::load_report::LoadReport;
use tare_record::plan::Plan;
use tare_record::profile::Profile;
use tare_record::record::{EnvironmentRecord, RunState, TrialRecord};
use tare_record::schemas::schema_of;
use tare_record::seal::RunSeal;
use tare_record::search_report::{CurveReport, SearchReport};
use tare_record::view::View;
use tare_report::figures::StoredFigures;

use crate::kafka::printed::{Configured, DescribedTopic, NamedCluster, Reassignments};

type MakeSchema = fn() -> Value;

/// The schemas by name, made from the types.
fn made() -> Vec<(&'static str, MakeSchema)> {
    vec![
        ("experiment", schema_of::<ExperimentDef>),
        ("workload", schema_of::<WorkloadDef>),
        ("target", schema_of::<TargetDef>),
        ("mesh", schema_of::<MeshDef>),
        ("requests", schema_of::<RequestsDef>),
        ("session", schema_of::<SessionDef>),
        ("clusters", schema_of::<ClustersDef>),
        ("suite", schema_of::<SuiteDef>),
        ("acknowledged", schema_of::<AcknowledgedDef>),
        ("topology", schema_of::<TopologyDef>),
        ("bench", schema_of::<BenchFileDef>),
        ("versions", schema_of::<TargetVersions>),
        ("plan", schema_of::<Plan>),
        ("record", schema_of::<TrialRecord>),
        ("environment", schema_of::<EnvironmentRecord>),
        ("run", schema_of::<RunState>),
        ("seal", schema_of::<RunSeal>),
        ("profile", schema_of::<Profile>),
        ("load-plan", schema_of::<LoadPlan>),
        ("agent-message", schema_of::<AgentMessage>),
        ("load-report", schema_of::<LoadReport>),
        ("search-report", schema_of::<SearchReport>),
        ("curve-report", schema_of::<CurveReport>),
        ("load-event", schema_of::<LoadEvent>),
        ("view", schema_of::<View>),
        ("run-event", schema_of::<RunEvent>),
        ("api", schema_of::<ApiShapes>),
        ("sizing", schema_of::<SizingReport>),
        ("night", schema_of::<NightReport>),
        ("perfcheck", schema_of::<PerfcheckReport>),
        ("golden", schema_of::<GoldenFile>),
        ("error", schema_of::<FailureReport>),
        ("client", options_schema),
        ("figures", schema_of::<StoredFigures>),
        ("kafka", schema_of::<Outputs>),
        ("kafka-api", schema_of::<KafkaApiShapes>),
        ("merged", schema_of::<MergedReport>),
    ]
}

/// Outputs by command.
#[derive(Debug, JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its schema is used")]
struct Outputs {
    /// `clusters list`
    clusters_list: Vec<NamedCluster>,
    /// `cluster`
    cluster: ClusterDescription,
    /// `brokers`
    brokers: Vec<BrokerDescription>,
    /// `topics list`
    topics_list: Vec<TopicDescription>,
    /// `topics describe`
    topics_describe: Vec<DescribedTopic>,
    /// `topics create`
    topics_create: Vec<ItemResult>,
    /// `topics delete`
    topics_delete: Vec<ItemResult>,
    /// `topics add-partitions`
    topics_grow: Vec<ItemResult>,
    /// `configs get` and `topics config`; `configs set` prints the same after the change
    configs: Vec<Configured>,
    /// `elect`: partitions whose leader changed, or could not
    elect: Vec<ItemResult>,
    /// `reassign plan`, and the file that `reassign run` reads
    reassign_plan: ReassignmentPlan,
    /// `reassign show`, and a line of `reassign watch`
    reassign_show: Reassignments,
    /// `reassign run`: the plan that was begun
    reassign_run: ReassignmentPlan,
    /// `reassign cancel`
    reassign_cancel: Vec<ItemResult>,
    /// `reassign unthrottle`: the limits that were taken away
    reassign_unthrottle: Throttles,
    /// `groups list`
    groups_list: Vec<GroupListing>,
    /// `groups describe`
    groups_describe: Vec<GroupDescription>,
    /// `groups lag`
    groups_lag: Vec<GroupLag>,
    /// `groups delete`
    groups_delete: Vec<ItemResult>,
    /// `groups reset`
    groups_reset: Vec<Reset>,
    /// `log-dirs`
    log_dirs: Vec<LogDir>,
    /// `verify`
    verify: Vec<ReplicaComparison>,
    /// `metrics`
    metrics: MetricsView,
}

#[test]
fn the_committed_schemas_are_those_of_the_types() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    for (name, make) in made() {
        let path = folder.join(format!("{name}.json"));
        let now = format!("{:#}\n", make());
        if std::env::var_os("TARE_UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &now).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == now,
            "{}: TARE_UPDATE_GOLDEN=1 writes it anew",
            path.display()
        );
    }
}

#[test]
fn tare_schema_prints_every_schema() {
    let printed: Vec<&str> = all().map(|shape| shape.name).collect();
    let names: BTreeSet<&str> = made().into_iter().map(|(name, _)| name).collect();
    assert_eq!(printed.iter().copied().collect::<BTreeSet<_>>(), names);
    assert_eq!(printed.len(), names.len(), "a name is there twice");
    for shape in all() {
        assert!(shape.schema().is_object(), "{}", shape.name);
    }
}
