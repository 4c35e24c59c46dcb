//! Reads promotable clones: how many instances are promoted, and the node attributes by which agents ask for it.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::super::index::HostIdx;
use super::super::number::leading;
use super::super::promotion::{HostWishes, Promotion};
use super::super::score::AllocationScore;
use super::failures::{DEGRADED, PROMOTED};
use super::health::score_of;
use super::history::{NameMark, RecordedState};
use super::properties::Properties;
use super::roles::is_unpromoted;
use super::{HostRecord, Reader};

/// The instances of a clone.
pub(super) struct Instances<'a> {
    /// Their number, without surplus ones.
    pub(super) count: usize,
    /// Hosts of those that run, which come first.
    pub(super) hosts: &'a [HostIdx],
}

/// Histories of a clone's primitive, from which its instances take their names in node attributes.
pub(super) struct PartTraces {
    /// The primitive.
    name: String,
    /// Names of its instances in the status, in order.
    copies: Vec<String>,
    /// Hosts with an instance, and its name in their histories.
    active: Vec<(HostIdx, String)>,
    /// The same for further instances on these hosts.
    surplus: Vec<(HostIdx, String)>,
    /// True if lost hosts tell of none of its instances, as those there are given up.
    pub(super) gives_up: bool,
}

impl PartTraces {
    /// Traces of a primitive with copies that run: their hosts, in order, and their names.
    pub(super) fn of(
        name: String,
        copies: Vec<String>,
        running: impl Iterator<Item = (HostIdx, String)>,
    ) -> PartTraces {
        let mut traces =
            PartTraces { name, copies, active: Vec::new(), surplus: Vec::new(), gives_up: false };
        for (host, name) in running {
            let is_known = traces.active.last().is_some_and(|(last, _)| *last == host);
            let list = if is_known { &mut traces.surplus } else { &mut traces.active };
            list.push((host, name));
        }
        traces
    }
}

/// A history of a clone's primitive on a host.
struct PartHistory {
    host: HostIdx,
    /// Its name, with or without the number of an instance.
    name: String,
    /// True if an instance runs there by this history.
    runs: bool,
}

/// The histories of an instance of a clone's primitive.
#[derive(Debug, Clone, Default)]
struct InstanceTrace {
    /// Its name in them, if it has any.
    name: Option<String>,
    /// The host on which it runs.
    active: Option<HostIdx>,
}

/// Returns true if a host where no instance runs comes after as many as there should be.
fn needs_extra(count: usize, known: &[PartHistory]) -> bool {
    let after_all = known.iter().filter(|history| history.runs).count() >= count;
    let last_runs = known.iter().rposition(|history| history.runs).map_or(0, |at| at + 1);
    after_all && last_runs < known.len()
}

/// Histories by instance. A host where none runs adds to those of the first instance that was not found running yet.
fn instance_traces(instances: &Instances<'_>, known: &[PartHistory]) -> Vec<InstanceTrace> {
    let mut traces = vec![InstanceTrace::default(); instances.count];
    for history in known {
        if history.runs {
            let number = instances.hosts.iter().position(|host| *host == history.host);
            if let Some(trace) = number.and_then(|number| traces.get_mut(number)) {
                *trace = InstanceTrace { name: Some(history.name.clone()), active: Some(history.host) };
            }
        } else if let Some(trace) = traces.iter_mut().find(|trace| trace.active.is_none()) {
            trace.name.get_or_insert_with(|| history.name.clone());
        }
    }
    traces
}

impl Reader<'_, '_> {
    /// The promotion of a clone with these meta attributes, without node attributes.
    pub(super) fn promotion(&self, metas: &Properties<'_>, own: &Properties<'_>) -> Promotion {
        let number = |newer: &str, older: &str| {
            let text = metas.get(newer).or_else(|| metas.get(older));
            text.map_or(1, |text| leading(text).map_or(0, |count| usize::try_from(count).unwrap_or(0)))
        };
        Promotion {
            most: number("promoted-max", "master-max"),
            per_host: number("promoted-node-max", "master-node-max"),
            unwanted: own.get("target-role").is_some_and(is_unpromoted),
            of_container_hosts: false,
            wishes: Vec::new(),
            greatest: Vec::new(),
            has_extra: false,
        }
    }

