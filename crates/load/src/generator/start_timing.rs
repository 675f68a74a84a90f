//! Settings for punctual starts of an open loop: scheduling and spinning of the workers, and when starts count as bunched.

use tare_record::load::{Cores, LoadPlan, Sched, Spin, Stop, Transport};

use crate::arrivals::ArrivalSchedule;
use crate::protocols::{Connects, Protocol};
use crate::worker::{SchedulingPolicy, SpinRule};

/// A start later than this, and than the mean gap, was sent in a burst with later ones.
const BUNCHED_NS_MIN: u64 = 250_000;

/// Time over which the mean gap is taken where the plan has no window in time.
const HORIZON_NS: u64 = 60_000_000_000;

/// Share of a core up to which the expected work may have real-time priority. The kernel stops real-time threads for the rest of
/// each second in which they took 95 % of it (`sched_rt_runtime_us`).
const WORK_MAX: f64 = 0.60;

/// Limit of work and spinning together, as a share of a core; the rest is for the agent's other threads.
const BUSY_MAX: f64 = 0.85;

/// Shares for spinning: of a core of its own, and of a shared one.
const SPIN_OWN: f64 = 0.5;
const SPIN_SHARED: f64 = 0.1;

/// CPU time of an exchange where none was measured: three times that of a small HTTP exchange over TLS.
const EXCHANGE_NS: u64 = 20_000;
/// The same with a new connection for each, over TCP and over TLS.
const CONNECTION_NS: [u64; 2] = [100_000, 1_000_000];

const SECOND_NS: u64 = 1_000_000_000;

/// Fixed before the load starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartTiming {
    /// Scheduling of the workers.
    pub scheduling: SchedulingPolicy,
    /// Limit of spinning.
    pub spin: SpinRule,
    /// Lateness above which a start counts as bunched; `None` for a closed loop.
    pub bunched_after_ns: Option<u64>,
}

impl StartTiming {
    /// Settings for this number of workers; `schedule` is that of an open loop.
    #[must_use]
    pub(crate) fn of(
        plan: &LoadPlan,
        protocol: &Protocol,
        schedule: Option<&ArrivalSchedule>,
        workers: u32,
    ) -> Self {
        let workers = u64::from(workers.max(1));
        let work = schedule.map(|schedule| {
            let starts = schedule.peak_arrivals(SECOND_NS).div_ceil(workers);
            starts as f64 * start_ns(plan, protocol) as f64 / SECOND_NS as f64
        });
        let is_own = plan.cores == Cores::Dedicated;
        let scheduling = match (plan.load.sched, work) {
            (Sched::Fifo, _) => SchedulingPolicy::Fifo,
            (Sched::Auto, Some(work)) if is_own && work < WORK_MAX => SchedulingPolicy::Fifo,
            (Sched::Auto | Sched::Normal, _) => SchedulingPolicy::Niceness,
        };
        let share = match is_own {
            true => SPIN_OWN.min(BUSY_MAX - work.unwrap_or(0.0)).max(0.0),
            false => SPIN_SHARED,
        };
        let horizon_ns = match plan.load.stop {
            Stop::Duration { window_ns } => plan.load.warmup_ns.saturating_add(window_ns),
            Stop::Count { .. } | Stop::Interrupted => HORIZON_NS,
        };
        let gap_ns =
            |schedule: &ArrivalSchedule| schedule.mean_gap_ns(horizon_ns).unwrap_or(horizon_ns);
        Self {
            scheduling,
            spin: match plan.load.spin {
                Spin::Off => SpinRule::Off,
                Spin::Bounded => SpinRule::Share((share * 1000.0) as u16),
            },
            bunched_after_ns: schedule
                .map(|schedule| gap_ns(schedule).saturating_mul(workers).max(BUNCHED_NS_MIN)),
        }
    }
}

