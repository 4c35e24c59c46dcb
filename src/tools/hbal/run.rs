//! A balancing run: from a loaded cluster to a plan and its views.

use super::search::{Found, search};
use super::{ExitStatus, HbalOptions};
use crate::model::{Cluster, GroupIdx, InstanceIdx, Mib, NodeIdx};
use crate::plan::command::{command_list, listing as command_listing, script};
use crate::plan::jobset::{Jobset, jobsets};
use crate::redundancy::n_plus_one::Failures;
use crate::report::components::{components, score};
use crate::report::file::write_whole;
use crate::report::number::general;
use crate::report::text::cluster_text;
use crate::report::{debug, json};
use crate::score::Components;
use crate::search::{BalanceOptions, Balancer, Effort, MoveRules, Step};
use crate::tools::options::CommandTarget;
use crate::tools::output::Output;
use crate::tools::save::save;
use crate::tools::{group, listing, source};

/// What the options mean for the search.
pub fn balance_options(options: &HbalOptions) -> BalanceOptions {
    BalanceOptions {
        rules: MoveRules {
            disk_moves: options.disk_moves,
            instance_moves: options.instance_moves,
            restricted_migration: options.restricted_migration,
            ignore_soft_errors: options.ignore_soft_errors,
        },
        evacuate: options.evac_mode,
        min_gain: options.min_gain,
        min_gain_limit: options.min_gain_limit,
        min_score: options.min_score,
        max_length: options.max_length,
        effort: Effort::Screened,
    }
}

/// Where the lines for people go: to standard output, unless a document is
/// wanted instead.
pub struct Text<'a> {
    pub output: &'a mut Output,
    pub json: bool,
}

impl Text<'_> {
    pub fn line(&mut self, line: impl AsRef<str>) -> anyhow::Result<()> {
        if !self.json {
            self.output.line(line.as_ref())?;
        }
        Ok(())
    }
}

/// The group being balanced.
struct Scope {
    group: GroupIdx,
    nodes: Vec<NodeIdx>,
    instances: Vec<InstanceIdx>,
    failures: Failures,
    /// Nodes that pass N+1, offline ones included.
    happy: Vec<NodeIdx>,
}

impl Scope {
    fn of(cluster: &Cluster, group: GroupIdx) -> Scope {
        let nodes = cluster.nodes_of(group);
        let failures = Failures::of(cluster, &nodes);
        let happy = nodes.iter().copied().filter(|n| !failures.nodes.contains(n)).collect();
        Scope { group, instances: cluster.instances_of(group), nodes, failures, happy }
    }

    fn policy_violating(&self, cluster: &Cluster) -> Vec<NodeIdx> {
        use crate::model::PolicyHealth::Fine;
        self.happy.iter().copied().filter(|n| cluster.node(*n).policy_health() != Fine).collect()
    }
}

/// What a run led to; every view is made from this.
struct Outcome {
    initial: Components,
    unavoidable: f64,
    last: Components,
    steps: Vec<Step>,
    stopped: Option<json::plan::Stopped>,
    jobsets: Vec<Jobset>,
    /// The nodes among which instances were moved; none without steps.
    moved: Vec<NodeIdx>,
}

impl Outcome {
    fn without_steps(components: Components, unavoidable: f64) -> Outcome {
        Outcome {
            initial: components.clone(),
            unavoidable,
            last: components,
            steps: Vec::new(),
            stopped: None,
            jobsets: Vec::new(),
            moved: Vec::new(),
        }
    }
}

/// A plan that is to be carried out.
pub struct Plan {
    /// The cluster before the first step.
    pub before: Cluster,
    /// The group.
    pub group: GroupIdx,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// Which steps can run at the same time.
    pub jobsets: Vec<Jobset>,
    /// What ended the search early, if anything did.
    pub stopped: Option<json::plan::Stopped>,
    /// The document of `--json`, not printed yet: there must be one only, and the plan may
    /// have to be made anew.
    pub document: Option<String>,
}

/// How a balancing run ended.
pub struct Ran {
    /// The exit status, unless there is something to carry out.
    pub status: ExitStatus,
    /// What there is to carry out, if that is wanted.
    pub plan: Option<Plan>,
}

impl From<ExitStatus> for Ran {
    fn from(status: ExitStatus) -> Ran {
        Ran { status, plan: None }
    }
}

