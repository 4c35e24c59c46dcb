//! Patterns of the load of an instance.

use htools::generate::random::Random;

use super::slot::{HOUR, Slot, a_day};

/// Least load, as a share of the virtual processors.
const IDLE: f64 = 0.02;
/// Mean time between two bursts of an instance, in slots.
const BETWEEN_BURSTS: f64 = 3.0 * a_day() as f64;
/// Mean length of a burst, in slots.
const BURST: f64 = 1.25 * HOUR as f64;
/// Mean time between two lasting changes of the load, in slots.
const BETWEEN_CHANGES: f64 = 20.0 * a_day() as f64;

/// Times at which an instance has much load.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// By day from Monday to Friday.
    Office,
    /// At night, from a fixed hour on.
    Batch { hour: f64, hours: f64, on_weekends: bool },
    /// Always.
    Flat,
    /// In the evening, and longer on weekends.
    Evening,
}

/// Pattern of an instance.
#[derive(Debug, Clone, Copy)]
pub struct Pattern {
    kind: Kind,
    /// Typical load at busy times, as a share of the virtual processors.
    level: f64,
    /// Hours by which the pattern is late.
    shift: f64,
}

impl Pattern {
    /// A random pattern.
    pub fn draw(random: &mut Random) -> Pattern {
        let mut within = |low: f64, high: f64| low + (high - low) * random.unit();
        let [level, hour, hours, weekend] =
            [within(0.0, 1.0), within(20.0, 27.0), within(2.0, 6.0), within(0.0, 1.0)];
        let shift = within(-1.0, 1.0);
        let batch = Kind::Batch { hour: hour % 24.0, hours, on_weekends: weekend < 0.7 };
        let (kind, low, high) =
            [(Kind::Office, 0.4, 0.9), (batch, 0.5, 1.0), (Kind::Flat, 0.2, 0.6), (Kind::Evening, 0.4, 0.9)]
                [random.weighted(&[0.22, 0.22, 0.41, 0.15])];
        Pattern { kind, level: low + (high - low) * level, shift }
    }

    /// Load of the slots from `first` to `end`, as a share of the virtual processors.
    pub fn shares<'r>(
        self,
        first: Slot,
        end: Slot,
        random: &'r mut Random,
    ) -> impl Iterator<Item = f64> + use<'r> {
        let mut change = 1.0_f64;
        let mut today = 1.0;
        let mut noise = 0.0;
        let mut burst = Burst::default();
        (first.0..end.0).map(Slot).map(move |slot| {
            if slot == first || slot.0.is_multiple_of(a_day()) {
                today = (1.0 + 0.08 * normal(random)).max(0.5);
            }
            if random.chance(1.0 / BETWEEN_CHANGES) {
                change = (change * (0.3 * normal(random)).exp()).clamp(0.5, 1.6);
            }
            // Noise of successive slots is similar.
            noise = 0.7 * noise + 0.08 * normal(random);
            let usual = self.level * change * today * self.shape(slot);
            let load = usual * (1.0 + noise) + 0.02 * random.unit() + burst.next(random);
            load.clamp(IDLE, 1.0)
        })
    }

    /// Load without chance: 1 at busy times.
    fn shape(self, slot: Slot) -> f64 {
        let hour = (slot.hour() - self.shift).rem_euclid(24.0);
        match self.kind {
            Kind::Flat => 1.0,
            Kind::Office if slot.is_weekend() => 0.1,
            Kind::Office => {
                let lunch = 1.0 - 0.2 * bump(hour, 12.5, 0.6);
                0.1 + 0.9 * ramp(hour, 7.0, 9.5) * (1.0 - ramp(hour, 16.5, 18.5)) * lunch
            }
            Kind::Batch { on_weekends: false, .. } if slot.is_weekend() => 0.08,
            Kind::Batch { hour: begin, hours, .. } => {
                // Jobs begin by the clock.
                if (slot.hour() - begin).rem_euclid(24.0) < hours { 1.0 } else { 0.08 }
            }
            Kind::Evening => {
                let by_day = 0.35 * bump(hour, 13.0, 3.5);
                let factor = if slot.is_weekend() { 1.15 } else { 1.0 };
                (0.12 + by_day + 0.85 * bump(hour, 20.5, 2.2)) * factor
            }
        }
    }
}

/// A time of more load than usual.
#[derive(Default)]
struct Burst {
    left: usize,
    height: f64,
}

impl Burst {
    /// Additional load of the next slot.
    fn next(&mut self, random: &mut Random) -> f64 {
        if self.left == 0 && random.chance(1.0 / BETWEEN_BURSTS) {
            let length = -BURST * (1.0 - random.unit()).ln();
            *self = Burst { left: 1 + length as usize, height: 0.2 + 0.5 * random.unit() };
        }
        if self.left == 0 {
            return 0.0;
        }
        self.left -= 1;
        self.height
    }
}

/// Rises from 0 to 1 between two hours.
fn ramp(hour: f64, from: f64, to: f64) -> f64 {
    let part = ((hour - from) / (to - from)).clamp(0.0, 1.0);
    part * part * (3.0 - 2.0 * part)
}

/// A bell around an hour; its ends meet at the opposite hour.
fn bump(hour: f64, center: f64, width: f64) -> f64 {
    let away = (hour - center + 12.0).rem_euclid(24.0) - 12.0;
    (-0.5 * (away / width).powi(2)).exp()
}

/// A number with mean 0 and deviation 1, nearly normal.
fn normal(random: &mut Random) -> f64 {
    (0..12).map(|_| random.unit()).sum::<f64>() - 6.0
}
