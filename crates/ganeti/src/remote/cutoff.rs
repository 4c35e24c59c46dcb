//! A common time limit for reads that belong together; every network read has one.

use std::time::{Duration, Instant};

/// Time by which something must be over. A byte that arrives in time does not extend it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cutoff(Option<Instant>);

impl Cutoff {
    pub(crate) const NEVER: Cutoff = Cutoff(None);

    /// A limit that begins now. A time too long for the clock means no limit.
    pub(crate) fn after(time: Duration) -> Cutoff {
        Cutoff(Instant::now().checked_add(time))
    }

    /// The earlier of this limit and one that begins now.
    pub(crate) fn or_after(self, time: Duration) -> Cutoff {
        match (self, Cutoff::after(time)) {
            (Cutoff(Some(one)), Cutoff(Some(other))) => Cutoff(Some(one.min(other))),
            (Cutoff(one), Cutoff(other)) => Cutoff(one.or(other)),
        }
    }

    /// Time left; `None` once it is over.
    pub(crate) fn left(self) -> Option<Duration> {
        match self.0 {
            None => Some(Duration::MAX),
            Some(end) => end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()),
        }
    }

    pub(crate) fn is_over(self) -> bool {
        self.left().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_left_until_the_end() {
        let long = Cutoff::after(Duration::from_secs(3600));
        assert!(long.left().is_some_and(|left| left <= Duration::from_secs(3600)));
        assert!(Cutoff::after(Duration::ZERO).is_over() && !long.is_over());
        assert!(Cutoff::after(Duration::MAX).left().is_some());
    }

    #[test]
    fn the_sooner_end_counts() {
        let (long, never) = (Cutoff::after(Duration::from_secs(3600)), Cutoff::after(Duration::MAX));
        assert!(long.or_after(Duration::ZERO).is_over());
        assert_eq!(long.or_after(Duration::MAX), long);
        assert_eq!(long.or_after(Duration::from_secs(7200)), long);
        assert!(never.or_after(Duration::ZERO).is_over());
    }
}
