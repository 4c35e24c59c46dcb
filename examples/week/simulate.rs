//! The simulation of the week: instances come and go at every moment. At cron's hours, the library's `squeeze` makes
//! a plan, which is checked and executed.

use anyhow::{Context, ensure};
use htools::load::raw::RawCluster;
use htools::model::{Cluster, Draft, GroupIdx, Leg, NodeIdx};
use htools::plan::checker::{CheckOptions, check};
use htools::search::squeeze::{Decision, GroupPlan, Reach, Reserve, SqueezeOptions, squeeze};

use super::profile::Profile;
use super::world::World;

/// Options and times of the hsqueeze runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Standard instances for which every online node must have room.
    pub minimal: f64,
    /// The same, after nodes have been freed.
    pub target: f64,
    /// True to free nodes with DRBD instances, too.
    pub drbd: bool,
    /// The full hours at which hsqueeze runs; if empty, at every moment.
    pub at: Vec<u32>,
    /// Minutes for which a node is left alone after it was switched.
    pub cooldown: u32,
    /// Share of the instances that is replaced by new ones between two moments.
    pub churn: f64,
    /// Seed of the random choices.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { minimal: 2.0, target: 4.0, drbd: false, at: Vec::new(), cooldown: 0, churn: 0.02, seed: 1 }
    }
}

/// Events and figures of a moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Moment {
    /// Minutes since Monday, midnight.
    pub time: u32,
    /// Instances that run, by group of the profile.
    pub running: Vec<usize>,
    /// Instances without a place; they try again at the next moment.
    pub waiting: usize,
    /// Groups in which a node lacked the minimal reserve, before nodes were switched.
    pub short: usize,
    /// Nodes that are on until the next moment, by group of the profile.
    pub on: Vec<usize>,
    /// Nodes powered down.
    pub down: usize,
    /// Nodes powered up.
    pub up: usize,
    /// Instances migrated.
    pub migrations: usize,
    /// Disk copies made anew.
    pub replacements: usize,
}

/// A week.
#[derive(Debug, Clone, PartialEq)]
pub struct Week {
    pub moments: Vec<Moment>,
    /// Minutes between two moments.
    pub minutes: u32,
    /// Nodes of the cluster.
    pub nodes: usize,
}

/// Simulates a week.
///
/// # Errors
/// If the profile does not suit the cluster, or a plan breaks its guarantees.
pub fn simulate(raw: RawCluster, profile: &Profile, settings: &Settings) -> anyhow::Result<Week> {
    let mut world = World::new(raw, settings.seed)?;
    let groups = profile.groups.iter().map(|name| world.group(name)).collect::<anyhow::Result<Vec<_>>>()?;
    let mut switched: Vec<Option<u32>> = vec![None; world.nodes()];
    let mut moments = Vec::with_capacity(profile.ticks.len());
    for tick in &profile.ticks {
        let mut moment = Moment { time: tick.time, ..Moment::default() };
        for (group, wanted) in groups.iter().zip(&tick.wanted) {
            let running = world.running(*group);
            let replaced = (running as f64 * settings.churn).round() as usize;
            world.leave(*group, replaced.max(running.saturating_sub(*wanted)));
            moment.waiting += world.come(*group, wanted.saturating_sub(world.running(*group)))?;
        }
        let cluster = world.cluster()?;
        let minimal = Reserve::of(&cluster.policy, settings.minimal);
        let is_short = |g: &&GroupIdx| minimal.first_lack(&cluster, cluster.nodes_of(**g)).is_some();
        moment.short = cluster.groups_with_nodes().iter().filter(is_short).count();
        if settings.at.is_empty() || settings.at.iter().any(|hour| tick.is_hour(*hour)) {
            let recently = |at: &Option<u32>| at.is_some_and(|at| tick.time < at + settings.cooldown);
            let left_alone = switched.iter().enumerate().filter(|(_, at)| recently(at));
            let left_alone = left_alone.map(|(node, _)| NodeIdx::new(node)).collect();
            let plans = run(&mut world, &cluster, settings, left_alone).with_context(|| tick.text())?;
            for plan in &plans {
                moment.count(plan);
                plan.nodes.iter().for_each(|n| switched[n.get()] = Some(tick.time));
            }
        }
        moment.running = groups.iter().map(|g| world.running(*g)).collect();
        moment.on = groups.iter().map(|g| world.nodes_on(*g)).collect();
        moments.push(moment);
    }
    Ok(Week { moments, minutes: profile.minutes, nodes: world.nodes() })
}

impl Moment {
    fn count(&mut self, plan: &GroupPlan) {
        match plan.decision {
            Decision::Expand => self.up += plan.nodes.len(),
            _ => self.down += plan.nodes.len(),
        }
        for leg in plan.steps.iter().flat_map(|step| step.mv.legs()) {
            match leg {
                Leg::Failover | Leg::FailoverTo(_) => self.migrations += 1,
                Leg::ReplaceSecondary(_) => self.replacements += 1,
            }
        }
    }
}

/// Runs hsqueeze, checks its plans, and executes them.
fn run(
    world: &mut World,
    cluster: &Cluster,
    settings: &Settings,
    left_alone: Vec<NodeIdx>,
) -> anyhow::Result<Vec<GroupPlan>> {
    let options = SqueezeOptions {
        minimal: settings.minimal,
        target: settings.target,
        reach: if settings.drbd { Reach::Drbd } else { Reach::External },
        left_alone,
        ..SqueezeOptions::default()
    };
    let found = squeeze(cluster, &cluster.groups_with_nodes(), &options);
    for plan in &found.plans {
        let before = plan.start(cluster);
        let nodes = before.nodes_of(plan.group).to_vec();
        let mut switched = Draft::of(before);
        plan.switch(&mut switched);
        check(&switched, &nodes, &plan.steps, CheckOptions::default()).context("a step is forbidden")?;
        ensure!(!plan.nodes.iter().any(|n| options.left_alone.contains(n)), "a node was not left alone");
        world.carry_out(plan, before, &found.after);
    }
    // From here on, only the reports of the nodes count.
    let after = world.cluster()?;
    for plan in &found.plans {
        keeps_its_promises(plan, plan.start(cluster), &after, settings)?;
    }
    Ok(found.plans)
}

/// Checks the guarantees of an executed plan.
fn keeps_its_promises(
    plan: &GroupPlan,
    before: &Cluster,
    after: &Cluster,
    settings: &Settings,
) -> anyhow::Result<()> {
    for instance in &after.instances {
        let off = [Some(instance.primary), instance.secondary];
        let off = off.into_iter().flatten().any(|n| after.node(n).spec.offline);
        ensure!(!off, "{} is on a node that is off", instance.name);
    }
    let nodes = after.nodes_of(plan.group).to_vec();
    let lacks = |factor| Reserve::of(&after.policy, factor).first_lack(after, &nodes).is_some();
    match plan.decision {
        Decision::Condense => ensure!(!lacks(settings.target), "the target reserve is missing"),
        Decision::Expand => {
            ensure!(!plan.enough || !lacks(settings.minimal), "the minimal reserve is missing")
        }
        Decision::Nothing => ensure!(plan.is_idle(), "something is done without a decision"),
    }
    for node in nodes.iter().filter(|n| !after.node(**n).spec.offline) {
        let failed = |cluster: &Cluster| cluster.node(*node).state.ledger.n1_fail;
        let was_on = !before.node(*node).spec.offline;
        ensure!(!failed(after) || (was_on && failed(before)), "{} fails N+1", after.node(*node).spec.name);
    }
    Ok(())
}
