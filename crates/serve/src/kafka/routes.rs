//! The routes of `/api/v1/kafka`.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, Uri};
use axum::response::IntoResponse;
use axum::routing::{delete, get, post};
use serde::Deserialize;
use serde_json::json;
use tare_kafka_admin::admin::Resource;
use tare_kafka_admin::api::{
    BrokerDetail, ClusterList, ClusterRequest, ClusterTest, ConfigsRequest, CreateTopicRequest,
    ElectRequest, GrowRequest, PartitionsRequest, ReassignmentPlanRequest, ReassignmentRequest,
    ResetRequest, TopicDetail, VerifyRequest,
};
use tare_kafka_admin::reading::ReadingScope;

use super::changes::{self, TopicDeletion};
use super::live::{self, LiveQuery};
use super::watcher::{ClusterSnapshot, ClusterWatcher, gone};
use crate::body::{json, json_about};
use crate::error::{Refusal, Reply};
use crate::routes::RouteContent::{Events, Nothing, Object};
use crate::routes::{ApiRoute, blocking, query, routes, shape};
use crate::server::{Server, Shared};

/// Most of the newest records that are shown.
pub const RECORDS_MAX: usize = 100;

routes! {
    get "/kafka/clusters" (Nothing => 200 shape("ClusterList")) cluster_list: "Kafka clusters by name";
    post "/kafka/clusters" (shape("ClusterRequest") => 201 shape("ClusterEntry")) cluster_keep: "Add or replace a cluster";
    post "/kafka/clusters/test" (shape("ClusterRequest") => 200 shape("ClusterTest")) cluster_test: "Try to reach a cluster";
    delete "/kafka/clusters/{cluster}" (Nothing => 204 Nothing) cluster_remove: "Remove a cluster from the list; the cluster itself is not changed";
    get "/kafka/clusters/{cluster}/overview" (Nothing => 200 shape("ClusterOverview")) overview: "Brokers, counts and problems";
    get "/kafka/clusters/{cluster}/events" (Nothing => 200 Events) events: "Readings as they are made: `?topics=true&groups=true&reassignments=true&metrics=true&topic=NAME&group=NAME`";
    get "/kafka/clusters/{cluster}/topics" (Nothing => 200 shape("TopicList")) topic_list: "Topics";
    post "/kafka/clusters/{cluster}/topics" (shape("CreateTopicRequest") => 201 shape("ItemResults")) topic_create: "Create a topic; returns when it is in sync";
    get "/kafka/clusters/{cluster}/topics/{topic}" (Nothing => 200 shape("TopicDetail")) topic_detail: "A topic with its configuration";
    delete "/kafka/clusters/{cluster}/topics/{topic}" (Nothing => 204 Nothing) topic_delete: "Delete a topic with its records: `?id=ID` the one with this id only, `?internal=true` also one of Kafka itself";
    post "/kafka/clusters/{cluster}/topics/{topic}/partitions" (shape("GrowRequest") => 204 Nothing) topic_grow: "Add partitions";
    post "/kafka/clusters/{cluster}/topics/{topic}/configs" (shape("ConfigsRequest") => 204 Nothing) topic_configs: "Change the configuration of a topic";
    get "/kafka/clusters/{cluster}/topics/{topic}/records" (Nothing => 200 shape("RecordPage")) topic_records: "The newest records: `?partition=N&count=20`";
    get "/kafka/clusters/{cluster}/brokers/{broker}" (Nothing => 200 shape("BrokerDetail")) broker_detail: "A broker";
    post "/kafka/clusters/{cluster}/brokers/{broker}/configs" (shape("ConfigsRequest") => 204 Nothing) broker_configs: "Change the configuration of a broker";
    get "/kafka/clusters/{cluster}/configs" (Nothing => 200 Object) default_configs: "What all brokers have unless they have their own";
    post "/kafka/clusters/{cluster}/configs" (shape("ConfigsRequest") => 204 Nothing) default_configs_change: "Change what all brokers have";
    get "/kafka/clusters/{cluster}/groups" (Nothing => 200 shape("GroupList")) group_list: "Consumer groups";
    get "/kafka/clusters/{cluster}/groups/{group}" (Nothing => 200 shape("GroupLive")) group_detail: "A consumer group with its lag";
    delete "/kafka/clusters/{cluster}/groups/{group}" (Nothing => 204 Nothing) group_delete: "Delete a consumer group";
    post "/kafka/clusters/{cluster}/groups/{group}/reset" (shape("ResetRequest") => 200 shape("ResetReply")) group_reset: "Reset the offsets of a group";
    get "/kafka/clusters/{cluster}/reassignments" (Nothing => 200 shape("ReassignmentList")) reassignments: "Ongoing reassignments, and throttles";
    post "/kafka/clusters/{cluster}/reassignments" (shape("ReassignmentRequest") => 201 shape("ReassignmentList")) reassign: "Begin the reassignments of a plan";
    post "/kafka/clusters/{cluster}/reassignments/plan" (shape("ReassignmentPlanRequest") => 200 shape("ReassignmentPreview")) reassignment_plan: "Plan reassignments; changes nothing";
    post "/kafka/clusters/{cluster}/reassignments/cancel" (shape("PartitionsRequest") => 200 shape("ItemResults")) reassignment_cancel: "Cancel reassignments";
    post "/kafka/clusters/{cluster}/reassignments/unthrottle" (Nothing => 200 shape("Throttles")) unthrottle: "Remove all throttles, those of others too";
    post "/kafka/clusters/{cluster}/elect" (shape("ElectRequest") => 200 shape("ItemResults")) elect: "Elect preferred leaders";
    post "/kafka/clusters/{cluster}/verify" (shape("VerifyRequest") => 201 shape("VerifyJob")) verify_start: "Compare the replicas of partitions";
    get "/kafka/clusters/{cluster}/verify/{job}" (Nothing => 200 shape("VerifyJob")) verify_state: "A comparison";
    delete "/kafka/clusters/{cluster}/verify/{job}" (Nothing => 204 Nothing) verify_stop: "Stop a comparison";
}

