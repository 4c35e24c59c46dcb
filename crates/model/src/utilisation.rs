//! Utilisation of instances: their load by resource.

use std::ops::{Add, Sub};

/// The load of an instance, or the sum over the instances of a node. The unit is the source's own; only differences
/// between nodes matter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Utilisation {
    /// Processor load.
    pub cpu: f64,
    /// Memory load.
    pub mem: f64,
    /// Disk load; for DRBD it weighs on the secondary node as well.
    pub disk: f64,
    /// Network load.
    pub net: f64,
}

impl Utilisation {
    /// No load.
    pub const ZERO: Utilisation = Utilisation { cpu: 0.0, mem: 0.0, disk: 0.0, net: 0.0 };

    fn zip(self, other: Self, op: impl Fn(f64, f64) -> f64) -> Self {
        Utilisation {
            cpu: op(self.cpu, other.cpu),
            mem: op(self.mem, other.mem),
            disk: op(self.disk, other.disk),
            net: op(self.net, other.net),
        }
    }
}

impl Default for Utilisation {
    /// The load of an instance without measurements: 1 for every resource, so that instances are spread by number.
    fn default() -> Self {
        Utilisation { cpu: 1.0, mem: 1.0, disk: 1.0, net: 1.0 }
    }
}

impl Add for Utilisation {
    type Output = Utilisation;
    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }
}

impl Sub for Utilisation {
    type Output = Utilisation;
    fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_goes_by_component() {
        let a = Utilisation { cpu: 1.0, mem: 2.0, disk: 3.0, net: 4.0 };
        assert_eq!(a + Utilisation::ZERO, a);
        assert_eq!(a - Utilisation::default(), Utilisation { cpu: 0.0, mem: 1.0, disk: 2.0, net: 3.0 });
    }
}
