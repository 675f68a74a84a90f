//! Parsing of what the kernel shows, and sums over processes.

use std::time::Duration;

use super::machine::{CoreTicks, first_number, loopback_packets, parse_stat, times_interrupts};
use super::*;
use crate::process::{field, queued};

const STAT: &str = "cpu  100 1 20 800 5 2 7 3 50 0\ncpu0 60 1 10 400 5 2 7 1 50 0\ncpu2 40 0 10 400 0 0 0 2 0 0\nintr 12345 0\nctxt 99\n";

#[test]
fn idle_time_has_waiting_for_a_disk_in_it_and_a_core_that_is_offline_is_none() {
    let cores = parse_stat(STAT).unwrap();
    let expected = CoreTicks {
        idle: 405,
        softirq: 7,
        steal: 1,
    };
    assert_eq!(cores.len(), 3);
    assert_eq!((cores[0], cores[1]), (Some(expected), None));
    assert_eq!(cores[2].unwrap().idle, 400);
}

#[test]
fn a_table_that_is_not_there_is_nothing_not_zero() {
    assert_eq!(parse_stat("intr 1 2 3\n"), None);
    assert_eq!(parse_stat("cpu0 1 2 3\n"), None);
    assert_eq!(parse_stat("cpu0 0 0 0 0 0 0 0 0 0 0\n"), None);
    assert_eq!(loopback_packets("  eth0: 1 2 3 4\n"), None);
    assert_eq!(field("VmRSS:\t 12 kB\n", "VmHWM"), None);
    assert_eq!(first_number(""), None);
}

#[test]
fn who_is_charged_with_softirq_is_how_the_kernel_was_made() {
    let made = "CONFIG_TICK_CPU_ACCOUNTING=y\nCONFIG_IRQ_TIME_ACCOUNTING=y\n";
    assert!(times_interrupts(made));
    let other = "# CONFIG_IRQ_TIME_ACCOUNTING is not set\nCONFIG_HAVE_IRQ_TIME_ACCOUNTING=y\n";
    assert!(!times_interrupts(other));
}

#[test]
fn packets_of_the_loopback_device_are_found_among_others() {
    let text = "Inter-|   Receive\n face |bytes    packets errs\n  eth0: 999 888 0 0\n    lo: 5000 42 0 0 0 0 0 0 5000 42 0 0\n";
    assert_eq!(loopback_packets(text), Some(42));
}

#[test]
fn a_kernel_without_queue_statistics_is_told_from_a_thread_that_never_waited() {
    assert_eq!(queued("0 0 0\n"), None);
    assert_eq!(queued("1200 0 3\n"), Some(0));
    assert_eq!(queued("1200 77 3\n"), Some(77));
    assert_eq!(queued("1200\n"), None);
}

#[test]
fn a_field_is_not_taken_for_another_with_the_same_beginning() {
    let text = "read_bytes_other: 1\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t9\nread_bytes: 4096\nthrottled_usec 12\n";
    assert_eq!(field(text, "read_bytes"), Some(4096));
    assert_eq!(field(text, "voluntary_ctxt_switches"), Some(5));
    assert_eq!(field(text, "nonvoluntary_ctxt_switches"), Some(9));
    assert_eq!(field(text, "throttled_usec"), Some(12));
}

#[test]
fn busy_is_what_was_neither_idle_nor_stolen_and_foreign_what_of_it_is_not_ours() {
    let first = MachineReading::take().unwrap();
    let mut last = first.clone();
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
    last.add_for_test(Duration::from_nanos(tick_ns * 200), 60, 40);
    let usage = last.since(&first, Some(300_000_000));
    assert_eq!(usage.window_ns, tick_ns * 200);
    // 160 ticks that it had, 100 of them busy.
    let online: Vec<f64> = (usage.core_busy.iter().copied().filter(|busy| *busy > 0.0)).collect();
    for busy in &online {
        assert!((busy - 0.625).abs() < 1e-9, "{busy}");
    }
    let steal = usage.steal_share.unwrap();
    assert!((steal - 0.2).abs() < 1e-9, "{steal}");
    let cores = online.len() as u64;
    assert_eq!(
        usage.background_cpu_ns,
        Some(cores * 100 * tick_ns - 300_000_000)
    );
    assert_eq!(last.since(&first, None).background_cpu_ns, None);
    // Our clock is finer than the machine's ticks: never below nothing.
    assert_eq!(
        last.since(&first, Some(u64::MAX)).background_cpu_ns,
        Some(0)
    );
    // Shorter than a tick: no shares.
    let mut soon = first.clone();
    soon.add_for_test(Duration::from_nanos(tick_ns / 2), 0, 0);
    assert!(soon.since(&first, None).core_busy.is_empty());
}

#[test]
fn this_process_has_memory_threads_and_processor_time() {
    let me = ObservedInstance {
        instance: String::from("me"),
        role: String::from("app"),
        software: String::from("test"),
        scope: Scope::Only(vec![std::process::id()]),
        is_held_with_pod: false,
    };
    let mut observation = Box::new(LocalObservation::start(vec![me], Vec::new(), None).unwrap());
    let block = std::hint::black_box(vec![1_u8; 64 << 20]);
    observation.tick();
    drop(block);
    let (parts, machine) = observation.finish().unwrap();
    let part = &parts[0];
    assert_eq!(part.processes, 1);
    assert!(part.cpu_ns.unwrap() > 0);
    assert!(part.threads.unwrap() >= 1);
    // The peak outlives the block, the mean has it in one of two readings.
    assert!(part.rss_peak_bytes.unwrap() >= 64 << 20);
    assert!(part.rss_mean_bytes.unwrap() >= 32 << 20);
    assert_eq!(part.packets, None);
    assert!(machine.window_ns > 0);
}

#[test]
fn a_part_that_is_not_there_cannot_be_observed() {
    let gone = ObservedInstance::tree("server", "app", "x 1", 99_999_999, "TARE_INSTANCE=none");
    assert!(LocalObservation::start(vec![gone], Vec::new(), None).is_err());
}
