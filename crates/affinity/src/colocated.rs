//! Mandatory colocations and anti-colocations of a Pacemaker cluster.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::fleet::Fleet;
use super::units::FleetUnit;
use htools_model::TagId;
use htools_pacemaker::AllocationScore;
use htools_pacemaker::index::ResourceIdx;
use htools_pacemaker::promotion::Role;
use htools_pacemaker::wishes::AgreeingHosts;
use htools_pacemaker::working_set::{Colocation, WorkingSet};

/// A constraint, and the attribute that hosts must share, if any.
type ConstraintKey<'a> = (&'a str, Option<&'a str>);

/// A side of a colocation: an outermost primitive, group or clone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Side {
    resource: ResourceIdx,
    /// The role of the instances that it concerns; `None` for any.
    role: Option<Role>,
}

/// The two sides of a colocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Sides {
    dependent: Side,
    primary: Side,
}

/// The machines by their outermost primitive, group or clone.
struct TiedMachines<'a> {
    set: &'a WorkingSet,
    machines: HashMap<ResourceIdx, Vec<usize>>,
    /// For each machine, its role, if it is an instance.
    roles: Vec<Role>,
    /// Names in use.
    names: HashSet<String>,
    /// For each machine, the tags that keep it apart, its marks, and the marks that it must be with.
    tags: Vec<[Vec<TagId>; 3]>,
}

/// Enters the mandatory colocations between the machines of a fleet, which are `units` in the same order. In a circle
/// of resources that must be with each other, a constraint that would close the circle is left out.
pub(super) fn ties(set: &WorkingSet, units: &[FleetUnit], fleet: &mut Fleet) {
    let mut machines: HashMap<ResourceIdx, Vec<usize>> = HashMap::new();
    for (at, unit) in units.iter().enumerate() {
        machines.entry(whole(set, unit.resource)).or_default().push(at);
    }
    // Rules about hosts and colocations may have the same names.
    let names = fleet.machines.iter().flat_map(|machine| machine.forbidden.iter());
    let names = names.map(|(_, rule)| fleet.tag_table.name(*rule).to_owned()).collect();
    let tags = units.iter().map(|_| Default::default()).collect();
    let is_promoted = |unit: &FleetUnit| unit.members.iter().any(|one| set.resource(*one).promoted);
    let roles = units.iter().map(|unit| Role::of(is_promoted(unit))).collect();
    let mut tied = TiedMachines { set, machines, roles, names, tags };
    tied.keep_apart(fleet);
    let edges = tied.keep_together(fleet);
    for (machine, [apart, marks, beside]) in fleet.machines.iter_mut().zip(tied.tags) {
        machine.exclusion = apart.into_iter().collect();
        machine.marks = marks.into_iter().collect();
        machine.beside = beside.into_iter().collect();
    }
    follow(units, fleet, &edges);
}

/// The outermost primitive, group or clone that contains a resource.
fn whole(set: &WorkingSet, resource: ResourceIdx) -> ResourceIdx {
    let whole = set.resource(resource).group.unwrap_or(resource);
    set.resource(whole).instance_of.unwrap_or(whole)
}

