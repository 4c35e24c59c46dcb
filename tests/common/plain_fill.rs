//! Filling of a cluster by the plain rules: nothing is cached, and every place is tried.

use htools::model::{Disk, DiskTemplate, Draft, FailCounts, FailKind, Instance, InstanceDetails, Mib};
use htools::redundancy::global::{Scope, evacuates};
use htools::search::fill::{FillSettings, Size};
use htools::search::place::{Conditions, PlaceSearch, Targets, plain};

pub struct Plain<'a> {
    pub cluster: Draft,
    pub targets: &'a Targets,
    pub settings: FillSettings,
    pub scope: Option<Scope>,
    pub added: i64,
}

impl Plain<'_> {
    fn instance(&self, size: Size) -> Instance {
        Instance::from(InstanceDetails {
            mem: size.memory,
            disk: size.disk,
            disks: [Disk { size: size.disk, spindles: Some(size.spindles) }].into(),
            spindles: Some(size.spindles),
            vcpus: size.vcpus,
            spindle_use: self.settings.spindle_use,
            ..InstanceDetails::blank(format!("new-{}", self.added), self.settings.template)
        })
    }

    fn find(&self, size: Size, scope: Option<&Scope>) -> PlaceSearch {
        let conditions = Conditions { ignore_soft_errors: false, redundancy: scope.cloned() };
        let instance = self.instance(size);
        plain::find(&self.cluster, &self.cluster.all_nodes(), (&instance).into(), self.targets, &conditions)
    }

    fn steps(&mut self, size: Size, mut limit: Option<i64>, scope: Option<Scope>) -> FailCounts {
        loop {
            let search = self.find(size, scope.as_ref());
            match search.best {
                Some((_, place)) if limit != Some(0) => {
                    let instance = self.instance(size);
                    self.cluster.adopt(&instance, &place);
                    self.added += 1;
                    limit = limit.map(|n| n - 1);
                }
                _ => return search.failures,
            }
        }
    }

    fn is_redundant(&self, scope: &Scope) -> bool {
        let nodes = self.cluster.all_nodes();
        nodes.iter().all(|n| {
            !scope.includes(&self.cluster, *n) || evacuates(&self.cluster, &nodes, *n, scope.departures)
        })
    }

    /// Fills with instances of one size.
    pub fn iterate(&mut self, size: Size, limit: Option<i64>) -> FailCounts {
        let Some(scope) = self.scope.clone().filter(|_| self.settings.template != DiskTemplate::Drbd) else {
            return self.steps(size, limit, None);
        };
        let (mut large, mut limit) = (true, limit);
        loop {
            let nodes = self.cluster.nodes.iter();
            let free: Mib = nodes.map(|n| n.state.ledger.mem_available(&n.spec)).sum();
            let batch =
                if large { 20.max(free.0 / size.memory.0 - self.cluster.nodes.len() as i64) } else { 10 };
            let (before, count) = (self.cluster.clone(), self.added);
            let failures = self.steps(size, Some(limit.map_or(batch, |l| l.min(batch))), None);
            if self.is_redundant(&scope) {
                limit = limit.map(|l| l - batch);
                if limit.is_some_and(|l| l <= 0) || self.added == count {
                    return failures;
                }
            } else {
                (self.cluster, self.added) = (before, count);
                if !large {
                    return self.steps(size, limit, Some(scope));
                }
                large = false;
            }
        }
    }

    /// Fills with instances of shrinking sizes.
    pub fn tiered(&mut self, size: Size, limit: Option<i64>) -> FailCounts {
        let failures = self.iterate(size, limit);
        if limit.is_some_and(|l| l <= self.added) {
            return failures;
        }
        let limit = limit.map(|l| l - self.added);
        let mut kinds: Vec<(FailKind, u64)> = failures.iter().collect();
        kinds.sort_by_key(|k| k.1);
        kinds.reverse();
        let added = self.added;
        if let Some(smaller) = size.shrunk(kinds[0].0) {
            let result = self.tiered(smaller, limit);
            if self.added > added {
                return result;
            }
        }
        match kinds.iter().find_map(|(kind, _)| self.sufficient(size, *kind)) {
            Some(smaller) => self.tiered(smaller, limit),
            None => failures,
        }
    }

    fn sufficient(&self, mut size: Size, kind: FailKind) -> Option<Size> {
        while let Some(smaller) = size.shrunk(kind) {
            let search = self.find(size, self.scope.as_ref());
            if search.best.is_some() {
                return Some(size);
            }
            if search.failures.get(kind) == 0 {
                return None;
            }
            size = smaller;
        }
        None
    }
}

/// A size that takes few steps down to the smallest one.
pub fn size(memory: i64, disk: i64, vcpus: i64, spindles: i64) -> Size {
    Size { memory: Mib(memory), disk: Mib(disk), vcpus, spindles }
}
