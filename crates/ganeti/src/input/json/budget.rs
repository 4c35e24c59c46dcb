//! Limit on the memory that parsing may use.

use std::cell::Cell;

/// A limit on the memory that parsing allocates, since a value of a few characters takes many times as much memory.
/// Allocated bytes are counted as they are made; discarded ones are given back.
#[derive(Debug)]
pub(crate) struct Budget {
    whole: usize,
    left: Cell<usize>,
    spent: Cell<bool>,
}

/// The budget is exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("its content needs more than {} MiB of memory", .0 >> 20)]
pub(crate) struct BudgetExceeded(usize);

impl Budget {
    /// Budget for an answer about a few objects: a job, the cluster itself.
    pub(crate) const ANSWER: usize = 64 << 20;
    /// Budget for all answers about a cluster together: some 500,000 instances.
    pub(crate) const CLUSTER: usize = 384 << 20;
    /// Budget for a file of the user's own.
    pub(crate) const FILE: usize = 512 << 20;

    pub(crate) fn new(bytes: usize) -> Budget {
        Budget { whole: bytes, left: Cell::new(bytes), spent: Cell::new(false) }
    }

    /// Counts bytes that are about to be allocated.
    pub(crate) fn take(&self, bytes: usize) -> Result<(), BudgetExceeded> {
        match self.left.get().checked_sub(bytes) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => {
                self.spent.set(true);
                Err(BudgetExceeded(self.whole))
            }
        }
    }

    /// Reserves room for one more item in a list.
    pub(crate) fn grow<T>(&self, list: &mut Vec<T>) -> Result<(), BudgetExceeded> {
        if list.len() == list.capacity() {
            let more = list.capacity().max(4);
            self.take(more.saturating_mul(size_of::<T>()))?;
            list.reserve_exact(more);
        }
        Ok(())
    }

    /// Counts the memory of a text besides its place in a list or an object.
    pub(crate) fn take_text(&self, text: &str) -> Result<(), BudgetExceeded> {
        self.take(text_size(text))
    }

    /// Runs `make`, whose allocations are temporary except for the number of bytes that it returns.
    pub(crate) fn passing<T>(
        &self,
        make: impl FnOnce() -> Result<(T, usize), BudgetExceeded>,
    ) -> Result<T, BudgetExceeded> {
        let before = self.left.get();
        let (made, kept) = make()?;
        self.left.set(before);
        self.take(kept)?;
        Ok(made)
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.spent.get()
    }

    pub(crate) fn excess(&self) -> BudgetExceeded {
        BudgetExceeded(self.whole)
    }
}

/// Memory of a text besides its place; allocators round up.
pub(crate) fn text_size(text: &str) -> usize {
    if text.is_empty() { 0 } else { (text.len() + 8).max(24).next_multiple_of(16) }
}

/// A value that is kept in large numbers.
pub(crate) trait Weight {
    /// Approximate memory in bytes besides its place in a list.
    fn weight(&self) -> usize;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused() {
        let budget = Budget::new(3 << 20);
        assert_eq!(budget.take(2 << 20), Ok(()));
        let error = budget.take(2 << 20).unwrap_err();
        assert_eq!(error.to_string(), "its content needs more than 3 MiB of memory");
        assert!(budget.is_spent());
        assert_eq!(budget.take(1 << 20), Ok(()));
        assert!(budget.take(usize::MAX).is_err());
    }

    #[test]
    fn lists_are_counted_as_they_grow() {
        let budget = Budget::new(8 * 100);
        let mut list: Vec<u64> = Vec::new();
        while budget.grow(&mut list).is_ok() {
            list.push(0);
        }
        assert!((51..=100).contains(&list.capacity()), "{}", list.capacity());
    }

    #[test]
    fn what_is_thrown_away_is_given_back() {
        let budget = Budget::new(100);
        for _ in 0..10 {
            assert_eq!(budget.passing(|| budget.take(50).map(|()| (7, 5))), Ok(7));
        }
        assert!(budget.passing(|| budget.take(51).map(|()| ((), 0))).is_err());
    }
}