/// Balances one group of the cluster.
pub fn run(options: &HbalOptions, cluster: &mut Cluster, output: &mut Output) -> anyhow::Result<Ran> {
    let level = options.load.verbosity;
    let mut text = Text { output, json: options.json };
    if level > 1 {
        text.line(format!("Loaded cluster tags: {}", cluster.tags.join(",")))?;
        text.line(format!("Loaded cluster ipolicy: {}", debug::policy(&cluster.policy)))?;
    }
    // the saved state is the cluster as it was read
    let as_read = options.save.as_ref().map(|prefix| {
        let instances: Vec<_> = cluster.instances.iter().map(|i| i.idx).collect();
        (prefix, cluster_text(cluster, &cluster.all_nodes(), &instances))
    });
    source::apply_node_settings(cluster, &options.load)?;
    if cluster.instances.is_empty() {
        text.line("Cluster is empty, exiting.")?;
        return finish_empty(cluster, text).map(Ran::from);
    }
    describe_cluster(cluster, level, &mut text)?;
    if let Some((prefix, content)) = as_read {
        let note = save(prefix, "original", "before balancing", &content)?;
        text.output.error_line(&note)?;
    }
    let Some(group) = group::select(cluster, options.group.as_deref(), text.output)? else {
        return Ok(ExitStatus::Failure.into());
    };
    let scope = Scope::of(cluster, group);
    describe_group(cluster, &scope, options, &mut text)?;
    print_lists("Initial", options, cluster, &scope, text.output)?;

    let start = options.json.then(|| Start {
        state: json::cluster::State::of(cluster, &scope.nodes, &scope.instances),
        group: Some(json_group(cluster, &scope)),
    });
    let totals = totals(cluster, &scope.nodes);
    let before = options.execution.exec.then(|| cluster.clone());
    let mut balancer = Balancer::new(cluster, &scope.nodes, balance_options(options));
    let initial = balancer.components();
    announce_score(&initial, level, &mut text)?;
    let unavoidable = balancer.unavoidable();
    if balancer.is_balanced() {
        for line in balanced_message(balancer.score(), unavoidable, options.min_score) {
            text.line(line)?;
        }
        let outcome = Outcome::without_steps(initial, unavoidable);
        return document(cluster, &outcome, json::plan::Ending::Balanced, start, text).map(Ran::from);
    }
    text.line("Trying to minimize the CV...")?;
    let Found { steps, stopped } = search(options, &mut balancer, &scope.instances, &mut text)?;
    let last = balancer.components();
    let moved = if steps.is_empty() { Vec::new() } else { scope.nodes.clone() };
    let outcome =
        Outcome { jobsets: jobsets(cluster, &steps), initial, unavoidable, last, steps, stopped, moved };
    report(options, cluster, &scope, &outcome, totals, &mut text)?;
    let ending = match outcome.steps.is_empty() {
        true => json::plan::Ending::NoSolution,
        false => json::plan::Ending::Improved,
    };
    let document = document_text(cluster, &outcome, ending, start)?;
    let Outcome { steps, jobsets, stopped, .. } = outcome;
    match before.filter(|_| !steps.is_empty()) {
        Some(before) => {
            let plan = Plan { before, group, steps, jobsets, stopped, document };
            Ok(Ran { status: ExitStatus::Success, plan: Some(plan) })
        }
        None => print_document(document, text.output).map(Ran::from),
    }
}

fn finish_empty(cluster: &Cluster, text: Text<'_>) -> anyhow::Result<ExitStatus> {
    let outcome = Outcome::without_steps(Components { values: Vec::new() }, 0.0);
    let start = text
        .json
        .then(|| Start { state: json::cluster::State::of(cluster, &cluster.all_nodes(), &[]), group: None });
    document(cluster, &outcome, json::plan::Ending::Empty, start, text)
}

fn describe_cluster(cluster: &Cluster, level: i32, text: &mut Text<'_>) -> anyhow::Result<()> {
    let split = cluster.split_instances();
    if level > 1 && !split.is_empty() {
        text.output.error_line("Found instances belonging to multiple node groups:")?;
        for instance in split {
            text.output.error_line(&format!("  {}", cluster.instance(instance).name))?;
        }
        text.output.error_line("These instances will not be moved.")?;
    }
    text.line(format!("Loaded {} nodes, {} instances", cluster.nodes.len(), cluster.instances.len()))?;
    if level > 1 && !cluster.common_suffix.is_empty() {
        text.line(format!("Note: Stripping common suffix of '{}' from names", cluster.common_suffix))?;
    }
    Ok(())
}