impl<'a> TiedMachines<'a> {
    /// The colocations with a certain score between different outermost resources, by constraint.
    fn bound(&self, score: AllocationScore) -> BTreeMap<ConstraintKey<'a>, Vec<Sides>> {
        let mut all: BTreeMap<ConstraintKey<'a>, Vec<_>> = BTreeMap::new();
        for Colocation { id, dependent, primary, attribute, dependent_role, primary_role, .. } in
            self.set.colocations.iter().filter(|colocation| colocation.score == score)
        {
            let dependent = Side { resource: whole(self.set, *dependent), role: *dependent_role };
            let primary = Side { resource: whole(self.set, *primary), role: *primary_role };
            if dependent.resource != primary.resource {
                all.entry((id, attribute.as_deref())).or_default().push(Sides { dependent, primary });
            }
        }
        all
    }

    fn keep_apart(&mut self, fleet: &mut Fleet) {
        for ((id, attribute), pairs) in self.bound(AllocationScore::MINUS_INFINITY) {
            let both =
                |Sides { dependent, primary }: &Sides| [*dependent.min(primary), *dependent.max(primary)];
            let pairs: BTreeSet<[Side; 2]> = pairs.iter().map(both).collect();
            let all: BTreeSet<Side> = pairs.iter().flatten().copied().collect();
            // One tag is enough if all of them avoid each other.
            if pairs.len() == all.len() * (all.len() - 1) / 2 {
                let tag = self.tag(fleet, id, attribute);
                all.iter().for_each(|one| self.give(*one, 0, tag));
                continue;
            }
            for sides in pairs {
                let names = sides.map(|side| self.set.resource(side.resource).id.as_str());
                let tag = self.tag(fleet, &format!("{id} ({})", names.join(" and ")), attribute);
                sides.into_iter().for_each(|side| self.give(side, 0, tag));
            }
        }
    }

    /// Enters the colocations that must hold. Returns the pairs that must be on the same host.
    fn keep_together(&mut self, fleet: &mut Fleet) -> Vec<(ResourceIdx, ResourceIdx)> {
        let (mut with, mut edges) = (HashMap::<ResourceIdx, Vec<ResourceIdx>>::new(), Vec::new());
        for ((id, attribute), pairs) in self.bound(AllocationScore::INFINITY) {
            // Clone instances stay on their hosts.
            let is_clone = |side: Side| self.set.resource(side.resource).is_clone();
            let pairs: BTreeSet<Sides> =
                pairs.into_iter().filter(|sides| !is_clone(sides.dependent)).collect();
            let primaries: BTreeSet<Side> = pairs.iter().map(|sides| sides.primary).collect();
            let mut marks: HashMap<Side, TagId> = HashMap::new();
            for Sides { dependent, primary } in pairs {
                if leads(&with, primary.resource, dependent.resource) {
                    continue;
                }
                with.entry(dependent.resource).or_default().push(primary.resource);
                let mark = match marks.get(&primary) {
                    Some(mark) => *mark,
                    None => {
                        let name = match primaries.len() {
                            1 => id.to_owned(),
                            _ => format!("{id} (with {})", self.set.resource(primary.resource).id),
                        };
                        let mark = self.tag(fleet, &name, attribute);
                        self.give(primary, 1, mark);
                        *marks.entry(primary).or_insert(mark)
                    }
                };
                self.give(dependent, 2, mark);
                if attribute.is_none() {
                    edges.push((dependent.resource, primary.resource));
                }
            }
        }
        edges
    }

    /// Gives a tag to the machines of a side.
    fn give(&mut self, side: Side, kind: usize, tag: TagId) {
        let all = self.machines.get(&side.resource).into_iter().flatten();
        for at in all.filter(|at| side.role.is_none_or(|role| role == self.roles[**at])) {
            self.tags[*at][kind].push(tag);
        }
    }

    /// A tag that no other constraint has.
    fn tag(&mut self, fleet: &mut Fleet, name: &str, attribute: Option<&str>) -> TagId {
        let mut unique = name.to_owned();
        for number in 2.. {
            if self.names.insert(unique.clone()) {
                break;
            }
            unique = format!("{name} #{number}");
        }
        let tag = fleet.tag_table.intern(&unique);
        if let Some(attribute) = attribute {
            let zones: Arc<[usize]> = AgreeingHosts::of(self.set, attribute).zones().into();
            fleet.zones.insert(tag, zones);
        }
        tag
    }
}

/// Tells if `from` must be with `to`, directly or through other resources.
fn leads(with: &HashMap<ResourceIdx, Vec<ResourceIdx>>, from: ResourceIdx, to: ResourceIdx) -> bool {
    let (mut open, mut seen) = (vec![from], HashSet::new());
    while let Some(next) = open.pop() {
        if next == to {
            return true;
        }
        if seen.insert(next) {
            open.extend(with.get(&next).into_iter().flatten());
        }
    }
    false
}

/// Keeps waiting machines off hosts that are forbidden to those that must be with them, as long as a host is left.
fn follow(units: &[FleetUnit], fleet: &mut Fleet, edges: &[(ResourceIdx, ResourceIdx)]) {
    let waiting: HashMap<ResourceIdx, usize> = units
        .iter()
        .enumerate()
        .filter(|(_, unit)| unit.is_waiting())
        .map(|(at, unit)| (unit.resource, at))
        .collect();
    let pairs: Vec<(usize, usize)> =
        edges.iter().filter_map(|(one, other)| Some((*waiting.get(one)?, *waiting.get(other)?))).collect();
    let mut is_settled = false;
    while !is_settled {
        is_settled = true;
        for (dependent, primary) in &pairs {
            let Some(theirs) = fleet.machines[*dependent].reach.clone() else { continue };
            let own = fleet.machines[*primary].reach.clone();
            let is_own = |node: &usize| own.as_ref().is_none_or(|own| own.binary_search(node).is_ok());
            let both: Vec<usize> = theirs.iter().copied().filter(is_own).collect();
            let before = own.as_ref().map_or(usize::MAX, |own| own.len());
            if !both.is_empty() && both.len() < before {
                fleet.machines[*primary].reach = Some(both.into());
                is_settled = false;
            }
        }
    }
}
