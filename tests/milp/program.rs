//! A cluster as a linear program: for each primitive and host, a 0-1 variable tells if the primitive runs there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::process::Command;

use htools::pacemaker::{AllocationScore, HostIdx, ResourceIdx, WorkingSet};

use super::plain_placement::{INFINITY, NEVER, ends, is_placed_by_us, members, needs, primitives};

/// Time limit for one goal, in seconds.
const TIME: &str = "60";

/// A linear sum of variables, with a constant.
#[derive(Debug, Clone, Default)]
pub struct LinearGoal {
    terms: BTreeMap<String, i64>,
    constant: i64,
}

impl LinearGoal {
    fn add(&mut self, other: &LinearGoal, times: i64) {
        for (variable, factor) in &other.terms {
            *self.terms.entry(variable.clone()).or_default() += factor * times;
        }
        self.constant += other.constant * times;
    }

    fn with(mut self, other: &LinearGoal, times: i64) -> LinearGoal {
        self.add(other, times);
        self
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (variable, factor) in self.terms.iter().filter(|(_, factor)| **factor != 0) {
            let _ = writeln!(text, " {} {} {variable}", if *factor < 0 { '-' } else { '+' }, factor.abs());
        }
        if text.is_empty() { " 0 nothing\n".to_owned() } else { text }
    }
}

/// Result for a goal.
pub enum Solved {
    /// The maximum.
    Best(i64),
    /// The time was up.
    GaveUp,
}

/// The constraints of all placements.
pub struct PlacementProgram {
    /// The hosts on which each primitive may run, for primitives to be placed.
    free: BTreeMap<ResourceIdx, Vec<HostIdx>>,
    rules: Vec<String>,
    variables: BTreeSet<String>,
}

impl PlacementProgram {
    /// The program of a cluster. None if a need is negative, or if an unmanaged resource needs a capacity that its
    /// host lacks: in that case the first of several resources counts as needing none.
    pub fn of(set: &WorkingSet) -> Option<PlacementProgram> {
        let is_odd = |one: ResourceIdx| {
            let of = set.resource(one);
            let lacks = |kind| {
                let host = of.active.filter(|_| !set.is_managed(one));
                host.is_some_and(|host| set.host(host).capacity.iter().all(|(other, _)| other != kind))
            };
            of.utilization.iter().any(|(kind, amount)| amount < 0 || lacks(kind))
        };
        if primitives(set).any(is_odd) {
            return None;
        }
        let mut free = BTreeMap::new();
        for one in primitives(set).filter(|one| is_placed_by_us(set, *one)) {
            let scores = &set.resource(one).scores;
            let may = |host: &HostIdx| set.host(*host).state.available() && scores.or_never(*host) != NEVER;
            free.insert(one, set.host_indices().filter(may).collect::<Vec<_>>());
        }
        let mut program = PlacementProgram { free, rules: Vec::new(), variables: BTreeSet::new() };
        // The format requires at least one constraint.
        program.variables.insert("nothing".to_owned());
        program.at_most(&LinearGoal::default(), 0);
        for one in program.free.keys().copied().collect::<Vec<_>>() {
            let everywhere = program.on(set, one, |_| true);
            program.variables.extend(everywhere.terms.keys().cloned());
            program.at_most(&everywhere, 1);
        }
        program.capacities(set);
        program.colocations(set);
        program.orders(set);
        program.choices(set);
        Some(program)
    }

    /// The sum of a primitive's variables over some hosts.
    fn on(&self, set: &WorkingSet, one: ResourceIdx, is: impl Fn(HostIdx) -> bool) -> LinearGoal {
        let mut goal = LinearGoal::default();
        match self.free.get(&one) {
            Some(hosts) => {
                let variable = |host: &HostIdx| format!("x{}h{}", one.get(), host.get());
                goal.terms.extend(hosts.iter().filter(|host| is(**host)).map(|host| (variable(host), 1)));
            }
            None if !set.is_managed(one) => {
                goal.constant = i64::from(set.resource(one).active.is_some_and(is));
            }
            None => {}
        }
        goal
    }

    fn at_most(&mut self, goal: &LinearGoal, most: i64) {
        self.rules.push(format!("{} <= {}", goal.text(), most - goal.constant));
    }

