//! A map in one sorted list, which keeps its memory when it empties.
//!
//! For the maps of one process, where Kafka has a `HashMap`: they hold little at a time, come and go
//! all the time, and their order must be fixed. Keys mostly rise, so that most go to the end.

use alloc::vec::Vec;

/// Values by key, in the order of the keys.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SortedMap<K, V>(Vec<(K, V)>);

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Ord + Copy, V> SortedMap<K, V> {
    #[inline]
    fn place(&self, key: K) -> Result<usize, usize> {
        self.0.binary_search_by_key(&key, |(known, _)| *known)
    }

    /// The value of `key`.
    #[inline]
    #[must_use]
    pub fn get(&self, key: K) -> Option<&V> {
        self.place(key).ok().map(|place| &self.0[place].1)
    }

    /// The value of `key`, to be changed.
    #[inline]
    pub fn get_mut(&mut self, key: K) -> Option<&mut V> {
        self.place(key).ok().map(|place| &mut self.0[place].1)
    }

    /// Gives `key` a value, in place of the one that it may have.
    pub fn insert(&mut self, key: K, value: V) {
        if self.0.last().is_none_or(|(last, _)| *last < key) {
            return self.0.push((key, value));
        }
        match self.place(key) {
            Ok(place) => self.0[place].1 = value,
            Err(place) => self.0.insert(place, (key, value)),
        }
    }

    /// The value of `key`, which is made if there is none.
    pub fn get_or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        let place = self.place(key).unwrap_or_else(|place| {
            self.0.insert(place, (key, V::default()));
            place
        });
        &mut self.0[place].1
    }

    /// Takes the value of `key` out.
    pub fn remove(&mut self, key: K) -> Option<V> {
        self.place(key).ok().map(|place| self.0.remove(place).1)
    }

    /// Keeps what `keep` says.
    pub fn retain(&mut self, mut keep: impl FnMut(&V) -> bool) {
        self.0.retain(|(_, value)| keep(value));
    }

    /// Forgets everything; memory is kept.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Is there nothing?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entry that stands at `place`, counted from the smallest key.
    #[must_use]
    pub fn at(&self, place: usize) -> Option<(K, &V)> {
        self.0.get(place).map(|(key, value)| (*key, value))
    }

    /// The same, to be changed.
    pub fn at_mut(&mut self, place: usize) -> Option<(K, &mut V)> {
        self.0.get_mut(place).map(|(key, value)| (*key, value))
    }

    /// Every entry.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (K, &V)> {
        self.0.iter().map(|(key, value)| (*key, value))
    }

    /// Every key.
    pub fn keys(&self) -> impl Iterator<Item = K> {
        self.0.iter().map(|(key, _)| *key)
    }

    /// Every value, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.0.iter_mut().map(|(_, value)| value)
    }

    /// Every value.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.0.iter().map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stand_in_the_order_of_their_keys() {
        let mut map = SortedMap::default();
        for (key, value) in [(3, 'c'), (1, 'a'), (5, 'e'), (3, 'd')] {
            map.insert(key, value);
        }
        assert!(map.iter().map(|(key, value)| (key, *value)).eq([(1, 'a'), (3, 'd'), (5, 'e')]));
        assert_eq!((map.remove(3), map.remove(3)), (Some('d'), None));
        assert_eq!((map.get(5), map.get(3), map.at(1)), (Some(&'e'), None, Some((5, &'e'))));
        map.retain(|value| *value == 'a');
        *map.get_or_default(0) = 'z';
        assert!(map.keys().eq([0, 1]) && map.values().eq(&['z', 'a']));
    }
}
