//! The links of a bed in a process of their own, so that what they cost is accounted apart.

use std::fs::File;
use std::io::{self, BufRead, Read, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Counts, Link, LinkError, LinkPlan, Pool, Scheduled};

/// Longest line that is read.
const LINE_BYTES_MAX: u64 = 4096;

/// What such a process is told to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkOrders {
    /// Links to hold.
    pub links: Vec<LinkOrder>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkOrder {
    /// Its name.
    pub name: String,
    /// The namespaces of its ends, a and b: `/proc/PID/ns/net`, or `/proc/self/fd/N` for an inherited descriptor.
    pub namespaces: [PathBuf; 2],
    /// What it does.
    pub plan: LinkPlan,
}

/// What it says, one JSON object a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum LinkEvent {
    /// All devices are there; they are down and have no addresses. First line.
    Ready {
        /// How the threads are scheduled.
        scheduled: Scheduled,
    },
    /// Answer to a line: what crossed so far.
    Counts {
        /// In the order of the orders.
        links: Vec<NamedCounts>,
    },
    /// It cannot be done; last line.
    Failed {
        /// Why.
        error: String,
    },
}

/// Counts of one link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedCounts {
    /// Its name.
    pub name: String,
    /// What crossed, what was dropped and why.
    #[serde(flatten)]
    pub counts: Counts,
}

/// Holds the links until `asked` ends; each line on it is answered with the counts.
///
/// # Errors
/// When a link cannot start (said on `said` as well), or nobody listens any more.
pub fn serve(
    orders: &LinkOrders,
    asked: impl BufRead,
    mut said: impl Write,
) -> Result<(), LinkError> {
    let links = match start(orders) {
        Ok(links) => links,
        Err(error) => {
            let event = LinkEvent::Failed {
                error: error.to_string(),
            };
            // The error itself is returned.
            let _ = say(&mut said, &event);
            return Err(error);
        }
    };
    converse(orders, &links, asked, said).map_err(LinkError::NoConductor)
}

fn converse(
    orders: &LinkOrders,
    links: &[Link],
    mut asked: impl BufRead,
    mut said: impl Write,
) -> io::Result<()> {
    // The least of all: a link whose threads wait for others is what is worth knowing.
    let scheduled = links
        .iter()
        .map(Link::scheduled)
        .max()
        .unwrap_or(Scheduled::Usual);
    say(&mut said, &LinkEvent::Ready { scheduled })?;
    let mut line = Vec::new();
    loop {
        line.clear();
        if (&mut asked)
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
        say(&mut said, &LinkEvent::Counts { links })?;
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

fn say(said: &mut impl Write, event: &LinkEvent) -> io::Result<()> {
    let mut line = serde_json::to_vec(event)?;
    line.push(b'\n');
    said.write_all(&line)?;
    said.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::WayPlan;
    use crate::namespace::Namespace;

    #[test]
    fn what_cannot_start_is_said_and_returned() {
        let plan = LinkPlan::symmetric(["a0", "b0"], &WayPlan::default(), 1);
        let nowhere = PathBuf::from("/proc/0/ns/net");
        let orders = LinkOrders {
            links: vec![LinkOrder {
                name: String::from("a-b"),
                namespaces: [nowhere.clone(), nowhere],
                plan,
            }],
        };
        let mut said = Vec::new();
        let error = serve(&orders, io::empty(), &mut said).unwrap_err();
        let event: LinkEvent = serde_json::from_slice(&said).unwrap();
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
            plan: LinkPlan::symmetric(devices, &WayPlan::default(), 1),
        };
        let orders = LinkOrders {
            links: vec![order("one", ["a0", "a1"]), order("two", ["b0", "b1"])],
        };
        let mut said = Vec::new();
        serve(&orders, &b"counts\ncounts\n"[..], &mut said).unwrap();
        let events: Vec<LinkEvent> = said
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
