//! Capacities of hosts and needs of resources: whole numbers of freely named kinds.

use std::cmp::Ordering;

use super::index::AttributeIdx;

/// Amounts by kind of capacity. A kind that is not listed counts as 0; the difference shows only in output.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Capacities(Vec<(AttributeIdx, i64)>);

impl Capacities {
    /// The amount of a kind; 0 if it is not listed.
    pub fn get(&self, kind: AttributeIdx) -> i64 {
        self.place(kind).map_or(0, |at| self.0[at].1)
    }

    /// Sets the amount of a kind.
    pub fn set(&mut self, kind: AttributeIdx, amount: i64) {
        match self.place(kind) {
            Ok(at) => self.0[at].1 = amount,
            Err(at) => self.0.insert(at, (kind, amount)),
        }
    }

    /// All amounts, by kind.
    pub fn iter(&self) -> impl Iterator<Item = (AttributeIdx, i64)> + '_ {
        self.0.iter().copied()
    }

    /// Returns true if no kind is listed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds another one's amounts.
    pub fn add(&mut self, other: &Capacities) {
        other.iter().for_each(|(kind, amount)| self.set(kind, self.get(kind).saturating_add(amount)));
    }

    /// Subtracts another one's amounts. A kind that was not listed becomes 0, whatever was taken.
    pub fn charge(&mut self, other: &Capacities) {
        for (kind, amount) in other.iter() {
            let left = self.place(kind).map_or(0, |at| self.0[at].1.saturating_sub(amount));
            self.set(kind, left);
        }
    }

    /// Subtracts another one's amounts; a kind that was not listed counts as 0.
    pub fn subtract(&mut self, other: &Capacities) {
        other.iter().for_each(|(kind, amount)| self.set(kind, self.get(kind).saturating_sub(amount)));
    }

    /// The kinds of which there is too little for `needed`, with the missing amounts.
    pub(crate) fn missing_for<'a>(
        &'a self,
        needed: &'a Capacities,
    ) -> impl Iterator<Item = (AttributeIdx, i64)> + 'a {
        needed.iter().filter_map(|(kind, amount)| {
            let missing = amount.saturating_sub(self.get(kind));
            (missing > 0).then_some((kind, missing))
        })
    }

    /// Returns true if there is enough of every kind for `needed`.
    pub fn hold(&self, needed: &Capacities) -> bool {
        if self.has_kinds_of(needed) {
            return self.0.iter().zip(&needed.0).all(|((_, here), (_, needed))| here >= needed);
        }
        needed.iter().all(|(kind, amount)| self.get(kind) >= amount)
    }

    /// Returns true if both list the same kinds, which is the usual case.
    fn has_kinds_of(&self, other: &Capacities) -> bool {
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(|((a, _), (b, _))| a == b)
    }

    /// Compares by the number of kinds of which each has more. This order is not transitive.
    pub(crate) fn compare(&self, other: &Capacities) -> Ordering {
        let (mut more, mut less) = (0, 0);
        let mut count = |mine: i64, theirs: i64| match mine.cmp(&theirs) {
            Ordering::Greater => more += 1,
            Ordering::Less => less += 1,
            Ordering::Equal => {}
        };
        if self.has_kinds_of(other) {
            self.0.iter().zip(&other.0).for_each(|((_, x), (_, y))| count(*x, *y));
            return more.cmp(&less);
        }
        let (mut mine, mut theirs) = (self.0.iter().peekable(), other.0.iter().peekable());
        loop {
            match (mine.peek(), theirs.peek()) {
                (None, None) => return more.cmp(&less),
                (Some((a, x)), Some((b, y))) if a == b => {
                    count(*x, *y);
                    mine.next();
                    theirs.next();
                }
                (Some((a, x)), Some((b, _))) if a < b => {
                    count(*x, 0);
                    mine.next();
                }
                (Some((_, x)), None) => {
                    count(*x, 0);
                    mine.next();
                }
                (_, Some((_, y))) => {
                    count(0, *y);
                    theirs.next();
                }
            }
        }
    }

    fn place(&self, kind: AttributeIdx) -> Result<usize, usize> {
        self.0.binary_search_by_key(&kind, |(kind, _)| *kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amounts(list: &[(usize, i64)]) -> Capacities {
        let mut amounts = Capacities::default();
        list.iter().for_each(|(kind, amount)| amounts.set(AttributeIdx::new(*kind), *amount));
        amounts
    }

    #[test]
    fn more_of_more_kinds_is_more() {
        let compare = |a: &[(usize, i64)], b: &[(usize, i64)]| amounts(a).compare(&amounts(b));
        assert_eq!(compare(&[(0, 2), (1, 2)], &[(0, 1), (1, 1)]), Ordering::Greater);
        assert_eq!(compare(&[(0, 2), (1, 1)], &[(0, 1), (1, 2)]), Ordering::Equal);
        assert_eq!(compare(&[(1, 1)], &[(0, 1), (2, 1)]), Ordering::Less);
        assert_eq!(compare(&[(0, -1)], &[]), Ordering::Less);
        assert_eq!(compare(&[(0, 0)], &[(3, 0)]), Ordering::Equal);
    }

    #[test]
    fn a_kind_that_was_not_there_is_not_owed() {
        let mut host = amounts(&[(0, 4)]);
        let needed = amounts(&[(0, 3), (1, 2)]);
        assert!(!host.hold(&needed));
        assert_eq!(host.missing_for(&needed).collect::<Vec<_>>(), [(AttributeIdx::new(1), 2)]);
        host.charge(&needed);
        assert_eq!(host, amounts(&[(0, 1), (1, 0)]));
    }
}
