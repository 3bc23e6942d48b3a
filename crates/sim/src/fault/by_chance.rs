//! What all faults have in common that strike by chance: how likely they are, whom they hit, and
//! how often they did.

use eosim_actor::{Site, Stream};
use eosim_types::{ActorId, Duration, Instant};

use super::{Command, Count, Described, Envelope, Fate, FaultCx, Phase, Rate, Way};

/// One kind of fault: what it does once it strikes.
pub trait Fault {
    /// Its name in scenarios and counts.
    const NAME: &'static str;

    /// Where it asks whether it strikes. A planned fault does not ask.
    const SITE: Site = Site::new("fault.planned", Stream::Fault);

    /// Which way travel the messages that it may hit, if it hits messages.
    const WAY: Option<Way> = None;

    /// The run begins: what is planned for certain instants is ordered now. How much that is.
    fn start(&self, _: &mut FaultCx<'_>) -> u64 {
        0
    }

    /// If it strikes by the clock: the time between two ticks, and whom it may hit at each.
    fn ticks(&self) -> Option<(Duration, &[ActorId])> {
        None
    }

    /// May it hit this message, of those that travel on [`Fault::WAY`]?
    #[inline]
    fn concerns<M: Described>(&self, _: &M) -> bool {
        true
    }

    /// It strikes a message that is sent on [`Fault::WAY`].
    #[inline]
    fn message<M>(&self, _: &mut FaultCx<'_>, _: Phase, _: Envelope<'_, M>) -> Fate {
        Fate::Deliver
    }

    /// It strikes `actor` at a tick; how often in a row.
    fn process(&self, _: &mut FaultCx<'_>, _: Phase, _actor: ActorId) -> u64 {
        0
    }
}

/// A fault with its chance.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ByChance<F> {
    /// For each message, or for each target at each tick.
    pub rate: Rate,
    /// What happens then.
    pub fault: F,
    /// How often it did.
    pub count: Count,
}

impl<F: Fault> ByChance<F> {
    /// `fault`, with this chance.
    #[must_use]
    pub fn new(rate: Rate, fault: F) -> Self {
        Self { rate, fault, count: Count::default() }
    }

    /// Can it strike at all?
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.rate.numerator > 0
    }

    pub(super) fn start(&mut self, cx: &mut FaultCx<'_>, phase: Phase) {
        self.count.applied += self.fault.start(cx);
        self.wake(cx, phase, phase.start);
    }

    /// What becomes of a message.
    #[inline]
    pub(super) fn sent<M: Described>(
        &mut self,
        cx: &mut FaultCx<'_>,
        phase: Phase,
        envelope: Envelope<'_, M>,
    ) -> Fate {
        if !self.fault.concerns(envelope.message) || !self.rate.strikes(cx, F::SITE, envelope.from)
        {
            return Fate::Deliver;
        }
        let fate = self.fault.message(cx, phase, envelope);
        self.count.apply(fate.is_effective_at_once() && envelope.awaited);
        fate
    }

    /// A tick.
    pub(super) fn woken(&mut self, cx: &mut FaultCx<'_>, phase: Phase) {
        let targets = self.fault.ticks().map_or(&[][..], |(_, targets)| targets);
        for &actor in targets {
            if self.rate.strikes(cx, F::SITE, actor) {
                self.count.applied += self.fault.process(cx, phase, actor);
            }
        }
        self.wake(cx, phase, cx.now);
    }

    /// Orders the tick after `last`, if there is one within the phase.
    fn wake(&self, cx: &mut FaultCx<'_>, phase: Phase, last: Instant) {
        let Some((every, _)) = self.fault.ticks().filter(|_| self.is_on()) else { return };
        assert!(every > Duration::ZERO, "{} would be woken for ever", F::NAME);
        if phase.contains(last + every) {
            cx.order(last + every, Command::Wake);
        }
    }
}
