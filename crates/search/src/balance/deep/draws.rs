//! Random numbers of the search. Each run has a numbered stream, so that results do not depend on the number of
//! threads.

/// A stream of random numbers: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). It is fast enough for ten
/// million numbers a second.
#[derive(Debug, Clone)]
pub(crate) struct RandomNumbers(u64);

impl RandomNumbers {
    /// The stream with this number.
    pub(crate) fn stream(number: u64) -> RandomNumbers {
        let mut draws = RandomNumbers(number.wrapping_mul(0xd129_0d3f_4a1c_93c5));
        draws.next();
        RandomNumbers(draws.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 if that is 0.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// A real from 0 up to, not including, 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// One of the items, if there are any.
    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> Option<T> {
        items.get(self.below(items.len())).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_and_stay_in_range() {
        let mut streams = [0, 1, 2].map(RandomNumbers::stream);
        let first = streams.each_mut().map(|s| s.below(1_000_000));
        assert!(first[0] != first[1] && first[1] != first[2]);
        for _ in 0..1000 {
            assert!(streams[0].below(7) < 7 && (0.0..1.0).contains(&streams[1].unit()));
        }
        assert_eq!((streams[0].below(0), streams[0].pick::<u8>(&[])), (0, None));
    }
}