fn describe_group(
    cluster: &Cluster,
    scope: &Scope,
    options: &HbalOptions,
    text: &mut Text<'_>,
) -> anyhow::Result<()> {
    let level = options.load.verbosity;
    text.line(format!("Group size {} nodes, {} instances", scope.nodes.len(), scope.instances.len()))?;
    text.line(format!("Selected node group: {}", cluster.group(scope.group).name))?;
    let bad = &scope.failures;
    if level >= 1 {
        let (nodes, instances) = (bad.nodes.len(), bad.instances);
        text.line(format!("Initial check done: {nodes} bad nodes, {instances} bad instances."))?;
    }
    let name = |n: &NodeIdx| cluster.node(*n).spec.name.as_str();
    if level > 4 {
        text.line(format!("Bad nodes: {}", debug::list(bad.nodes.iter().map(name))))?;
        text.line(format!("N+1 happy nodes: {}", debug::list(scope.happy.iter().map(name))))?;
        let health = scope.happy.iter().map(|n| (name(n), cluster.node(*n).policy_health()));
        text.line(format!("Node policy status: {}", debug::policy_status(health)))?;
    }
    if !bad.none() {
        text.line(
            "Cluster is not N+1 happy, continuing but no guarantee that the cluster will end N+1 happy.",
        )?;
    }
    let violating = scope.policy_violating(cluster).len();
    if violating > 0 {
        text.line(format!("The cluster contains {violating} policy-violating nodes."))?;
        text.line(match options.ignore_soft_errors {
            true => "Continuing, ignoring soft errors.",
            false => {
                "Continuing, but the set of moves might be too restricted; \
                 consider using the --ignore-soft-errors option."
            }
        })?;
    }
    Ok(())
}

/// The lists of instances and nodes, on standard error.
fn print_lists(
    when: &str,
    options: &HbalOptions,
    cluster: &Cluster,
    scope: &Scope,
    output: &mut Output,
) -> anyhow::Result<()> {
    if options.print_instances {
        listing::instances(output, when, cluster, &scope.instances)?;
    }
    if let Some(fields) = &options.print_nodes {
        listing::nodes(output, &format!("{when} cluster"), cluster, &scope.nodes, fields)?;
    }
    Ok(())
}

fn announce_score(initial: &Components, level: i32, text: &mut Text<'_>) -> anyhow::Result<()> {
    if level > 2 {
        text.line(format!("Initial coefficients: overall {}", score(initial.score())))?;
        return components(initial).iter().try_for_each(|line| text.line(line));
    }
    text.line(format!("Initial score: {}", score(initial.score())))
}

fn balanced_message(initial: f64, unavoidable: f64, min_score: f64) -> [String; 4] {
    [
        format!("Cluster is already well balanced (initial score {},", general(initial)),
        format!("optimum score due to N+1 reservations {},", general(unavoidable)),
        format!("minimum score {}).", general(min_score)),
        "Nothing to do, exiting".to_owned(),
    ]
}

/// Everything that is said and written once the search is over.
fn report(
    options: &HbalOptions,
    cluster: &Cluster,
    scope: &Scope,
    outcome: &Outcome,
    before: (Mib, Mib),
    text: &mut Text<'_>,
) -> anyhow::Result<()> {
    let level = options.load.verbosity;
    let (first, last) = (outcome.initial.score(), outcome.last.score());
    if outcome.steps.is_empty() {
        text.line("No solution found")?;
    } else if level > 2 {
        text.line(format!("Final coefficients:   overall {}", score(last)))?;
        components(&outcome.last).iter().try_for_each(|line| text.line(line))?;
    } else {
        text.line(format!("Cluster score improved from {} to {}", score(first), score(last)))?;
    }
    if level >= 1 {
        text.line(format!("Solution length={}", outcome.steps.len()))?;
    }
    if let Some(target) = &options.commands {
        give_commands(options, target, cluster, outcome, text)?;
    }
    if let Some(prefix) = &options.save {
        let content = cluster_text(cluster, &scope.nodes, &scope.instances);
        let note = save(prefix, "balanced", "after balancing", &content)?;
        text.output.error_line(&note)?;
    }
    print_lists("Final", options, cluster, scope, text.output)?;
    if level > 3 {
        let after = totals(cluster, &scope.nodes);
        text.line(format!("Original: mem={} disk={}", before.0.0, before.1.0))?;
        text.line(format!("Final:    mem={} disk={}", after.0.0, after.1.0))?;
    }
    Ok(())
}

