//! Matches measured load with the primitives of a cluster.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::MeasuredAttribute;
use crate::cib::SizedPrimitive;
use crate::cib::change::CountedUtilization;
use htools_ganeti::load::lookup::hint;
use htools_ganeti::load::measured::{LoadResource, MeasuredLoad, MissingSeries, median};
use htools_model::shown::shown_name;

/// Most names in a message.
const NAMES: usize = 3;

/// Utilization by measured load.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MeasuredUtilization {
    /// Amounts that are above the configured ones, in the order of the document and of the attributes.
    pub raised: Vec<CountedUtilization>,
    /// Number of primitives whose load was measured.
    pub measured: usize,
    /// Running primitives with one of the attributes, of which some load was not measured, by id.
    pub without: Vec<String>,
    /// Primitives in clones and bundles whose load was measured, by id. It is the load of all instances together, so
    /// their utilization stays as it is configured.
    pub replicated: Vec<String>,
}

/// Reason why measured load cannot be used as utilization.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UtilizationMismatch {
    /// No primitive has the attribute.
    #[error("no primitive outside of clones and bundles has the utilization attribute '{attribute}'{hint}")]
    NoAttribute {
        /// The attribute, fit for a message.
        attribute: String,
        /// An attribute that may be meant, as [`hint`] shows it.
        hint: String,
    },
    /// No series has the name of a primitive.
    #[error("no series of the load of {resource} has the name of a primitive with the utilization attribute '{attribute}'; {}", found(.names))]
    NoneMatches {
        /// The resource.
        resource: LoadResource,
        /// The attribute, fit for a message.
        attribute: String,
        /// The first names in the labels.
        names: Vec<String>,
    },
    /// Primitives have no series.
    #[error("no load was measured for primitive '{first}' and {more} more")]
    Missing {
        /// The first one, fit for a message.
        first: String,
        /// Number of the others.
        more: usize,
    },
}

fn found(names: &[String]) -> String {
    match names {
        [] => "there are no series".to_owned(),
        names => format!("the labels name {}", names.join(", ")),
    }
}

/// The amounts that count for the primitives of a cluster: the measured ones, but never less than what is configured. A
/// primitive counts with an attribute only if that is configured for it. Primitives that do not run and have no series
/// keep what is configured, as do those in clones and bundles.
///
/// # Errors
/// If no primitive has an attribute, none has a series for it, or one has none and that is not allowed.
pub fn measured_utilization(
    primitives: &[SizedPrimitive],
    load: &MeasuredLoad,
    attributes: &[MeasuredAttribute],
    missing: MissingSeries,
) -> Result<MeasuredUtilization, UtilizationMismatch> {
    let names = PrimitiveNames::of(primitives);
    let mut loads: Vec<Vec<Option<f64>>> = Vec::new();
    for attribute in attributes {
        loads.push(names.loads(attribute, load)?);
    }
    let is_counted = |primitive: &SizedPrimitive, attribute: &MeasuredAttribute| {
        !primitive.is_replicated && primitive.utilization.contains_key(&attribute.name)
    };
    let usual: Vec<f64> =
        loads.iter().map(|loads| median(loads.iter().flatten().copied().collect())).collect();
    let mut found = MeasuredUtilization::default();
    for (at, primitive) in primitives.iter().enumerate() {
        let (mut is_measured, mut lacks) = (false, false);
        for (which, attribute) in attributes.iter().enumerate().filter(|(_, one)| is_counted(primitive, one))
        {
            let measured = loads[which][at];
            is_measured |= measured.is_some();
            let is_missing = measured.is_none() && primitive.runs;
            lacks |= is_missing;
            let load = measured.or((is_missing && missing == MissingSeries::Median).then_some(usual[which]));
            found.raised.extend(load.and_then(|load| raised(primitive, attribute, load)));
        }
        found.measured += usize::from(is_measured);
        found.without.extend(lacks.then(|| primitive.id.clone()));
    }
    if let (MissingSeries::Fail, Some(first)) = (missing, found.without.first()) {
        let more = found.without.len() - 1;
        return Err(UtilizationMismatch::Missing { first: shown_name(first), more });
    }
    let is_known = |primitive: &&SizedPrimitive| {
        primitive.is_replicated
            && attributes.iter().any(|one| {
                primitive.utilization.contains_key(&one.name)
                    && load
                        .values
                        .get(&one.resource)
                        .is_some_and(|series| names.load(primitive, series).is_some())
            })
    };
    found.replicated = primitives.iter().filter(is_known).map(|primitive| primitive.id.clone()).collect();
    Ok(found)
}

/// The amount that counts for a load, if it is above the configured one.
fn raised(
    primitive: &SizedPrimitive,
    attribute: &MeasuredAttribute,
    load: f64,
) -> Option<CountedUtilization> {
    let configured = *primitive.utilization.get(&attribute.name)?;
    let counted = attribute.amount(load);
    (counted > configured).then(|| CountedUtilization {
        primitive: primitive.id.clone(),
        attribute: attribute.name.clone(),
        configured,
        counted,
    })
}

/// The primitives of a cluster by the names that labels may have.
struct PrimitiveNames<'p> {
    primitives: &'p [SizedPrimitive],
    domains: HashSet<&'p str>,
}

impl<'p> PrimitiveNames<'p> {
    fn of(primitives: &'p [SizedPrimitive]) -> PrimitiveNames<'p> {
        let domains = primitives.iter().filter_map(|primitive| primitive.domain.as_deref()).collect();
        PrimitiveNames { primitives, domains }
    }

    /// The load of a primitive: that of its domain, or else of its id if that is not the domain of another one.
    fn load(&self, primitive: &SizedPrimitive, series: &BTreeMap<String, f64>) -> Option<f64> {
        let of_domain = primitive.domain.as_ref().and_then(|domain| series.get(domain));
        let by_id = || series.get(&primitive.id).filter(|_| !self.domains.contains(primitive.id.as_str()));
        of_domain.or_else(by_id).copied()
    }

    /// The load of each primitive that has an attribute.
    ///
    /// # Errors
    /// If no primitive has the attribute, or none of them has a series.
    fn loads(
        &self,
        attribute: &MeasuredAttribute,
        load: &MeasuredLoad,
    ) -> Result<Vec<Option<f64>>, UtilizationMismatch> {
        let counted =
            |one: &&SizedPrimitive| !one.is_replicated && one.utilization.contains_key(&attribute.name);
        if !self.primitives.iter().any(|one| counted(&one)) {
            let known: BTreeSet<&str> =
                self.primitives.iter().flat_map(|one| one.utilization.keys().map(String::as_str)).collect();
            let hint = hint(&attribute.name, known.iter().copied());
            return Err(UtilizationMismatch::NoAttribute { attribute: shown_name(&attribute.name), hint });
        }
        let none = BTreeMap::new();
        let series = load.values.get(&attribute.resource).unwrap_or(&none);
        let value = |one: &SizedPrimitive| Some(one).filter(counted).and_then(|one| self.load(one, series));
        let values: Vec<Option<f64>> = self.primitives.iter().map(value).collect();
        if values.iter().all(Option::is_none) {
            return Err(UtilizationMismatch::NoneMatches {
                resource: attribute.resource,
                attribute: shown_name(&attribute.name),
                names: series.keys().take(NAMES).map(|name| shown_name(name)).collect(),
            });
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests;
