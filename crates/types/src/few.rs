//! A list that mostly holds one entry, and then needs no memory of its own.
//!
//! Transactions touch few partitions, answers concern few of them: messages and drafts are full of
//! such lists. To the outside it is a slice; where the entries lie changes neither equality nor
//! hash.

use alloc::vec;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};
use core::iter::Chain;
use core::mem;
use core::ops::{Deref, DerefMut};
use core::{fmt, option, slice};

/// A list that mostly holds one entry.
#[derive(Clone)]
pub enum Few<T> {
    /// One entry.
    One(T),
    /// Any number of entries; the empty list is here.
    Many(Vec<T>),
}

impl<T> Few<T> {
    /// The empty list.
    #[must_use]
    pub const fn new() -> Self {
        Self::Many(Vec::new())
    }

    /// The entries.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        self
    }

    /// Appends `value`.
    #[inline]
    pub fn push(&mut self, value: T) {
        match self {
            Self::Many(list) if list.is_empty() => *self = Self::One(value),
            Self::Many(list) => list.push(value),
            Self::One(_) => self.push_second(value),
        }
    }

    /// Apart from [`Self::push`], which mostly appends the first: entries may be large, and here
    /// they are moved.
    #[cold]
    fn push_second(&mut self, value: T) {
        if let Self::One(first) = mem::take(self) {
            *self = Self::Many(vec![first, value]);
        }
    }
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Self::One(value) => slice::from_ref(value),
            Self::Many(list) => list,
        }
    }
}

impl<T> DerefMut for Few<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::One(value) => slice::from_mut(value),
            Self::Many(list) => list,
        }
    }
}

impl<T: PartialEq> PartialEq for Few<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for Few<T> {}

impl<T: PartialEq> PartialEq<Vec<T>> for Few<T> {
    fn eq(&self, other: &Vec<T>) -> bool {
        **self == **other
    }
}

impl<T: PartialEq, const N: usize> PartialEq<[T; N]> for Few<T> {
    fn eq(&self, other: &[T; N]) -> bool {
        **self == *other
    }
}

impl<T: Hash> Hash for Few<T> {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T: fmt::Debug> fmt::Debug for Few<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T> From<Vec<T>> for Few<T> {
    fn from(list: Vec<T>) -> Self {
        Self::Many(list)
    }
}

impl<T, const N: usize> From<[T; N]> for Few<T> {
    fn from(list: [T; N]) -> Self {
        list.into_iter().collect()
    }
}

impl<T> FromIterator<T> for Few<T> {
    #[inline]
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut values = values.into_iter();
        let Some(first) = values.next() else { return Self::new() };
        let Some(second) = values.next() else { return Self::One(first) };
        let mut list = Vec::with_capacity(values.size_hint().0 + 2);
        list.extend([first, second]);
        list.extend(values);
        Self::Many(list)
    }
}

impl<T> Extend<T> for Few<T> {
    #[inline]
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        values.into_iter().for_each(|value| self.push(value));
    }
}

impl<T> IntoIterator for Few<T> {
    type Item = T;
    type IntoIter = Chain<option::IntoIter<T>, vec::IntoIter<T>>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        let (one, many) = match self {
            Self::One(value) => (Some(value), Vec::new()),
            Self::Many(list) => (None, list),
        };
        one.into_iter().chain(many)
    }
}

impl<'a, T> IntoIterator for &'a Few<T> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T> IntoIterator for &'a mut Few<T> {
    type Item = &'a mut T;
    type IntoIter = slice::IterMut<'a, T>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;

    #[test]
    fn it_is_the_list_whose_entries_it_was_given() {
        for count in 0..4 {
            let list: Vec<u32> = (0..count).collect();
            let mut few: Few<u32> = list.iter().copied().collect();
            assert_eq!(*few, *list);
            assert_eq!(few, Few::from(list.clone()));
            assert_eq!(Digest::of(&few), Digest::of(&list));
            few.iter_mut().for_each(|value| *value += 1);
            assert!(few.into_iter().eq(1..=count));
        }
    }
}