type Named = Path<String>;
type NamedPart = Path<(String, String)>;

/// Reads a cluster.
async fn reading<T: Send + 'static>(
    server: Shared,
    cluster: String,
    scope: ReadingScope,
    show: impl FnOnce(&ClusterSnapshot, &ClusterWatcher) -> Reply<T> + Send + 'static,
) -> Reply<Json<T>> {
    let shown = blocking(server, move |server| {
        let watcher = server.kafka.watcher(&cluster)?;
        show(&watcher.read(&scope)?, &watcher)
    });
    shown.await.map(Json)
}

/// What a change is about, in the log.
fn checked(validate_only: bool, what: &str) -> String {
    match validate_only {
        true => format!("{what} (only checked)"),
        false => what.to_owned(),
    }
}

fn listed(names: impl Iterator<Item = String>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

fn named(topics: Option<&BTreeMap<String, Vec<i32>>>) -> String {
    let all = || "all topics".to_owned();
    topics.map_or_else(all, |topics| listed(topics.keys().cloned()))
}

/// Changes a cluster.
async fn changing<T: Send + 'static>(
    server: Shared,
    cluster: String,
    change: impl FnOnce(&std::sync::Arc<ClusterWatcher>, &Server) -> Reply<T> + Send + 'static,
) -> Reply<T> {
    blocking(server, move |server| {
        change(&server.kafka.changeable(&cluster)?, server)
    })
    .await
}

async fn cluster_list(State(server): State<Shared>) -> Reply<Json<ClusterList>> {
    blocking(server, |server| Ok(server.kafka.definitions.list()))
        .await
        .map(Json)
}

async fn cluster_keep(State(server): State<Shared>, request: Request) -> Reply<impl IntoResponse> {
    let wanted = json_about(request, |wanted: &ClusterRequest| wanted.name.clone()).await?;
    let kept = blocking(server, move |server| {
        let definitions = &server.kafka.definitions;
        definitions.keep(definitions.check(wanted)?)
    });
    Ok((StatusCode::CREATED, Json(kept.await?)))
}