    /// Changes the reasons why a promotable clone is not supported: some do not apply to it, and others do to it alone.
    pub(super) fn check_promotable(&self, reasons: &mut Vec<&'static str>) {
        reasons.retain(|reason| ![PROMOTED, DEGRADED].contains(reason));
    }

    /// Adds to a promotion the wishes of the agents of one part, and whether Pacemaker makes up another instance.
    pub(super) fn read_wishes(
        &self,
        promotion: &mut Promotion,
        instances: &Instances<'_>,
        part: &PartTraces,
    ) {
        let known = self.part_histories(part);
        promotion.has_extra |= needs_extra(instances.count, &known);
        promotion.wishes.push(self.promotion_wishes(instances, part, &known));
    }

    /// By instance and host, the node attribute `master-NAME` of a part. An instance with a history counts only where
    /// its primitive was looked for, and no other instance runs. One without counts everywhere.
    fn promotion_wishes(
        &self,
        instances: &Instances<'_>,
        part: &PartTraces,
        known: &[PartHistory],
    ) -> Vec<HostWishes> {
        let busy: HashSet<HostIdx> = part.active.iter().map(|(host, _)| *host).collect();
        let known_hosts: BTreeSet<HostIdx> = known.iter().map(|history| history.host).collect();
        let open: Vec<HostIdx> = known_hosts.into_iter().filter(|host| !busy.contains(host)).collect();
        let (traces, wishes) = (instance_traces(instances, known), self.wishes_by_name());
        let row = |(number, trace): (usize, InstanceTrace)| {
            let hosts: Vec<HostIdx> = match &trace.name {
                Some(_) => open.iter().copied().chain(trace.active).collect(),
                None => self.set.host_indices().collect(),
            };
            let name = trace.name.unwrap_or_else(|| format!("{}:{number}", part.name));
            // An instance without a value of its own has that of all instances.
            let of_all = name.rsplit_once(':').and_then(|(bare, _)| wishes.get(bare));
            let own = wishes.get(&name);
            let on = |host: HostIdx| {
                let mut found = own.into_iter().chain(of_all).filter_map(|values| values.get(&host));
                let wish = found.next().filter(|_| self.may_run(host));
                wish.map(|score| (host, *score))
            };
            hosts.into_iter().filter_map(on).collect()
        };
        traces.into_iter().enumerate().map(row).collect()
    }

    /// By host, the node attribute `master-NAME` of an instance that is told apart. If it has a history, it counts only
    /// where it was looked for.
    pub(super) fn own_promotion_wishes(&self, name: &str) -> HostWishes {
        let traced = self.records_of(name).iter().map(|record| record.host);
        let idle = self.idle_hosts().get(&NameMark::of(name.as_bytes()));
        let is_known = |host: &HostIdx| self.is_heard(*host);
        let known: HashSet<HostIdx> =
            traced.chain(idle.into_iter().flatten().copied()).filter(is_known).collect();
        let own = self.wishes_by_name().get(name);
        let counts = |host: HostIdx| (known.is_empty() || known.contains(&host)) && self.may_run(host);
        let all = own.into_iter().flatten();
        all.filter(|(host, _)| counts(**host)).map(|(host, score)| (*host, *score)).collect()
    }

    /// The node attribute `master-NAME` of a primitive on a host.
    pub(super) fn wish_on(&self, primitive: &str, host: HostIdx) -> Option<AllocationScore> {
        self.wishes_by_name().get(primitive)?.get(&host).copied()
    }

