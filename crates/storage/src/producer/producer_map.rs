//! A map from producer ids that keeps its memory when it is cleared.
//!
//! Kafka's counterpart is a `HashMap`; here the order must be fixed, and worlds are reset often.

use alloc::vec::Vec;

use eosim_types::ProducerId;

/// Values by producer id, sorted.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ProducerMap<V>(Vec<(ProducerId, V)>);

impl<V> Default for ProducerMap<V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<V> ProducerMap<V> {
    fn place(&self, producer_id: ProducerId) -> Result<usize, usize> {
        self.0.binary_search_by_key(&producer_id, |(id, _)| *id)
    }

    pub(crate) fn get(&self, producer_id: ProducerId) -> Option<&V> {
        self.place(producer_id).ok().map(|place| &self.0[place].1)
    }

    pub(crate) fn get_mut(&mut self, producer_id: ProducerId) -> Option<&mut V> {
        self.place(producer_id).ok().map(|place| &mut self.0[place].1)
    }

    pub(crate) fn insert(&mut self, producer_id: ProducerId, value: V) {
        match self.place(producer_id) {
            Ok(place) => self.0[place].1 = value,
            Err(place) => self.0.insert(place, (producer_id, value)),
        }
    }

    pub(crate) fn remove(&mut self, producer_id: ProducerId) {
        if let Ok(place) = self.place(producer_id) {
            self.0.remove(place);
        }
    }

    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&V) -> bool) {
        self.0.retain(|(_, value)| keep(value));
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (ProducerId, &V)> {
        self.0.iter().map(|(id, value)| (*id, value))
    }
}