/// CPU time that one start causes.
fn start_ns(plan: &LoadPlan, protocol: &Protocol) -> u64 {
    let load = &plan.load;
    let exchange_ns = plan.cpu_per_exchange_ns.unwrap_or_else(|| {
        let is_tls = matches!(load.transport, Transport::Tls(_));
        let opens = protocol.connects == Connects::PerExchange;
        match opens || load.connections.exchanges_max == Some(1) {
            true => CONNECTION_NS[usize::from(is_tls)],
            false => EXCHANGE_NS,
        }
    });
    let exchanges = load
        .mix
        .session
        .as_ref()
        .map_or(1, |session| session.request_steps().len());
    exchange_ns.saturating_mul(exchanges as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Load;

    const OWN_CORE: f64 = 2000.0;

    fn of(rate_per_s: f64, change: impl Fn(&mut LoadPlan)) -> StartTiming {
        let mut load = Load::get("http://127.0.0.1:80/").unwrap().rate(rate_per_s);
        let plan = load.plan_mut();
        plan.cores = Cores::Dedicated;
        change(plan);
        let schedule = ArrivalSchedule::of_load(&plan.load, 1).unwrap();
        let http1 = &crate::protocols::http1::PROTOCOL;
        StartTiming::of(plan, http1, schedule.as_ref(), plan.load.workers)
    }

    #[test]
    fn an_open_loop_on_its_own_core_has_real_time_precedence_while_its_work_is_clearly_less_than_the_core()
     {
        assert_eq!(of(OWN_CORE, |_| {}).scheduling, SchedulingPolicy::Fifo);
        let shared = of(OWN_CORE, |plan| plan.cores = Cores::Shared);
        assert_eq!(shared.scheduling, SchedulingPolicy::Niceness);
        assert_eq!(of(40_000.0, |_| {}).scheduling, SchedulingPolicy::Niceness);
        let cheap = of(40_000.0, |plan| plan.cpu_per_exchange_ns = Some(7_000));
        assert_eq!(
            cheap.scheduling,
            SchedulingPolicy::Fifo,
            "measured: 28 % of a core"
        );
        let dear = of(OWN_CORE, |plan| plan.cpu_per_exchange_ns = Some(400_000));
        assert_eq!(dear.scheduling, SchedulingPolicy::Niceness);
        let closed = of(OWN_CORE, |plan| {
            plan.load.pacing = tare_record::load::Pacing::Max;
        });
        assert_eq!(closed.scheduling, SchedulingPolicy::Niceness);
        assert_eq!(closed.bunched_after_ns, None, "no schedule");
    }

    #[test]
    fn who_asks_for_a_policy_gets_it() {
        let asked = |sched| of(40_000.0, move |plan| plan.load.sched = sched).scheduling;
        assert_eq!(asked(Sched::Fifo), SchedulingPolicy::Fifo);
        assert_eq!(asked(Sched::Normal), SchedulingPolicy::Niceness);
    }

    #[test]
    fn spinning_leaves_a_part_of_its_own_core_to_the_agents_other_threads() {
        assert_eq!(of(OWN_CORE, |_| {}).spin, SpinRule::Share(500));
        let busy = of(OWN_CORE, |plan| plan.cpu_per_exchange_ns = Some(300_000));
        assert_eq!(busy.spin, SpinRule::Share(250), "beside 60 % of work");
        let shared = of(OWN_CORE, |plan| plan.cores = Cores::Shared);
        assert_eq!(shared.spin, SpinRule::Share(100));
        assert_eq!(
            of(OWN_CORE, |plan| plan.load.spin = Spin::Off).spin,
            SpinRule::Off
        );
    }

    #[test]
    fn starts_are_bunched_when_later_than_a_mean_gap_and_never_below_a_quarter_of_a_millisecond() {
        assert_eq!(of(1000.0, |_| {}).bunched_after_ns, Some(1_000_000));
        assert_eq!(of(20_000.0, |_| {}).bunched_after_ns, Some(BUNCHED_NS_MIN));
        let dealt_out = of(1000.0, |plan| plan.load.workers = 4);
        assert_eq!(
            dealt_out.bunched_after_ns,
            Some(4_000_000),
            "a gap of one worker"
        );
    }
}