    /// Drops the wishes on hosts that, by what was read later, run nothing.
    pub(super) fn drop_wishes_on_absent_hosts(&mut self) {
        let hosts = self.set.host_indices();
        let absent: HashSet<HostIdx> = hosts.filter(|host| !self.may_run(*host)).collect();
        // In a bundle, the host beneath can be there and the node in its container not yet.
        let open = self.set.resources.iter_mut().filter(|resource| !resource.in_bundle);
        let promotions = open.filter_map(|resource| resource.promotion.as_mut());
        for row in promotions.flat_map(|promotion| promotion.wishes.iter_mut().flatten()) {
            row.retain(|host, _| !absent.contains(host));
        }
    }

    /// Histories of a primitive by host, in the order of the status. One in which it is still looked for tells nothing.
    fn part_histories(&self, part: &PartTraces) -> Vec<PartHistory> {
        let mut names: Vec<Vec<String>> = vec![Vec::new(); self.set.hosts.len()];
        for copy in &part.copies {
            for record in self.records_of(copy).iter().filter(|record| !is_sought(record)) {
                let here = &mut names[record.host.get()];
                if here.last() != Some(copy) {
                    here.push(copy.clone());
                }
            }
        }
        let numbered = (0..=self.set.hosts.len()).map(|number| format!("{}:{number}", part.name));
        for name in std::iter::once(part.name.clone()).chain(numbered) {
            let idle_on = self.idle_hosts().get(&NameMark::of(name.as_bytes()));
            idle_on.into_iter().flatten().for_each(|host| names[host.get()].push(name.clone()));
        }
        let active: HashSet<(HostIdx, &str)> =
            part.active.iter().map(|(host, name)| (*host, name.as_str())).collect();
        let is_given_up = |host: HostIdx| part.gives_up && self.set.host(host).state.unclean;
        let counts = |host: &HostIdx| self.is_heard(*host) && !is_given_up(*host);
        let mut all = Vec::new();
        for host in self.set.status_order.iter().copied().filter(counts) {
            let histories = std::mem::take(&mut names[host.get()]).into_iter();
            let runs = |name: &String| active.contains(&(host, name.as_str()));
            let histories = histories
                .filter(|name| !part.surplus.iter().any(|other| (other.0, &other.1) == (host, name)));
            all.extend(histories.map(|name| PartHistory { host, runs: runs(&name), name }));
        }
        all
    }

    /// By the mark of a resource, the hosts on which it is known not to run.
    fn idle_hosts(&self) -> &HashMap<NameMark, Vec<HostIdx>> {
        self.idle_hosts.get_or_init(|| {
            let mut hosts: HashMap<NameMark, Vec<HostIdx>> = HashMap::new();
            for (host, idle) in self.set.host_indices().zip(&self.idle) {
                idle.names().into_iter().for_each(|name| hosts.entry(name).or_default().push(host));
            }
            hosts
        })
    }

    /// By the name of an instance, the scores of the node attribute `master-NAME` by host. The last of several wins.
    fn wishes_by_name(&self) -> &HashMap<String, HashMap<HostIdx, AllocationScore>> {
        self.wishes_by_name.get_or_init(|| {
            let mut wishes: HashMap<String, HashMap<HostIdx, AllocationScore>> = HashMap::new();
            for host in self.set.host_indices() {
                for (attribute, text) in &self.set.host(host).attributes {
                    let Some(name) = attribute.strip_prefix("master-") else { continue };
                    let score = score_of(text, self.health);
                    wishes.entry(name.to_owned()).or_default().insert(host, score);
                }
            }
            wishes
        })
    }
}

/// Returns true if a resource was only looked for on a host, and that has not ended.
fn is_sought(record: &HostRecord<'_>) -> bool {
    match &record.history.recorded_state {
        RecordedState::Unsettled(operations) => {
            operations.iter().all(|operation| operation.probes() && operation.is_pending())
        }
        _ => false,
    }
}
