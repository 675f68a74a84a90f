//! Distance by the kernel's `netem`: whether this kernel has it, and the commands that set it up.

use std::io;
use std::process::{Command, Output};

use crate::link::WayPlan;
use crate::namespace::Namespace;

/// Packets that netem holds, waiting and under way: 10 Gbit/s in packets of 1500 bytes for 100 ms.
const LIMIT_PACKETS: u64 = 100_000;
/// netem lets packets overtake when their delays differ, unless a rate lines them up; this one limits nothing.
const NO_LIMIT_BITS_PER_S: u64 = 100_000_000_000;
/// Bytes of a packet of a usual wire: netem's queue has a length in packets.
const PACKET_BYTES: u64 = 1500;

/// Whether distance can be left to the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Netem {
    /// It can.
    Here,
    /// It cannot, and why.
    Missing(String),
}

/// Tries it, in a namespace of its own.
#[must_use]
pub fn detect() -> Netem {
    let tried = Namespace::new().and_then(|namespace| {
        namespace.run(|| {
            Command::new("tc")
                .args(["qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"])
                .env("LC_ALL", "C")
                .output()
        })
    });
    match tried {
        Ok(ran) => judge(ran),
        Err(error) => Netem::Missing(error.to_string()),
    }
}

fn judge(ran: io::Result<Output>) -> Netem {
    let output = match ran {
        Ok(output) => output,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Netem::Missing(String::from(
                "the command `tc` is missing (Debian package iproute2)",
            ));
        }
        Err(error) => return Netem::Missing(format!("`tc` cannot be run: {error}")),
    };
    if output.status.success() {
        return Netem::Here;
    }
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("qdisc kind is unknown") {
        return Netem::Missing(String::from("this kernel has no netem (module sch_netem)"));
    }
    let first = said.lines().next().unwrap_or("it said nothing").trim();
    Netem::Missing(format!("`tc` refused it: {first}"))
}

/// The command, to be run in the namespace of the device, that gives what leaves the device this delay, jitter, rate and loss.
///
/// The order of packets is kept: with jitter a rate far above any device's stands where the plan has none.
#[must_use]
pub fn command(device: &str, way: &WayPlan) -> Vec<String> {
    let mut words: Vec<String> = [
        "tc", "qdisc", "replace", "dev", device, "root", "netem", "limit",
    ]
    .map(str::to_owned)
    .into();
    let mut say = |text: &[&str]| words.extend(text.iter().map(|word| (*word).to_owned()));
    say(&[&limit_packets(way).to_string()]);
    if way.delay_ns > 0 {
        say(&["delay", &format!("{}ns", way.delay_ns)]);
        if way.jitter_ns > 0 {
            say(&[&format!("{}ns", way.jitter_ns)]);
        }
    }
    if way.loss > 0.0 {
        say(&["loss", "random", &format!("{:.6}%", way.loss * 100.0)]);
    }
    let ordering = (way.jitter_ns > 0).then_some(NO_LIMIT_BITS_PER_S);
    if let Some(rate) = way.rate_bits_per_s.or(ordering) {
        say(&["rate", &format!("{rate}bit")]);
    }
    words
}

/// netem counts what is under way too.
fn limit_packets(way: &WayPlan) -> u64 {
    let Some(rate) = way.rate_bits_per_s else {
        return LIMIT_PACKETS;
    };
    let delay_ns = u128::from(way.delay_ns + way.jitter_ns);
    let flying_bytes = (u128::from(rate) * delay_ns / 8_000_000_000) as u64;
    (flying_bytes + way.queue_bytes).div_ceil(PACKET_BYTES)
}

/// The command that takes it away again.
#[must_use]
pub fn removal(device: &str) -> Vec<String> {
    ["tc", "qdisc", "del", "dev", device, "root"]
        .map(str::to_owned)
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    const MS: u64 = 1_000_000;

    fn line(way: &WayPlan) -> String {
        command("wan0", way).join(" ")
    }

    #[test]
    fn a_delay_alone_is_a_delay_alone() {
        let way = WayPlan {
            delay_ns: 12 * MS,
            ..WayPlan::default()
        };
        assert_eq!(
            line(&way),
            "tc qdisc replace dev wan0 root netem limit 100000 delay 12000000ns"
        );
        assert_eq!(removal("wan0").join(" "), "tc qdisc del dev wan0 root");
    }

    #[test]
    fn jitter_comes_with_a_rate_that_keeps_the_order() {
        let way = WayPlan {
            delay_ns: 12 * MS,
            jitter_ns: MS,
            ..WayPlan::default()
        };
        assert!(
            line(&way).ends_with("delay 12000000ns 1000000ns rate 100000000000bit"),
            "{}",
            line(&way)
        );
    }

    #[test]
    fn a_rate_bounds_what_waits_and_what_is_under_way() {
        let way = WayPlan {
            delay_ns: 12 * MS,
            rate_bits_per_s: Some(1_000_000_000),
            queue_bytes: 3_000_000,
            loss: 0.001,
            ..WayPlan::default()
        };
        // 1.5 MB under way and 3 MB waiting, in packets of 1500 bytes.
        assert_eq!(
            line(&way),
            "tc qdisc replace dev wan0 root netem limit 3000 delay 12000000ns loss random 0.100000% rate 1000000000bit"
        );
    }

    #[test]
    fn what_tc_says_becomes_a_reason() {
        let ran = |code: i32, said: &str| {
            Ok(Output {
                status: ExitStatus::from_raw(code << 8),
                stdout: Vec::new(),
                stderr: said.as_bytes().to_vec(),
            })
        };
        assert_eq!(judge(ran(0, "")), Netem::Here);
        let missing = |ran| match judge(ran) {
            Netem::Missing(why) => why,
            Netem::Here => panic!("it is not here"),
        };
        let unknown = "Error: Specified qdisc kind is unknown.\n";
        assert_eq!(
            missing(ran(2, unknown)),
            "this kernel has no netem (module sch_netem)"
        );
        let denied = "RTNETLINK answers: Operation not permitted\nmore";
        assert_eq!(
            missing(ran(2, denied)),
            "`tc` refused it: RTNETLINK answers: Operation not permitted"
        );
        assert!(missing(Err(io::ErrorKind::NotFound.into())).contains("iproute2"));
    }

    #[test]
    fn detection_agrees_with_what_the_kernel_says_when_it_is_set_up() {
        let Ok(namespace) = Namespace::new() else {
            assert!(matches!(detect(), Netem::Missing(_)));
            return;
        };
        let way = WayPlan {
            delay_ns: MS,
            ..WayPlan::default()
        };
        let words = command("lo", &way);
        let works = namespace
            .run(|| Command::new(&words[0]).args(&words[1..]).output())
            .unwrap()
            .is_ok_and(|output| output.status.success());
        assert_eq!(detect() == Netem::Here, works);
    }
}