    fn capacities(&mut self, set: &WorkingSet) {
        for host in set.host_indices() {
            for kind in set.attribute_indices() {
                let capacity = &set.host(host).capacity;
                let lacks = capacity.iter().all(|(other, _)| other != kind);
                let charges = set.charges.iter().filter(|charge| charge.host == host);
                let mut left =
                    capacity.get(kind) - charges.map(|charge| charge.utilization.get(kind)).sum::<i64>();
                let fixed = primitives(set)
                    .filter(|one| !set.is_managed(*one) && set.resource(*one).active == Some(host));
                let fixed: i64 = fixed.map(|one| set.resource(one).utilization.get(kind)).sum();
                left = if lacks { left.max(0) } else { left - fixed };
                let mut taken = LinearGoal::default();
                for one in self.free.keys().copied().collect::<Vec<_>>() {
                    let amounts = &set.resource(one).utilization;
                    let here = self.on(set, one, |other| other == host);
                    taken.add(&here, amounts.get(kind));
                    if left < 0 && amounts.iter().any(|(other, _)| other == kind) {
                        self.at_most(&here, 0);
                    }
                }
                if left >= 0 {
                    self.at_most(&taken, left);
                }
            }
        }
    }

    /// Classes of hosts that count as one place for a colocation.
    fn classes(set: &WorkingSet, attribute: Option<&str>) -> Vec<BTreeSet<HostIdx>> {
        let mut classes: BTreeMap<Option<String>, BTreeSet<HostIdx>> = BTreeMap::new();
        for host in set.host_indices() {
            let value = match attribute {
                Some(name) => set.host(host).attribute(name).map(str::to_lowercase),
                None => Some(set.host(host).name.clone()),
            };
            classes.entry(value).or_default().insert(host);
        }
        classes.into_values().collect()
    }

    fn colocations(&mut self, set: &WorkingSet) {
        for colocation in &set.colocations {
            for (dependent, primary) in ends(set, colocation) {
                let is_free = set.is_managed(dependent);
                for class in Self::classes(set, colocation.attribute.as_deref()) {
                    let [here, there] =
                        [dependent, primary].map(|one| self.on(set, one, |host| class.contains(&host)));
                    if colocation.score == INFINITY && is_free {
                        self.at_most(&here.with(&there, -1), 0);
                    } else if colocation.score == NEVER && (is_free || set.is_managed(primary)) {
                        self.at_most(&here.with(&there, 1), 1);
                    }
                }
            }
        }
    }

    fn orders(&mut self, set: &WorkingSet) {
        for (first, then, symmetrical) in needs(set) {
            for one in members(set, then).into_iter().filter(|one| is_placed_by_us(set, *one)) {
                let of = set.resource(one);
                if of.group == Some(first) || (!symmetrical && of.active.is_some()) {
                    continue;
                }
                for other in members(set, first).into_iter().filter(|other| *other != one) {
                    let [then, first] = [one, other].map(|one| self.on(set, one, |_| true));
                    self.at_most(&then.with(&first, -1), 0);
                }
            }
        }
    }

    /// Of alternative predecessors, enough must run. A group always counts as running.
    fn choices(&mut self, set: &WorkingSet) {
        for choice in &set.choices {
            let dependents = choice.dependents.iter().flat_map(|then| members(set, *then));
            for then in dependents.filter(|then| is_placed_by_us(set, *then)) {
                let one = self.on(set, then, |_| true);
                let times = i64::try_from(choice.enough).expect("few are enough");
                let mut lack = LinearGoal::default().with(&one, times);
                for first in choice.firsts.iter().filter(|first| **first != then) {
                    match set.resource(*first).is_group() {
                        true => lack.constant -= 1,
                        false => lack = lack.with(&self.on(set, *first, |_| true), -1),
                    }
                }
                self.at_most(&lack, 0);
            }
        }
    }

    /// Number of running primitives with a priority.
    pub fn placed(&self, set: &WorkingSet, priority: AllocationScore) -> LinearGoal {
        let of = self.free.keys().filter(|one| set.resource(**one).priority == priority);
        of.fold(LinearGoal::default(), |goal, one| goal.with(&self.on(set, *one, |_| true), 1))
    }

