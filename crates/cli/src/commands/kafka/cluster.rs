//! `tare kafka cluster` and `tare kafka brokers`.

use std::process::ExitCode;

use tare_kafka_admin::admin::{Admin, BrokerView};

use crate::exit::Exit;
use crate::screen::print;

use super::output::{self, count, list, maybe};
use super::{CommonArgs, classify_admin_error};

/// Prints the cluster.
pub fn cluster(admin: &mut Admin, common: &CommonArgs) -> anyhow::Result<ExitCode> {
    let view = admin.describe().map_err(classify_admin_error)?;
    if common.json {
        output::json(&view)?;
        return Ok(Exit::Done.into());
    }
    print(&format!(
        "cluster {} · controller {} of {} · metadata version {}\n{}, {}, {}\n",
        maybe(view.id.as_ref()),
        maybe(view.controller),
        list(&view.voters),
        maybe(view.metadata_version),
        count(view.topics, "topic"),
        count(view.partitions, "partition"),
        count(view.replicas, "replica"),
    ))?;
    let rows = view.brokers.iter().map(|broker| {
        vec![
            broker.id.to_string(),
            at(broker),
            maybe(broker.rack.as_ref()),
            broker.leaders.to_string(),
            broker.replicas.to_string(),
            broker.replicas_not_in_sync.to_string(),
        ]
    });
    let header = [
        "broker #",
        "address",
        "rack",
        "leaders #",
        "replicas #",
        "not in sync #",
    ];
    output::table(&header, rows)?;
    for (number, what, next) in [
        (
            view.offline,
            "without a leader",
            "`tare kafka topics list --unhealthy` shows which",
        ),
        (
            view.under_replicated,
            "not wholly in sync",
            "`tare kafka topics list --unhealthy` shows which",
        ),
        (
            view.led_by_another,
            "not led by their preferred leader",
            "`tare kafka elect --all` gives it back",
        ),
    ] {
        if number > 0 {
            print(&format!("{} {what}; {next}\n", count(number, "partition")))?;
        }
    }
    Ok(Exit::Done.into())
}

/// Prints the brokers.
pub fn brokers(admin: &mut Admin, common: &CommonArgs) -> anyhow::Result<ExitCode> {
    let view = admin.describe().map_err(classify_admin_error)?;
    if common.json {
        output::json(&view.brokers)?;
        return Ok(Exit::Done.into());
    }
    for broker in &view.brokers {
        print(&format!(
            "broker {} · {} · rack {}\n  leader of {}, preferred of {} · {}, {} not in sync\n  listeners {}\n  advertised {}\n",
            broker.id,
            at(broker),
            maybe(broker.rack.as_ref()),
            broker.leaders,
            broker.preferred,
            count(broker.replicas, "replica"),
            broker.replicas_not_in_sync,
            maybe(broker.listeners.as_ref()),
            maybe(broker.advertised.as_ref()),
        ))?;
    }
    Ok(Exit::Done.into())
}

/// Address of a broker; one that is down has none.
fn at(broker: &BrokerView) -> String {
    match broker.host.is_empty() {
        true => "down".to_owned(),
        false => format!("{}:{}", broker.host, broker.port),
    }
}