/// Unallocated memory and free disk of all nodes together.
fn totals(cluster: &Cluster, nodes: &[NodeIdx]) -> (Mib, Mib) {
    let nodes = || nodes.iter().map(|n| cluster.node(*n));
    let mem = nodes().map(|n| n.state.ledger.mem_unallocated(&n.spec)).sum();
    (mem, nodes().map(|n| n.state.ledger.disk_free).sum())
}

fn give_commands(
    options: &HbalOptions,
    target: &CommandTarget,
    cluster: &Cluster,
    outcome: &Outcome,
    text: &mut Text<'_>,
) -> anyhow::Result<()> {
    let wanted = if options.first_job_group { 1 } else { usize::MAX };
    let sets = &outcome.jobsets[..outcome.jobsets.len().min(wanted)];
    let lines = command_list(cluster, &outcome.steps, sets);
    match target {
        CommandTarget::Stdout => {
            text.line("")?;
            text.line(match options.first_job_group {
                true => "First set of jobs:",
                false => "Commands to run to reach the above solution:",
            })?;
            command_listing(&lines).iter().try_for_each(|line| text.line(line))
        }
        CommandTarget::File(path) => {
            write_whole(path, &script(&lines))?;
            text.line(format!("The commands have been written to file '{}'", path.display()))
        }
    }
}

fn json_group(cluster: &Cluster, scope: &Scope) -> json::plan::Group {
    let group = cluster.group(scope.group);
    let names = |nodes: &[NodeIdx]| nodes.iter().map(|n| cluster.node(*n).spec.name.clone()).collect();
    json::plan::Group {
        name: group.name.clone(),
        uuid: group.uuid.clone(),
        nodes: scope.nodes.len(),
        instances: scope.instances.len(),
        bad_nodes: names(&scope.failures.nodes),
        bad_instances: scope.failures.instances,
        policy_violating_nodes: names(&scope.policy_violating(cluster)),
    }
}

/// What a document says about the time before the first step.
struct Start {
    state: json::cluster::State,
    group: Option<json::plan::Group>,
}

/// Prints the document, if one is wanted.
fn document(
    cluster: &Cluster,
    outcome: &Outcome,
    ending: json::plan::Ending,
    start: Option<Start>,
    text: Text<'_>,
) -> anyhow::Result<ExitStatus> {
    print_document(document_text(cluster, outcome, ending, start)?, text.output)
}

/// Prints a document, if there is one.
pub fn print_document(document: Option<String>, output: &mut Output) -> anyhow::Result<ExitStatus> {
    if let Some(document) = document {
        output.write(&document)?;
    }
    Ok(ExitStatus::Success)
}

/// The document, if one is wanted: then there is a start.
fn document_text(
    cluster: &Cluster,
    outcome: &Outcome,
    ending: json::plan::Ending,
    start: Option<Start>,
) -> anyhow::Result<Option<String>> {
    let Some(Start { state, group }) = start else { return Ok(None) };
    let scored = group.is_some();
    let document = json::plan::Document {
        schema: json::plan::SCHEMA,
        generator: json::Generator::this(),
        ending,
        stopped: outcome.stopped,
        group,
        cluster: state,
        initial_score: scored.then(|| json::Score::of(&outcome.initial)),
        unavoidable_score: scored.then_some(outcome.unavoidable),
        final_score: scored.then(|| json::Score::of(&outcome.last)),
        steps: json::plan::steps(cluster, &outcome.steps),
        jobsets: json::plan::jobsets(&outcome.jobsets),
        nodes_after: json::cluster::nodes(cluster, &outcome.moved),
        explanations: Vec::new(),
    };
    Ok(Some(json::text(&document)?))
}
