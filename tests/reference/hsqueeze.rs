//! Cases of hsqueeze: small clusters of one group with a master. Offline nodes, if any, are healthy standby nodes. In
//! other clusters the answers differ by design.

use std::collections::BTreeSet;

use htools::generate::random::Random;
use htools::load::merge::{MergeOptions, merge};
use htools::model::{DiskTemplate, GroupIdx, Mib, NodeIdx};
use htools::search::squeeze::Reserve;

use super::cases::{Case, Facts, Source, TEXT};
use super::clusters::{OddCluster, sized};
use super::input;
use super::mistakes;
use super::oddities::Purpose;
use super::options::{self, flag, optional, valued};
use super::tools::Tool;

/// Creates a case.
pub fn case(number: u64, random: &mut Random) -> Case {
    let (nodes, instances) = (random.between(2, NODES), random.between(0, INSTANCES));
    let mut cluster = sized(Purpose::Balance, nodes as usize, instances as usize, random);
    tame(&mut cluster, random);
    let mut facts = Facts::default();
    let files = vec![(TEXT, input::text(&mut cluster, random))];
    let minimal = *random.pick(&[0.0, 0.5, 1.0, 2.0, 2.0, 3.5]);
    let target = minimal + *random.pick(&[0.0, 0.0, 0.5, 2.0]);
    facts.reserve = Some(target);
    let mut meant = vec![
        valued(None, "minimal-resources", minimal.to_string()),
        valued(None, "target-resources", target.to_string()),
    ];
    for _ in 0..random.weighted(&[0.4, 0.4, 0.2]) {
        meant.push(flag('v', "verbose"));
    }
    if random.chance(0.2) {
        meant.push(flag(None, "no-headers"));
    }
    if random.chance(0.6) {
        facts.commands = true;
        let file = random.chance(0.3).then(|| "commands.sh".to_owned());
        meant.push(optional('C', "print-commands", file));
    }
    if random.chance(0.4) {
        facts.save = true;
        meant.push(valued('S', "save", "state"));
    }
    random.shuffle(&mut meant);
    let mut words = options::typed(Tool::Hsqueeze, &meant, random);
    let source_at = if random.chance(0.5) { words.len() } else { 0 };
    if random.chance(0.04) {
        facts.mistaken = true;
        words.extend(mistakes::mistake(Tool::Hsqueeze, random));
    }
    Case {
        number,
        tool: Tool::Hsqueeze,
        cluster,
        files,
        words,
        source_at,
        source: Source::Text,
        facts,
        asked: None,
    }
}

/// The largest cluster, in nodes and instances. The reference balances it again for every candidate, which takes
/// minutes unless the cluster is small.
const NODES: i64 = 6;
const INSTANCES: i64 = 14;

/// Removes everything that the two sides see differently.
fn tame(odd: &mut OddCluster, random: &mut Random) {
    let raw = &mut odd.raw;
    odd.unknown.clear();
    raw.groups.truncate(1);
    // Only ours checks the disk of the reserve.
    for policy in raw.groups.iter_mut().map(|group| &mut group.policy).chain([&mut raw.policy]) {
        policy.disk_templates.retain(|template| *template != DiskTemplate::Ext);
        policy.disk_templates.insert(0, DiskTemplate::Ext);
    }
    let is_shared = random.chance(0.6);
    let standby = random.chance(0.5);
    let mut free = vec![true; raw.nodes.len()];
    for instance in &mut raw.instances {
        instance.forthcoming = false;
        instance.secondary = instance.secondary.filter(|s| *s != instance.primary);
        // The reference's balancing moves neither of them there; ours moves the diskless ones.
        if matches!(instance.template, DiskTemplate::File | DiskTemplate::Diskless) {
            instance.template = DiskTemplate::Ext;
        }
        if instance.template == DiskTemplate::Drbd && instance.secondary.is_none() {
            instance.template = DiskTemplate::Ext;
        }
        // Ours moves DRBD instances only on request.
        if is_shared && instance.template == DiskTemplate::Drbd {
            (instance.template, instance.secondary) = (DiskTemplate::Ext, None);
        }
        for node in [Some(instance.primary), instance.secondary].into_iter().flatten() {
            free[node.get()] = false;
        }
    }
    for (at, node) in raw.nodes.iter_mut().enumerate() {
        node.group = GroupIdx::new(0);
        node.master = at == 0;
        node.offline = at > 0 && free[at] && (standby && random.chance(0.4));
        if node.offline {
            node.mem_total = node.mem_total.max(65536.0);
            node.mem_node = Mib(0);
            node.mem_free = Mib(node.mem_total as i64);
            node.cpu_total = node.cpu_total.max(16.0);
            node.tags
                .push((*random.pick(&["htools:standby:x", "htools:standby:y", "pink:bunny"])).to_owned());
        }
    }
}

