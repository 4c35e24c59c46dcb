//! Hashing of a few numbers, for tables that are asked very often. Their order is never
//! looked at, so it need not be secret how it comes about.

use std::hash::{BuildHasherDefault, Hasher};

/// For tables that hash with [`Mixer`].
pub(super) type Mixed = BuildHasherDefault<Mixer>;

/// Mixes one number after the other.
#[derive(Default)]
pub(super) struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.write_u64(u64::from_le_bytes(*word)));
        rest.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(u64::from(number));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        // the upper half of the product depends on all bits
        const ODD: u128 = 0xbf58_476d_1ce4_e5b9;
        let product = u128::from(self.0 ^ number ^ 0x9e37_79b9_7f4a_7c15) * ODD;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}
