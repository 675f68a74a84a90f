//! Runs the links of a test bed in a process of their own, so that their CPU time is accounted separately.

use std::fs::File;
use std::io::{self, BufRead, Read, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{CountsPerDirection, Link, LinkError, LinkPlan, LinkScheduling, Pool};

/// Longest line of input.
const LINE_BYTES_MAX: u64 = 4096;

/// The input of such a process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkOrders {
    /// Links to run.
    pub links: Vec<LinkOrder>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkOrder {
    pub name: String,
    /// The namespaces of its ends, a and b: `/proc/PID/ns/net`, or `/proc/self/fd/N` for an inherited descriptor.
    pub namespaces: [PathBuf; 2],
    pub plan: LinkPlan,
}

/// Its output, one JSON object per line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum LinkEvent {
    /// All devices exist; they are down and have no addresses. First line.
    Ready {
        /// How the threads are scheduled.
        scheduled: LinkScheduling,
    },
    /// Reply to a line of input: counts so far.
    Counts {
        /// In the order of the input.
        links: Vec<NamedCounts>,
    },
    /// A link cannot start; last line.
    Failed {
        /// Why.
        error: String,
    },
}

/// Counts of one link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedCounts {
    pub name: String,
    #[serde(flatten)]
    pub counts: CountsPerDirection,
}

/// Runs the links until `requests` ends; each line of it is answered with the counts.
///
/// # Errors
/// When a link cannot start (also reported on `output`), or `output` cannot be written.
pub fn serve(
    orders: &LinkOrders,
    requests: impl BufRead,
    mut output: impl Write,
) -> Result<(), LinkError> {
    let links = match start(orders) {
        Ok(links) => links,
        Err(error) => {
            let event = LinkEvent::Failed {
                error: error.to_string(),
            };
            // The error itself is returned.
            let _ = write_event(&mut output, &event);
            return Err(error);
        }
    };
    answer_requests(orders, &links, requests, output).map_err(LinkError::NoConductor)
}

fn answer_requests(
    orders: &LinkOrders,
    links: &[Link],
    mut requests: impl BufRead,
    mut output: impl Write,
) -> io::Result<()> {
    // The worst of all links.
    let scheduled = links
        .iter()
        .map(Link::scheduled)
        .max()
        .unwrap_or(LinkScheduling::Default);
    write_event(&mut output, &LinkEvent::Ready { scheduled })?;
    let mut line = Vec::new();
    loop {
        line.clear();
        if (&mut requests)
            .take(LINE_BYTES_MAX)
            .read_until(b'\n', &mut line)?
            == 0
        {
            return Ok(());
        }
        let named = orders.links.iter().zip(links);
        let links = named
            .map(|(order, link)| NamedCounts {
                name: order.name.clone(),
                counts: link.counts(),
            })
            .collect();
        write_event(&mut output, &LinkEvent::Counts { links })?;
    }
}

fn start(orders: &LinkOrders) -> Result<Vec<Link>, LinkError> {
    let open = |path: &PathBuf| File::open(path).map_err(LinkError::NoEntry);
    let pool = Arc::<Pool>::default();
    orders
        .links
        .iter()
        .map(|order| {
            let [a, b] = &order.namespaces;
            Link::start(open(a)?.as_fd(), open(b)?.as_fd(), &order.plan, &pool)
        })
        .collect()
}

fn write_event(output: &mut impl Write, event: &LinkEvent) -> io::Result<()> {
    let mut line = serde_json::to_vec(event)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::DirectionPlan;
    use crate::namespace::Namespace;

    #[test]
    fn what_cannot_start_is_said_and_returned() {
        let plan = LinkPlan::symmetric(["a0", "b0"], &DirectionPlan::default(), 1);
        let nowhere = PathBuf::from("/proc/0/ns/net");
        let orders = LinkOrders {
            links: vec![LinkOrder {
                name: String::from("a-b"),
                namespaces: [nowhere.clone(), nowhere],
                plan,
            }],
        };
        let mut output = Vec::new();
        let error = serve(&orders, io::empty(), &mut output).unwrap_err();
        let event: LinkEvent = serde_json::from_slice(&output).unwrap();
        assert_eq!(
            event,
            LinkEvent::Failed {
                error: error.to_string()
            }
        );
    }

    #[test]
    fn each_line_is_answered_with_the_counts_of_all_links() {
        use std::os::fd::AsRawFd;
        let Ok(namespace) = Namespace::new() else {
            assert!(!rustix::process::geteuid().is_root(), "root can make one");
            return;
        };
        let path = PathBuf::from(format!("/proc/self/fd/{}", namespace.as_fd().as_raw_fd()));
        let order = |name: &str, devices| LinkOrder {
            name: name.to_owned(),
            namespaces: [path.clone(), path.clone()],
            plan: LinkPlan::symmetric(devices, &DirectionPlan::default(), 1),
        };
        let orders = LinkOrders {
            links: vec![order("one", ["a0", "a1"]), order("two", ["b0", "b1"])],
        };
        let mut output = Vec::new();
        serve(&orders, &b"counts\ncounts\n"[..], &mut output).unwrap();
        let events: Vec<LinkEvent> = output
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect();
        assert!(matches!(events[0], LinkEvent::Ready { .. }));
        assert_eq!(events.len(), 3);
        let LinkEvent::Counts { links } = &events[2] else {
            panic!("{events:?}");
        };
        let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
        assert_eq!(names, ["one", "two"]);
    }
}
