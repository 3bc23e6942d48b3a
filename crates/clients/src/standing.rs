//! A look at a client from outside, for people: what its producer and its consumer are at.

use eosim_types::look::{ClientStanding, ProducerStanding};

use crate::client::Client;
use crate::consumer::Consumer;
use crate::producer::State;

impl Client {
    /// What its producer and its consumer are at.
    #[must_use]
    pub fn standing(&self) -> ClientStanding {
        let session = match self {
            Self::Producer(application) => Some(application.session()),
            Self::Transformer(application) => Some(application.session()),
            Self::Consumer(_) | Self::GroupConsumer(_) | Self::Admin(_) => None,
        };
        let producer = session.and_then(|session| {
            let producer = session.producer.as_ref()?;
            let id_and_epoch = producer.producer_id_and_epoch();
            Some(ProducerStanding {
                state: producer.state().map(State::name),
                producer_id: id_and_epoch.producer_id,
                producer_epoch: id_and_epoch.producer_epoch,
                transaction: session.transaction,
            })
        });
        let consumer = match self {
            Self::Consumer(application) => application.consumer(),
            Self::GroupConsumer(application) => application.consumer(),
            Self::Transformer(application) => application.consumer(),
            Self::Producer(_) | Self::Admin(_) => None,
        };
        ClientStanding {
            producer,
            consumer: consumer.map(|consumer| Consumer::positions(consumer).collect()),
            is_finished: self.is_finished(),
            waits_for: self.waits_for(),
        }
    }
}
