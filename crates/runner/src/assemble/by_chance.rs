//! From what a scenario says of the faults that strike by chance to the faults themselves.

use eosim_scenario::plan::{
    Crash as CrashPlan, Partition as PartitionPlan, RestartLoop as RestartLoopPlan,
};
use eosim_scenario::{Plan, Probability, Spread};
use eosim_sim::fault::{
    ByChance, ClockJump, ConnectionReset, ControllerAway, Crash, DiskError, FeatureChange, GcPause,
    Housekeeping, ImpossibleDuplicate, ImpossibleReorder, LateRequest, LeaderElection, LoadError,
    LostRequest, LostResponse, Partition, Phase, Random, Range, Rate, Reassignment,
    ReplicationStall, RestartLoop, SlowActor, SlowLink, StaleMetadata, Times,
};
use eosim_types::{Duration, Instant};

use super::roles::{Actors, crash_targets};

/// Takes over each fault of which the scenario speaks, with its rate: one line per fault.
macro_rules! take_over {
    ($plan:expr, $random:ident, $($name:ident: |$said:ident| $fault:expr,)+) => {
        $(if let Some($said) = &$plan.faults.$name {
            $random.$name = ByChance::new(rate($said.rate), $fault);
        })+
    };
}

/// The faults of `plan` that strike by chance, but for zombies.
pub(super) fn random(plan: &Plan, actors: &Actors) -> Random {
    let (start, end) = (at_ms(plan.faults.start_ms), at_ms(plan.faults.until_ms));
    let mut random = Random { phase: Phase { start, end }, ..Random::default() };
    if let Some(probability) = plan.faults.lost_response {
        random.lost_response = ByChance::new(rate(probability), LostResponse::default());
    }
    take_over! { plan, random,
        lost_request: |said| LostRequest { silent: said.silent },
        late_request: |said| LateRequest { after: range(said.delay_ms) },
        connection_reset: |said| ConnectionReset { after: range(said.after_ms) },
        crash: |said| crash(plan, actors, said),
        gc_pause: |said| GcPause {
            every: ms(said.every_ms),
            targets: actors.stallable(said.target),
            lasts: range(said.pause_ms),
        },
        partition: |said| partition(actors, said),
        slow_link: |said| SlowLink {
            every: ms(said.every_ms),
            targets: actors.linked(said.target),
            peers: actors.peers(said.peers),
            slower: range(said.slower_ms),
            lasts: range(said.lasts_ms),
        },
        slow_actor: |said| SlowActor {
            every: ms(said.every_ms),
            targets: actors.stallable(said.target),
            pause: range(said.pause_ms),
            lasts: range(said.lasts_ms),
        },
        restart_loop: |said| restart_loop(plan, actors, said),
        clock_jump: |said| ClockJump {
            every: ms(said.every_ms),
            targets: actors.with_clocks(said.target),
            off_by: range(said.off_by_ms),
        },
        controller_away: |said| {
            ControllerAway { every: ms(said.every_ms), lasts: range(said.lasts_ms) }
        },
        replication_stall: |said| ReplicationStall {
            every: ms(said.every_ms),
            brokers: actors.brokers(),
            lasts: range(said.lasts_ms),
        },
        stale_metadata: |said| StaleMetadata { delay: range(said.delay_ms) },
        disk_error: |said| DiskError {
            every: ms(said.every_ms),
            brokers: actors.brokers(),
            after_write: rate(said.after_write),
            down: range(said.down_ms),
        },
        load_error: |said| LoadError {
            every: ms(said.every_ms),
            brokers: actors.brokers(),
            lasts: range(said.lasts_ms),
        },
        reassignment: |said| Reassignment { every: ms(said.every_ms) },
        leader_election: |said| {
            LeaderElection { every: ms(said.every_ms), unclean: rate(said.unclean) }
        },
        housekeeping: |said| {
            Housekeeping { every: ms(said.every_ms), brokers: actors.brokers() }
        },
        feature_change: |said| FeatureChange { every: ms(said.every_ms) },
        impossible_duplicate: |said| ImpossibleDuplicate { after: range(said.delay_ms) },
        impossible_reorder: |said| ImpossibleReorder { delay: range(said.delay_ms) },
    }
    random
}

fn crash(plan: &Plan, actors: &Actors, said: &CrashPlan) -> Crash {
    Crash {
        every: ms(said.every_ms),
        targets: crash_targets(plan, actors, said.target),
        power_loss: rate(said.power_loss),
        down: range(said.down_ms),
    }
}

fn partition(actors: &Actors, said: &PartitionPlan) -> Partition {
    Partition {
        every: ms(said.every_ms),
        targets: actors.linked(said.target),
        peers: actors.peers(said.peers),
        one_way: rate(said.one_way),
        lasts: range(said.lasts_ms),
    }
}

fn restart_loop(plan: &Plan, actors: &Actors, said: &RestartLoopPlan) -> RestartLoop {
    let times = |bound| u32::try_from(bound).expect("at most 100");
    RestartLoop {
        every: ms(said.every_ms),
        targets: crash_targets(plan, actors, said.target),
        times: Times { min: times(said.times.min), max: times(said.times.max) },
        up: range(said.up_ms),
        down: range(said.down_ms),
    }
}

fn rate(probability: Probability) -> Rate {
    Rate::new(probability.numerator, probability.denominator)
}

fn range(spread: Spread) -> Range {
    Range::from_millis(spread.min, spread.max)
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn at_ms(at: u64) -> Instant {
    Instant::START + ms(at)
}