/// An answer without additions of ours: commands to drain nodes, wait for them, check that they are empty, and mark
/// them offline and online; tags that exist already or record sizes and times; and empty headings. Nodes are powered
/// on and off by their names without the domain.
pub fn masked(text: &str, suffix: &str) -> String {
    let added = ["gnt-node modify ", "until ssh ", "test ", "gnt-node remove-tags ", "gnt-node add-tags "];
    let comes_up = text.contains("gnt-node power -f on ");
    let is_ours = |heading: &str| match heading {
        "echo Drain Commands" | "echo Check Commands" => true,
        // The reference adds no tags to nodes that come up.
        "echo Tagging Commands" => comes_up,
        _ => false,
    };
    let mut kept: Vec<String> = Vec::new();
    for line in text.lines() {
        let command = line.trim_start();
        if is_ours(command) {
            // The empty line before it.
            kept.pop_if(|last| last.trim_start().is_empty());
        } else if command.starts_with("gnt-node power ") {
            let bare = line.replace('\'', "");
            kept.push(bare.strip_suffix(suffix).unwrap_or(&bare).to_owned());
        } else if !added.iter().any(|start| command.starts_with(start)) {
            kept.push(line.to_owned());
        }
    }
    kept.iter().map(|line| format!("{line}\n")).collect()
}

/// Tells if the file names a master: mutations may have changed its role.
pub fn has_master(case: &Case) -> bool {
    case.files.iter().any(|(name, text)| *name == TEXT && text.lines().any(|line| line.contains("|M|")))
}

/// Tells if freeing nodes can worsen exclusion tags or locations, which the reference ignores. (It respects policies:
/// the reserve requires the vCPU ratio, and the instances that are moved by force have no spindles in these
/// clusters.)
pub fn has_soft_tags(case: &Case) -> bool {
    let kinds = ["htools:iextags:", "htools:nlocation:", "htools:desiredlocation:"];
    case.cluster.raw.tags.iter().any(|tag| kinds.iter().any(|kind| tag.starts_with(kind)))
}

/// The lines with candidates, if shown.
pub fn candidates(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.contains("line candidates: ")).collect()
}

/// Tells if one answer with the same candidates has a node that the other lacks.
pub fn frees_more(theirs: &str, ours: &str) -> bool {
    candidates(theirs) == candidates(ours) && switched(theirs).difference(&switched(ours)).next().is_some()
}

/// Tells if ours frees everything that the reference frees and more, or powers up fewer of the nodes.
pub fn frees_at_once(theirs: &str, ours: &str) -> bool {
    let (theirs_switched, ours_switched) = (switched(theirs), switched(ours));
    let frees = |text: &str| text.contains("'Nodes to offline'");
    let differ = theirs_switched != ours_switched;
    let headed = [theirs, ours].iter().any(|text| text.contains("'N"));
    let fits = match (frees(theirs), frees(ours)) {
        _ if !headed => theirs_switched.is_subset(&ours_switched),
        (true, true) => theirs_switched.is_subset(&ours_switched),
        (false, true) => true,
        (false, false) => ours_switched.is_subset(&theirs_switched),
        (true, false) => false,
    };
    candidates(theirs) == candidates(ours) && differ && fits
}

/// A saved state without the tag of nodes that were powered down.
pub fn without_auto_tags(text: &str) -> String {
    text.replace(",htools:standby:auto", "").replace("htools:standby:auto", "")
}

/// Tells if an answer with the same candidates frees a node that lacks room for the reserve even when empty. The
/// reference counts that node although it is offline then.
pub fn frees_small(case: &Case, theirs: &str, ours: &str) -> bool {
    let small = without_reserve(case);
    let more: Vec<_> = switched(ours).difference(&switched(theirs)).copied().collect();
    candidates(theirs) == candidates(ours) && more.iter().any(|node| small.contains(*node))
}

/// The nodes to be switched.
fn switched(text: &str) -> BTreeSet<&str> {
    let shown = text.lines().take_while(|line| !line.is_empty() && !line.starts_with("The commands"));
    shown.filter(|line| !line.starts_with('\'') && !line.contains("line candidates: ")).collect()
}

/// Names of the nodes that lack room for the required reserve even without instances.
fn without_reserve(case: &Case) -> BTreeSet<String> {
    let Some(factor) = case.facts.reserve else { return BTreeSet::new() };
    let mut raw = case.cluster.raw.clone();
    raw.instances.clear();
    for node in &mut raw.nodes {
        node.offline = false;
    }
    let Ok(cluster) = merge(raw, &MergeOptions::default()) else { return BTreeSet::new() };
    let reserve = Reserve::of(&cluster.policy, factor);
    let small =
        (0..cluster.nodes.len()).map(NodeIdx::new).filter(|node| reserve.lack(&cluster, *node).is_some());
    small.map(|node| case.cluster.raw.nodes[node.get()].name.clone()).collect()
}
