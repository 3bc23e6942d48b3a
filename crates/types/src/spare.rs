//! Lists that were emptied and are kept for their memory.
//!
//! What messages carry is made by one actor and ends at another. A broker is both to its peers, so
//! that what it receives can hold what it sends next.

use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

/// As many as are sent or received in one step, and some more.
const LIMIT: usize = 8;

/// Emptied lists. They are no part of anybody's state: all are equal, and a copy has none.
#[derive(Debug)]
pub struct Spare<T>(Vec<Vec<T>>);

impl<T> Spare<T> {
    /// An empty list, with memory if there is one to spare.
    #[must_use]
    pub fn take(&mut self) -> Vec<T> {
        self.0.pop().unwrap_or_default()
    }

    /// Empties `list` and keeps its memory.
    pub fn keep(&mut self, mut list: Vec<T>) {
        if list.capacity() > 0 && self.0.len() < LIMIT {
            list.clear();
            self.0.push(list);
        }
    }
}

impl<T> Default for Spare<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Clone for Spare<T> {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl<T> PartialEq for Spare<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Eq for Spare<T> {}

impl<T> Hash for Spare<T> {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn a_kept_list_is_taken_empty_and_with_its_memory() {
        let mut spare = Spare::default();
        spare.keep(vec![1, 2, 3]);
        assert_eq!(spare, Spare::default());
        let list = spare.take();
        assert_eq!((list.len(), list.capacity()), (0, 3));
        assert_eq!(spare.take().capacity(), 0);
        (0..2 * LIMIT).for_each(|_| spare.keep(vec![4]));
        assert_eq!(spare.0.len(), LIMIT);
    }
}
