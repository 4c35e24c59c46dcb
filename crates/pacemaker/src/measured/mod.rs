//! Utilization by measured load: the amounts that count where a monitoring system has seen primitives use more than is
//! configured for them. Amounts only grow.

mod attribute;
mod raising;

pub use attribute::{MeasuredAttribute, MeasuredAttributeError};
pub use raising::{MeasuredUtilization, UtilizationMismatch, measured_utilization};