async fn cluster_test(State(server): State<Shared>, request: Request) -> Reply<impl IntoResponse> {
    let wanted = json_about(request, |wanted: &ClusterRequest| wanted.name.clone()).await?;
    let tested = blocking(server, move |server| {
        let wanted = server.kafka.definitions.check(wanted)?;
        server.kafka.test(wanted)
    });
    Ok(Json::<ClusterTest>(tested.await?))
}

async fn cluster_remove(State(server): State<Shared>, Path(name): Named) -> Reply<StatusCode> {
    blocking(server, move |server| server.kafka.remove(&name)).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn overview(State(server): State<Shared>, Path(cluster): Named) -> Reply<impl IntoResponse> {
    reading(server, cluster, ReadingScope::default(), |read, _| {
        Ok(read.overview())
    })
    .await
}

async fn events(
    State(server): State<Shared>,
    Path(cluster): Named,
    uri: Uri,
) -> Reply<impl IntoResponse> {
    live::stream(&server, &cluster, query::<LiveQuery>(&uri)?)
}

async fn topic_list(
    State(server): State<Shared>,
    Path(cluster): Named,
) -> Reply<impl IntoResponse> {
    reading(server, cluster, ReadingScope::default(), |read, _| {
        Ok(read.view().topics())
    })
    .await
}

async fn topic_create(
    State(server): State<Shared>,
    Path(cluster): Named,
    request: Request,
) -> Reply<impl IntoResponse> {
    let about = |wanted: &CreateTopicRequest| checked(wanted.validate_only, &wanted.name);
    let wanted = json_about(request, about).await?;
    let status = match wanted.validate_only {
        true => StatusCode::OK,
        false => StatusCode::CREATED,
    };
    let done = changing(server, cluster, |watcher, _| {
        changes::create(watcher, wanted)
    });
    Ok((status, Json(done.await?)))
}

async fn topic_detail(
    State(server): State<Shared>,
    Path((cluster, name)): NamedPart,
) -> Reply<impl IntoResponse> {
    reading(
        server,
        cluster,
        ReadingScope::default(),
        move |read, watcher| {
            let view = read.view();
            let live = view.topic(&name).ok_or_else(|| gone("topic", &name))?;
            let (id, is_internal) = view.topic_identity(&name);
            let topic = Resource::Topic(name.clone());
            let mut problems = Vec::new();
            let configs = watcher
                .look_up(|admin| admin.documented_configs(&topic))
                .map_err(|refusal| problems.push(unread_configs(&refusal.error.message)))
                .ok();
            Ok(TopicDetail {
                problems,
                min_in_sync: view.min_in_sync(&name),
                name,
                id,
                is_internal,
                configs,
                live,
            })
        },
    )
    .await
}

async fn topic_delete(
    State(server): State<Shared>,
    Path((cluster, name)): NamedPart,
    uri: Uri,
) -> Reply<StatusCode> {
    let wanted: TopicDeletion = query(&uri)?;
    changing(server, cluster, move |watcher, _| {
        changes::delete_topic(watcher, &name, &wanted)
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn topic_grow(
    State(server): State<Shared>,
    Path((cluster, name)): NamedPart,
    request: Request,
) -> Reply<StatusCode> {
    let about = |wanted: &GrowRequest| {
        checked(
            wanted.validate_only,
            &format!("to {} partitions", wanted.partitions),
        )
    };
    let wanted = json_about(request, about).await?;
    changing(server, cluster, move |watcher, _| {
        changes::grow(watcher, &name, &wanted)
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Changes configurations of something.
async fn configs(
    server: Shared,
    cluster: String,
    resource: Resource,
    request: Request,
) -> Reply<StatusCode> {
    let about = |wanted: &ConfigsRequest| {
        let names: Vec<&str> = wanted
            .set
            .keys()
            .chain(&wanted.delete)
            .map(String::as_str)
            .collect();
        checked(wanted.validate_only, &names.join(", "))
    };
    let wanted = json_about(request, about).await?;
    changing(server, cluster, move |watcher, _| {
        changes::configure(watcher, &resource, &wanted)
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn topic_configs(
    State(server): State<Shared>,
    Path((cluster, name)): NamedPart,
    request: Request,
) -> Reply<StatusCode> {
    configs(server, cluster, Resource::Topic(name), request).await
}

/// `?partition=N&count=20`.
#[derive(Deserialize)]
struct RecordQuery {
    partition: Option<i32>,
    count: Option<u32>,
}

async fn topic_records(
    State(server): State<Shared>,
    Path((cluster, name)): NamedPart,
    uri: Uri,
) -> Reply<impl IntoResponse> {
    let RecordQuery { partition, count } = query(&uri)?;
    if partition.is_some_and(|number| number < 0) {
        return Err(Refusal::bad("the partition is a number of 0 or more"));
    }
    let count = count.map_or(20, |count| count as usize).min(RECORDS_MAX);
    let page = blocking(server, move |server| {
        changes::records(&*server.kafka.watcher(&cluster)?, &name, partition, count)
    });
    page.await.map(Json)
}

fn unread_configs(reason: &str) -> String {
    format!("its configuration cannot be read: {reason}")
}

fn broker_id(text: &str) -> Reply<i32> {
    text.parse().map_err(|_| gone("broker", text))
}

async fn broker_detail(
    State(server): State<Shared>,
    Path((cluster, broker)): NamedPart,
) -> Reply<impl IntoResponse> {
    let id = broker_id(&broker)?;
    reading(
        server,
        cluster,
        ReadingScope::default(),
        move |read, watcher| {
            let found = read.view().broker(id);
            let (broker, log_dirs, partitions) = found.ok_or_else(|| gone("broker", &broker))?;
            let mut problems = Vec::new();
            let configs = match broker.address {
                None => Err("the broker is down".to_owned()),
                Some(_) => watcher
                    .look_up(|admin| admin.documented_configs(&Resource::Broker(id)))
                    .map_err(|refusal| refusal.error.message),
            };
            let configs = configs
                .map_err(|reason| problems.push(unread_configs(&reason)))
                .ok();
            Ok(BrokerDetail {
                broker,
                configs,
                log_dirs,
                partitions,
                problems,
            })
        },
    )
    .await
}

async fn broker_configs(
    State(server): State<Shared>,
    Path((cluster, broker)): NamedPart,
    request: Request,
) -> Reply<StatusCode> {
    let resource = Resource::Broker(broker_id(&broker)?);
    configs(server, cluster, resource, request).await
}

async fn default_configs(
    State(server): State<Shared>,
    Path(cluster): Named,
) -> Reply<impl IntoResponse> {
    let found = blocking(server, move |server| {
        let watcher = server.kafka.watcher(&cluster)?;
        watcher.look_up(|admin| admin.documented_configs(&Resource::BrokerDefaults))
    });
    Ok(Json(json!({ "configs": found.await? })))
}

async fn default_configs_change(
    State(server): State<Shared>,
    Path(cluster): Named,
    request: Request,
) -> Reply<StatusCode> {
    configs(server, cluster, Resource::BrokerDefaults, request).await
}

async fn group_list(
    State(server): State<Shared>,
    Path(cluster): Named,
) -> Reply<impl IntoResponse> {
    reading(server, cluster, ReadingScope::default(), |read, _| {
        Ok(read.view().groups())
    })
    .await
}

async fn group_detail(
    State(server): State<Shared>,
    Path((cluster, name)): NamedPart,
) -> Reply<impl IntoResponse> {
    let mut scope = ReadingScope::default();
    scope.groups.insert(name.clone());
    reading(server, cluster, scope, move |read, _| {
        read.view()
            .group(&name)
            .ok_or_else(|| match read.now.may_have_group(&name) {
                true => Refusal::new(
                    StatusCode::BAD_GATEWAY,
                    read.now.why_undescribed(&name).map_or_else(
                        || {
                            format!(
                                "group {name} cannot be read now: its coordinator does not answer"
                            )
                        },
                        str::to_owned,
                    ),
                ),
                false => gone("group", &name),
            })
    })
    .await
}

async fn group_delete(
    State(server): State<Shared>,
    Path((cluster, name)): NamedPart,
) -> Reply<StatusCode> {
    changing(server, cluster, move |watcher, _| {
        changes::delete_group(watcher, &name)
    })
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn group_reset(
    State(server): State<Shared>,
    Path((cluster, name)): NamedPart,
    request: Request,
) -> Reply<impl IntoResponse> {
    let about = |wanted: &ResetRequest| checked(wanted.validate_only, &wanted.topics.join(", "));
    let wanted = json_about(request, about).await?;
    let done = changing(server, cluster, move |watcher, _| {
        changes::reset(watcher, &name, &wanted)
    });
    done.await.map(Json)
}

async fn reassignments(
    State(server): State<Shared>,
    Path(cluster): Named,
) -> Reply<impl IntoResponse> {
    let found = blocking(server, move |server| {
        changes::reassignments(&*server.kafka.watcher(&cluster)?)
    });
    found.await.map(Json)
}

async fn reassign(
    State(server): State<Shared>,
    Path(cluster): Named,
    request: Request,
) -> Reply<impl IntoResponse> {
    let about = |wanted: &ReassignmentRequest| {
        let all = wanted.reassignments.iter();
        listed(all.map(|one| format!("{}-{}", one.topic, one.partition)))
    };
    let wanted = json_about(request, about).await?;
    let begun = changing(server, cluster, move |watcher, _| {
        changes::begin(watcher, &wanted)
    });
    Ok((StatusCode::CREATED, Json(begun.await?)))
}

async fn reassignment_plan(
    State(server): State<Shared>,
    Path(cluster): Named,
    request: Request,
) -> Reply<impl IntoResponse> {
    let wanted: ReassignmentPlanRequest = json(request).await?;
    let plan = blocking(server, move |server| {
        changes::plan(&*server.kafka.watcher(&cluster)?, &wanted)
    });
    plan.await.map(Json)
}

async fn reassignment_cancel(
    State(server): State<Shared>,
    Path(cluster): Named,
    request: Request,
) -> Reply<impl IntoResponse> {
    let about = |wanted: &PartitionsRequest| named(wanted.topics.as_ref());
    let wanted = json_about(request, about).await?;
    let done = changing(server, cluster, move |watcher, _| {
        changes::cancel(watcher, &wanted)
    });
    done.await.map(Json)
}

async fn unthrottle(
    State(server): State<Shared>,
    Path(cluster): Named,
) -> Reply<impl IntoResponse> {
    changing(server, cluster, |watcher, _| changes::unthrottle(watcher))
        .await
        .map(Json)
}

async fn elect(
    State(server): State<Shared>,
    Path(cluster): Named,
    request: Request,
) -> Reply<impl IntoResponse> {
    let about = |wanted: &ElectRequest| named(wanted.topics.as_ref());
    let wanted = json_about(request, about).await?;
    let done = changing(server, cluster, move |watcher, _| {
        changes::elect(watcher, &wanted)
    });
    done.await.map(Json)
}

async fn verify_start(
    State(server): State<Shared>,
    Path(cluster): Named,
    request: Request,
) -> Reply<impl IntoResponse> {
    let wanted = json_about(request, |wanted: &VerifyRequest| wanted.topic.clone()).await?;
    let job = blocking(server, move |server| {
        let watcher = server.kafka.watcher(&cluster)?;
        server.kafka.jobs.start(&watcher, &wanted)
    });
    Ok((StatusCode::CREATED, Json(job.await?)))
}

fn job_id(text: &str) -> Reply<u64> {
    text.parse().map_err(|_| gone("comparison", text))
}

async fn verify_state(
    State(server): State<Shared>,
    Path((cluster, job)): NamedPart,
) -> Reply<impl IntoResponse> {
    server.kafka.jobs.state(&cluster, job_id(&job)?).map(Json)
}

async fn verify_stop(
    State(server): State<Shared>,
    Path((cluster, job)): NamedPart,
) -> Reply<StatusCode> {
    server.kafka.jobs.stop(&cluster, job_id(&job)?)?;
    Ok(StatusCode::NO_CONTENT)
}