    /// The sum of scores, including those of satisfied optional colocations.
    pub fn score(&mut self, set: &WorkingSet) -> LinearGoal {
        let mut goal = LinearGoal::default();
        for (one, hosts) in &self.free {
            for host in hosts {
                let score = set.resource(*one).scores.or_never(*host).get();
                goal.add(&self.on(set, *one, |other| other == *host), i64::from(score));
            }
        }
        for (number, colocation) in set.colocations.iter().enumerate() {
            for (dependent, primary) in ends(set, colocation) {
                let [is_free, other_is_free] = [dependent, primary].map(|one| set.is_managed(one));
                let is_wish = match colocation.score {
                    INFINITY => !is_free && other_is_free,
                    score => score != NEVER && (is_free || other_is_free),
                };
                let classes = Self::classes(set, colocation.attribute.as_deref());
                for (at, class) in classes.iter().enumerate().filter(|_| is_wish) {
                    let name = format!("w{number}d{}c{at}", dependent.get());
                    self.variables.insert(name.clone());
                    let mut meet = LinearGoal::default();
                    meet.terms.insert(name, 1);
                    let sides =
                        [dependent, primary].map(|one| self.on(set, one, |host| class.contains(&host)));
                    // It is 1 if and only if both are there.
                    sides.iter().for_each(|side| self.at_most(&meet.clone().with(side, -1), 0));
                    let both = LinearGoal::default().with(&sides[0], 1).with(&sides[1], 1);
                    self.at_most(&both.with(&meet, -1), 1);
                    goal.add(&meet, i64::from(colocation.score.get()));
                }
            }
        }
        goal
    }

    /// Minus the numbers of running primitives that are stopped, even temporarily, and of those that migrate, up to a
    /// constant. It holds for clusters without orders.
    pub fn disruption(&self, set: &WorkingSet) -> [LinearGoal; 2] {
        let mut goals = [LinearGoal::default(), LinearGoal::default()];
        for one in self.free.keys() {
            let of = set.resource(*one);
            let Some(from) = of.active else { continue };
            let (stays, runs) = (self.on(set, *one, |host| host == from), self.on(set, *one, |_| true));
            goals[0].constant -= 1;
            if of.allow_migrate && set.host(from).state.online {
                goals[0].add(&runs, 1);
                goals[1].add(&runs, -1);
                goals[1].add(&stays, 1);
            } else {
                goals[0].add(&stays, 1);
            }
        }
        goals
    }

    /// Minus the number of used nodes.
    pub fn nodes(&mut self, set: &WorkingSet) -> LinearGoal {
        let mut goal = LinearGoal::default();
        for host in set.host_indices().filter(|host| set.host(*host).state.available()) {
            let name = format!("u{}", host.get());
            self.variables.insert(name.clone());
            let mut used = LinearGoal::default();
            used.terms.insert(name, 1);
            for one in primitives(set) {
                let here = self.on(set, one, |other| other == host);
                self.at_most(&here.with(&used, -1), 0);
            }
            goal.add(&used, -1);
        }
        goal
    }

    /// Requires a goal to keep this value from now on.
    pub fn keep(&mut self, goal: &LinearGoal, value: i64) {
        self.rules.push(format!("{} >= {}", goal.text(), value - goal.constant));
    }

    /// The maximum of a goal.
    pub fn solve(&self, goal: &LinearGoal) -> Result<Solved, String> {
        let mut text = format!("Maximize\n goal:{}Subject To\n", goal.text());
        for (number, rule) in self.rules.iter().enumerate() {
            let _ = writeln!(text, " r{number}:{rule}");
        }
        text.push_str("Binary\n");
        self.variables.iter().for_each(|variable| text.push_str(&format!(" {variable}\n")));
        text.push_str("End\n");
        let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
        let [program, answer] = ["program.lp", "answer"].map(|name| directory.path().join(name));
        fs::write(&program, text).map_err(|error| error.to_string())?;
        let output = Command::new("glpsol")
            .args(["--mipgap", "0", "--tmlim", TIME, "--lp"])
            .arg(&program)
            .arg("--write")
            .arg(&answer)
            .output()
            .map_err(|error| format!("glpsol (Debian's package glpk-utils): {error}"))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let answer = fs::read_to_string(&answer).map_err(|error| format!("{error}: {said}"))?;
        let line = answer.lines().find(|line| line.starts_with("s mip ")).ok_or(said)?;
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["s", "mip", _, _, "o", value] => {
                let value: f64 = value.parse().map_err(|_| line.to_owned())?;
                #[allow(clippy::cast_possible_truncation)] // a whole number, far below 2^53
                Ok(Solved::Best(value.round() as i64 + goal.constant))
            }
            ["s", "mip", _, _, "f" | "u", _] => Ok(Solved::GaveUp),
            _ => Err(format!("glpsol: {line}")),
        }
    }
}
