//! Dynamic load, in four dimensions.

use std::ops::{Add, Sub};

/// Use (of an instance) or load (of a node) by dimension. The unit is the
/// user's: only differences between nodes count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Utilisation {
    /// Processor.
    pub cpu: f64,
    /// Memory bandwidth.
    pub mem: f64,
    /// Disk.
    pub disk: f64,
    /// Network.
    pub net: f64,
}

impl Utilisation {
    /// No load.
    pub const ZERO: Utilisation = Utilisation { cpu: 0.0, mem: 0.0, disk: 0.0, net: 0.0 };
}

impl Default for Utilisation {
    /// What an instance counts for when nothing is known about it.
    fn default() -> Self {
        Utilisation { cpu: 1.0, mem: 1.0, disk: 1.0, net: 1.0 }
    }
}

impl Add for Utilisation {
    type Output = Utilisation;
    fn add(self, o: Utilisation) -> Utilisation {
        Utilisation {
            cpu: self.cpu + o.cpu,
            mem: self.mem + o.mem,
            disk: self.disk + o.disk,
            net: self.net + o.net,
        }
    }
}

impl Sub for Utilisation {
    type Output = Utilisation;
    fn sub(self, o: Utilisation) -> Utilisation {
        Utilisation {
            cpu: self.cpu - o.cpu,
            mem: self.mem - o.mem,
            disk: self.disk - o.disk,
            net: self.net - o.net,
        }
    }
}
