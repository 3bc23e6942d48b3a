//! Who is asked: the model, or a broker elsewhere.

use eosim_types::message::{Request, Response};
use eosim_types::{ActorId, Duration, Instant, Names, TransactionalId};

use super::operation::Target;
use super::operator::Process;
use super::player::NoLeader;
use super::recorder::{Fate, Recorder};
use super::view::View;

/// A broker outside of the simulator that answers what recordings ask of a single one.
pub trait Live {
    /// Time since some beginning.
    fn now(&self) -> Instant;

    /// What a clock shows, ms.
    fn now_ms(&self) -> i64;

    /// Waits.
    fn sleep(&mut self, time: Duration);

    /// The answer to `request`; `None` if the connection broke or nobody answers. A Produce with
    /// acks=0 is sent only.
    fn ask(&mut self, target: Target, request: &Request, names: &mut Names) -> Option<Response>;

    /// Waits until no transaction of `ids` is being completed.
    fn settle(&mut self, ids: &[TransactionalId], names: &mut Names);

    /// Takes the broker down and starts it again.
    ///
    /// # Errors
    ///
    /// Why that is not possible.
    fn restart(&mut self, how: Process) -> Result<(), String>;
}

/// Who is asked.
pub(crate) enum Asked<'a> {
    /// The model.
    Model(Box<Recorder>),
    /// A broker elsewhere.
    Live(&'a mut dyn Live),
}

impl Asked<'_> {
    pub(crate) fn now(&self) -> Instant {
        match self {
            Self::Model(recorder) => recorder.now(),
            Self::Live(live) => live.now(),
        }
    }

    pub(crate) fn now_ms(&self) -> i64 {
        match self {
            Self::Model(recorder) => recorder.now_ms(),
            Self::Live(live) => live.now_ms(),
        }
    }

    pub(crate) fn sleep(&mut self, time: Duration) {
        match self {
            Self::Model(recorder) => recorder.sleep(time),
            Self::Live(live) => live.sleep(time),
        }
    }

    /// Sends a request once.
    pub(crate) fn ask(
        &mut self,
        target: Target,
        request: &Request,
        names: &mut Names,
    ) -> Result<Fate, NoLeader> {
        match self {
            Self::Model(recorder) => {
                let broker = View::new(recorder).route(target).ok_or(NoLeader)?;
                Ok(recorder.call(ActorId::of_broker(broker), request.clone()))
            }
            Self::Live(live) => Ok(live.ask(target, request, names)),
        }
    }

    /// Sends a request that is not answered.
    pub(crate) fn tell(
        &mut self,
        target: Target,
        request: &Request,
        names: &mut Names,
    ) -> Result<(), NoLeader> {
        match self {
            Self::Model(recorder) => {
                let broker = View::new(recorder).route(target).ok_or(NoLeader)?;
                recorder.tell(ActorId::of_broker(broker), request.clone());
            }
            Self::Live(live) => drop(live.ask(target, request, names)),
        }
        Ok(())
    }

    /// The model's recorder.
    ///
    /// # Panics
    ///
    /// If a live broker is asked: cases that need more are refused before they begin.
    pub(crate) fn recorder(&mut self) -> &mut Recorder {
        match self {
            Self::Model(recorder) => recorder,
            Self::Live(_) => unreachable!("cases of several brokers are not asked of a live one"),
        }
    }

    /// The cluster as the model's brokers know it.
    pub(crate) fn view(&self) -> View<'_> {
        match self {
            Self::Model(recorder) => View::new(recorder),
            Self::Live(_) => unreachable!("cases of several brokers are not asked of a live one"),
        }
    }
}
