//! Effect of one instance on the lanes of a node, in the same layout as the lanes so that loops become vector
//! code.

use htools_model::score::metrics::{LANES, Lanes, PADDED_LANES, lane};
use htools_model::{Instance, NodeSpec};

/// Lanes that follow the primary role.
const PRIMARY_LANES: [usize; 7] = [
    lane::FREE_MEM,
    lane::VCPU,
    lane::CPU_LOAD,
    lane::MEM_LOAD,
    lane::NET_LOAD,
    lane::FREE_MEM_PLANNED,
    lane::VCPU_PLANNED,
];

/// Lanes that follow membership in either role.
const MEMBER_LANES: [usize; 5] =
    [lane::FREE_DISK, lane::DISK_LOAD, lane::SPINDLES, lane::FREE_DISK_PLANNED, lane::SPINDLES_PLANNED];

/// An array of lanes whose `k`th value is the expression. This is a plain loop, since a closure is not compiled
/// for wider registers together with its caller.
macro_rules! lanewise {
    ($k:ident => $value:expr) => {{
        let mut lanes = [0.0; htools_model::score::metrics::PADDED_LANES];
        let mut $k = 0;
        while $k < lanes.len() {
            lanes[$k] = $value;
            $k += 1;
        }
        lanes
    }};
}
pub(super) use lanewise;

const fn mask(members: &[usize]) -> Lanes {
    let mut lanes = [0.0; PADDED_LANES];
    let mut at = 0;
    while at < members.len() {
        lanes[members[at]] = 1.0;
        at += 1;
    }
    lanes
}

/// 0 in every lane.
pub(super) const NONE: Lanes = [0.0; PADDED_LANES];
/// 1 in the lanes that follow the primary role, 0 elsewhere.
pub(super) const PRIMARY: Lanes = mask(&PRIMARY_LANES);
/// 1 in the lanes that follow membership in either role, 0 elsewhere.
pub(super) const MEMBER: Lanes = mask(&MEMBER_LANES);
/// 1 in the lane of the reserve, 0 elsewhere.
pub(super) const RESERVE: Lanes = mask(&[lane::RESERVED_MEM]);

#[allow(clippy::assertions_on_constants)]
const _: () = assert!(PRIMARY_LANES.len() + MEMBER_LANES.len() + 1 == LANES);

/// Amounts that an instance adds to the lanes of a node, before the division by the node's size ([`scales`]).
/// The reserve is left out, since it also depends on other instances.
pub(in crate::balance) fn amounts(instance: &Instance, exclusive_storage: bool) -> Lanes {
    let mut a = NONE;
    let disk = -instance.local_disk().as_f64();
    let spindles = -(instance.spindles.unwrap_or(0) as f64);
    let weight = if instance.template.uses_local_storage() { instance.spindle_use as f64 } else { 0.0 };
    let (storage, weight) = if exclusive_storage { (spindles, 0.0) } else { (disk, weight) };
    a[lane::FREE_MEM_PLANNED] = -instance.mem.as_f64();
    a[lane::VCPU_PLANNED] = instance.vcpus_in_use() as f64;
    a[lane::FREE_DISK_PLANNED] = storage;
    a[lane::SPINDLES_PLANNED] = weight;
    if !instance.forthcoming {
        a[lane::FREE_MEM] = -instance.mem_in_use().as_f64();
        a[lane::VCPU] = instance.vcpus_in_use() as f64;
        a[lane::FREE_DISK] = storage;
        a[lane::SPINDLES] = weight;
        a[lane::CPU_LOAD] = instance.util.cpu;
        a[lane::MEM_LOAD] = instance.util.mem;
        a[lane::DISK_LOAD] = instance.util.disk;
        a[lane::NET_LOAD] = instance.util.net;
    }
    a
}

/// Factors that turn [`amounts`] and a reserve in MiB into changes of the lanes of a node.
pub(in crate::balance) fn scales(spec: &NodeSpec) -> Lanes {
    let inverse = |x: f64| if x == 0.0 { 0.0 } else { 1.0 / x };
    let disk = inverse(if spec.exclusive_storage { spec.spindle_total as f64 } else { spec.disk_total });
    let mut s = [1.0; PADDED_LANES];
    for k in [lane::FREE_MEM, lane::FREE_MEM_PLANNED, lane::RESERVED_MEM] {
        s[k] = 1.0 / spec.mem_total;
    }
    for k in [lane::VCPU, lane::VCPU_PLANNED] {
        s[k] = 1.0 / spec.cpu_total / spec.cpu_speed;
    }
    for k in [lane::FREE_DISK, lane::FREE_DISK_PLANNED] {
        s[k] = disk;
    }
    for k in [lane::SPINDLES, lane::SPINDLES_PLANNED] {
        s[k] = 1.0 / spec.spindle_limit;
    }
    s
}

/// The smaller number. Arguments must not be NaN.
#[inline(always)]
pub(super) fn least(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// The larger number. Arguments must not be NaN.
#[inline(always)]
pub(super) fn most(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// Growth of the sum of squares in each lane when a centred value `y` becomes `y + d`.
#[inline(always)]
pub(super) fn growth(d: &Lanes, y: &Lanes) -> Lanes {
    lanewise!(k => d[k] * (2.0 * y[k] + d[k]))
}

/// The scalar product.
#[inline(always)]
pub(super) fn dot(a: &Lanes, b: &Lanes) -> f64 {
    sum(&lanewise!(k => a[k] * b[k]))
}

/// The sum of all lanes, by halves. Bounds do not need a fixed order of additions.
#[inline(always)]
pub(super) fn sum(lanes: &Lanes) -> f64 {
    let mut left = *lanes;
    for width in [8, 4, 2, 1] {
        for k in 0..width {
            left[k] += left[k + width];
        }
    }
    left[0]
}

#[derive(Debug, Clone, Copy)]
pub(super) struct LaneRange {
    pub lo: Lanes,
    pub hi: Lanes,
}

impl LaneRange {
    /// The range without any value.
    pub(super) fn empty() -> LaneRange {
        LaneRange { lo: [f64::INFINITY; PADDED_LANES], hi: [f64::NEG_INFINITY; PADDED_LANES] }
    }

    /// Extends the range to include the values.
    #[inline(always)]
    pub(super) fn include(&mut self, values: &Lanes) {
        for k in 0..PADDED_LANES {
            self.lo[k] = least(values[k], self.lo[k]);
            self.hi[k] = most(values[k], self.hi[k]);
        }
    }

    /// Extends the range to include another range.
    pub(super) fn join(&mut self, other: &LaneRange) {
        for k in 0..PADDED_LANES {
            self.lo[k] = least(other.lo[k], self.lo[k]);
            self.hi[k] = most(other.hi[k], self.hi[k]);
        }
    }

    /// The range, or only 0 if it is empty.
    #[inline(always)]
    pub(super) fn or_zero(&self) -> LaneRange {
        if self.lo[0] > self.hi[0] { LaneRange { lo: NONE, hi: NONE } } else { *self }
    }

    /// Adds another range in the lanes where the mask is 1.
    #[inline(always)]
    pub(super) fn plus(&self, other: &LaneRange, mask: &Lanes) -> LaneRange {
        LaneRange {
            lo: lanewise!(k => self.lo[k] + mask[k] * other.lo[k]),
            hi: lanewise!(k => self.hi[k] + mask[k] * other.hi[k]),
        }
    }
}
