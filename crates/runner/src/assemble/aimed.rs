//! Rules that are aimed, as the world takes them.

use eosim_actor::CrashKind;
use eosim_scenario::plan::{self, Plan, When};
use eosim_sim::fault::{
    Action, Aimed, AimedFault, Cue, HoldKey, MessageCue, Moment, Trigger, Which, Whom,
};
use eosim_types::marks::Mark;
use eosim_types::message::Facts;
use eosim_types::{Duration, Instant, Names, ProducerEpoch, Sequence, TopicPartition};

use super::roles::Actors;

/// The rules of `plan`, whose strings are `names`.
pub(super) fn aimed<'a>(plan: &'a Plan, actors: &'a Actors, names: &'a mut Names) -> Aimed {
    let mut assembly = Assembly { actors, names, held: Vec::new() };
    let rules = plan.aimed.iter().enumerate().map(|(index, rule)| {
        let when = assembly.trigger(&rule.when, Which::Nth(1));
        let fault = AimedFault::new(when, assembly.action(&rule.r#do, index));
        match rule.r#do.until() {
            Some(until) => fault.until(assembly.trigger(until, Which::Next)),
            None => fault,
        }
    });
    let until = Instant::START + Duration::from_millis(plan.faults.until_ms);
    let end = if until > Instant::START { until } else { Instant::FAR };
    Aimed { rules: rules.collect(), end }
}

struct Assembly<'a> {
    actors: &'a Actors,
    /// Where everything that is named stands already.
    names: &'a mut Names,
    /// The names under which messages are held.
    held: Vec<&'a str>,
}

impl<'a> Assembly<'a> {
    /// `unsaid`: which of the messages that fit, if nothing is said.
    fn trigger(&mut self, when: &When, unsaid: Which) -> Trigger {
        if let Some(at_ms) = when.at_ms {
            let cue = Cue::At(Instant::START + Duration::from_millis(at_ms));
            return Trigger { cue, which: Which::Nth(1), after: None };
        }
        let which = match (when.nth, when.every) {
            (Some(nth), _) => Which::Nth(nth),
            (None, Some(every)) => Which::Every(every),
            (None, None) => unsaid,
        };
        let after = when.after.as_deref().map(|after| self.trigger(after, Which::Nth(1)));
        Trigger { cue: self.cue(when), which, after: after.map(Box::new) }
    }

    fn cue(&mut self, when: &When) -> Cue {
        let actor = |name: &Option<String>| name.as_ref().map(|name| self.actors.named(name));
        let (from, to) = (actor(&when.sender), actor(&when.receiver));
        if let Some(name) = &when.reached {
            let state = Mark::state(name).expect("a checked rule names a known state");
            return Cue::Reached(state, actor(&when.by));
        }
        let (moment, api) = when.moment().expect("a checked rule names a moment");
        Cue::Message(MessageCue {
            moment: self::moment(moment),
            api: Some(api.name().to_string()),
            from,
            to,
            facts: self.facts(when),
            error: when.error,
        })
    }

    fn facts(&mut self, when: &When) -> Facts {
        let names = &mut *self.names;
        let partition = when.partition.as_deref().and_then(plan::split_partition);
        Facts {
            api_version: when.api_version,
            transactional_id: when
                .transactional_id
                .as_ref()
                .map(|id| names.add_transactional_id(id)),
            group: when.group.as_ref().map(|group| names.add_group(group)),
            producer_id: None,
            producer_epoch: when.producer_epoch.map(ProducerEpoch),
            partition: partition.map(|(topic, partition)| TopicPartition {
                topic: names.add_topic(topic),
                partition: i32::try_from(partition).expect("a checked partition"),
            }),
            base_sequence: when.base_sequence.map(Sequence),
            committed: when.commit,
        }
    }

    /// What the rule at `index` does.
    fn action(&mut self, action: &'a plan::Action, index: usize) -> Action {
        let ms = Duration::from_millis;
        match action {
            plan::Action::Drop => Action::Drop,
            plan::Action::Silence => Action::Silence,
            plan::Action::Reset => Action::Reset,
            plan::Action::DelayMs(time) => Action::Delay(ms(*time)),
            plan::Action::LateMs(time) => Action::Late(Some(ms(*time))),
            plan::Action::LateUntil(_) => Action::Late(None),
            plan::Action::Hold(name) => Action::Hold(self.key(name)),
            plan::Action::Release(name) => Action::Release(self.key(name)),
            plan::Action::HoldUntil(_) => Action::Hold(Aimed::own_key(index)),
            plan::Action::AnswerWith(error) => Action::Refuse(*error),
            plan::Action::Crash(crash) => Action::Crash {
                who: self.whom(&crash.who),
                kind: match crash.kind {
                    plan::CrashKind::Process => CrashKind::Process,
                    plan::CrashKind::PowerLoss => CrashKind::PowerLoss,
                },
                down: crash.down_ms.map(ms),
            },
            plan::Action::Stop(stop) => {
                Action::Stop { who: self.whom(&stop.who), down: stop.down_ms.map(ms) }
            }
            plan::Action::Pause(pause) => {
                Action::Pause { who: self.whom(&pause.who), lasts: pause.for_ms.map(ms) }
            }
        }
    }

    fn whom(&self, who: &str) -> Whom {
        match who {
            "sender" => Whom::Sender,
            "receiver" => Whom::Receiver,
            "it" => Whom::It,
            name => Whom::Actor(self.actors.named(name)),
        }
    }

    /// The number of the name under which messages are held.
    fn key(&mut self, name: &'a str) -> HoldKey {
        let known = self.held.iter().position(|known| *known == name);
        let at = known.unwrap_or_else(|| {
            self.held.push(name);
            self.held.len() - 1
        });
        HoldKey(u16::try_from(at).expect("at most 64 rules"))
    }
}

fn moment(moment: plan::Moment) -> Moment {
    match moment {
        plan::Moment::Sent => Moment::Sent,
        plan::Moment::Received => Moment::Received,
        plan::Moment::Answered => Moment::Answered,
        plan::Moment::AnswerReceived => Moment::AnswerReceived,
    }
}
