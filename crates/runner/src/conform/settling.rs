//! Waiting for a settled cluster, as the recorder did between steps.

use eosim_types::Duration;
use eosim_types::message::{DescribeTransactionsRequest, GroupMember, OffsetFetchRequest};
use serde_json::Value;

use super::answer;
use super::asked::Asked;
use super::operation::Target;
use super::player::Player;

/// How often the recorder looks.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often in a row it must have found the cluster settled.
const LOOKS: u32 = 3;
/// How often it looks at most: for 30 s.
const LOOKS_MAX: u32 = 300;
/// How often it looks at most at transactions that are decided but not complete: for 1 s. Some
/// are not for long (C-MRK-12), some never (H-4).
const DECIDED_LOOKS_MAX: u32 = 10;

impl Player<'_> {
    /// On one broker: runs until nothing is left to do but timers. On several: until every broker
    /// that answers knows the leaders, all that answer are in sync, coordinators have loaded and
    /// no transaction is being completed.
    pub(crate) fn settle(&mut self) {
        match &mut self.asked {
            Asked::Model(recorder) => recorder.settle(),
            Asked::Live(live) => {
                let ids = self.seen.values().filter_map(|target| match target {
                    Target::Transaction(id) => Some(*id),
                    _ => None,
                });
                live.settle(&ids.collect::<Vec<_>>(), &mut self.names);
            }
        }
        if !self.several_brokers {
            return;
        }
        let mut found = 0;
        for look in 0..LOOKS_MAX {
            self.asked.sleep(LOOK_EVERY);
            let settled = self.asked.view().is_settled()
                && self.coordinators_are_settled(look < DECIDED_LOOKS_MAX);
            found = if settled { found + 1 } else { 0 };
            if found == LOOKS {
                return;
            }
        }
    }

    fn coordinators_are_settled(&mut self, complete: bool) -> bool {
        let targets: Vec<Target> = self.seen.values().copied().collect();
        targets.into_iter().all(|target| {
            let answer = self.ask_coordinator(target);
            let state = answer["state"].as_str();
            let waited_for = complete && state.is_some_and(|state| state.starts_with("Prepare"));
            let loading = answer::errors(&answer).iter().any(|error| LOADING.contains(error));
            !loading && !waited_for
        })
    }

    fn ask_coordinator(&mut self, target: Target) -> Value {
        match target {
            Target::Transaction(transactional_id) => {
                self.ask_once(target, DescribeTransactionsRequest { transactional_id })
            }
            Target::Group(group) => {
                let partitions = Some(Vec::new());
                let request = OffsetFetchRequest {
                    version: 7,
                    group,
                    member: GroupMember::NONE,
                    partitions,
                    require_stable: false,
                };
                self.ask_once(target, request)
            }
            Target::Leader(_) | Target::Any | Target::Broker(_) => Value::Null,
        }
    }
}

/// What a coordinator answers that has not taken over yet.
const LOADING: [&str; 3] =
    ["COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"];
