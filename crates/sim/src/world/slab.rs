//! Slots that are filled, freed and filled again in the same memory.

/// Values in numbered slots. A freed slot keeps its last value, and with it the value's memory,
/// until it is filled anew; the last one freed is filled first.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Slab<T> {
    slots: Vec<T>,
    free: Vec<u32>,
    /// Slots from here on have not been filled since the last [`Self::clear`].
    used: u32,
}

impl<T: Default> Slab<T> {
    /// A slot to fill; its value is left from an earlier use.
    #[inline]
    pub(super) fn take(&mut self) -> u32 {
        if let Some(index) = self.free.pop() {
            return index;
        }
        let index = self.used;
        self.used += 1;
        if self.slots.len() <= index as usize {
            self.slots.push(T::default());
        }
        index
    }

    #[inline]
    pub(super) fn free(&mut self, index: u32) {
        self.free.push(index);
    }

    /// Frees every slot; they are filled again in the order of a new slab.
    pub(super) fn clear(&mut self) {
        self.free.clear();
        self.used = 0;
    }

    /// The numbers of all slots that may be filled.
    pub(super) fn indices(&self) -> std::ops::Range<u32> {
        0..self.used
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        self.slots.get_mut(index as usize)
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, index: u32) -> &T {
        &self.slots[index as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self.slots[index as usize]
    }
}
