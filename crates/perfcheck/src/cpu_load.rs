//! CPU time that other programs took during a session: what they slow down looks like a regression.

use std::fs;

use tare_report::quantity;

/// Share of all cores from which on it is said.
const SHARE_MAX: f64 = 0.1;

/// CPU time since the boot, in the kernel's ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuTicks {
    /// Of all cores.
    all: u64,
    /// Of these, not idle.
    busy: u64,
    /// Of these, of this process and of its children that have ended.
    own: u64,
}

impl CpuTicks {
    /// The times until now; `None` where the kernel does not say them.
    pub fn read() -> Option<CpuTicks> {
        let machine = fs::read_to_string("/proc/stat").ok()?;
        let own = fs::read_to_string("/proc/self/stat").ok()?;
        parse(&machine, &own)
    }

    /// The sentence about other programs since an earlier time; `None`: they took little.
    pub fn note_since(self, before: CpuTicks) -> Option<String> {
        let since =
            |field: fn(&CpuTicks) -> u64| field(&self).saturating_sub(field(&before)) as f64;
        let others = since(|ticks| ticks.busy) - since(|ticks| ticks.own);
        let share = others / since(|ticks| ticks.all);
        (share > SHARE_MAX).then(|| {
            format!(
                "other programs took {} of the CPU time of all cores while this was measured: what is slower may be so because of them",
                quantity::percent(share)
            )
        })
    }
}

fn parse(machine: &str, own: &str) -> Option<CpuTicks> {
    let total = machine.lines().next()?.strip_prefix("cpu ")?;
    // User, nice, system, idle, waiting for disks, interrupts, soft interrupts, stolen (proc_stat(5)).
    let fields = total
        .split_ascii_whitespace()
        .take(8)
        .map(|field| field.parse().ok());
    let fields: Vec<u64> = fields.collect::<Option<_>>()?;
    let all: u64 = fields.iter().sum();
    // The name in parentheses may hold blanks; fields 14 to 17 (proc_pid_stat(5)).
    let after = own.get(own.rfind(')')? + 1..)?.split_ascii_whitespace();
    let times = after
        .skip(11)
        .take(4)
        .map(|field| field.parse::<u64>().ok());
    let times: Vec<u64> = times.collect::<Option<_>>()?;
    Some(CpuTicks {
        all,
        busy: all - fields.get(3)? - fields.get(4)?,
        own: times.iter().sum(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: &str = "cpu  100 10 50 800 20 5 5 10 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
    const OWN: &str = "7 (a ) b) S 1 7 7 0 -1 4194560 500 900 0 0 12 34 5 6 20 0 1 0 9 9 9";

    #[test]
    fn times_of_the_machine_and_of_this_process_are_read() {
        let expected = CpuTicks {
            all: 1000,
            busy: 180,
            own: 57,
        };
        assert_eq!(parse(MACHINE, OWN), Some(expected));
        assert_eq!(parse("", OWN), None);
        assert!(CpuTicks::read().is_some());
    }

    #[test]
    fn other_programs_are_said_from_a_tenth_of_all_cores_on() {
        let before = parse(MACHINE, OWN).unwrap();
        let after = |busy, own| CpuTicks {
            all: before.all + 1000,
            busy: before.busy + busy,
            own: before.own + own,
        };
        assert_eq!(after(600, 550).note_since(before), None);
        let said = after(900, 500).note_since(before).unwrap();
        assert!(said.starts_with("other programs took 40 % of"), "{said}");
    }
}
