//! Moves between node groups: on random clusters every plan respects the rules, and the tool reports its results.

use std::collections::BTreeSet;
use std::fs;

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use htools::generate::{self, ClusterSpec, TemplateMix};
use htools::load::merge::{MergeOptions, finish, merge};
use htools::load::raw::RawCluster;
use htools::load::text;
use htools::model::{Cluster, DiskTemplate, Group, GroupIdx, Mib, Node, Step, StorageMap};
use htools::plan::checker::{check_crossings, check_jobsets};
use htools::plan::jobset::jobsets;
use htools::search::groups::RegroupOptions;
use htools::search::groups::balance::{Balance, GroupBalanceOptions, balance};
use htools::search::groups::compress::compress;
use htools::search::groups::health::{Condition, Health};
use htools::search::groups::load::LoadSource;
use htools::search::groups::redistribute::{Healing, redistribute};
use predicates::str::contains;
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::rapi;

use crate::common::clusters::{Dice, cases};

/// A random cluster of a few groups: pools, denials, policies, offline nodes, scarce memory.
fn random(seed: u64) -> Cluster {
    let mut dice = Dice::new(seed);
    let groups = 2 + dice.below(4);
    let pools = [
        "",
        "",
        "htools:pool:x",
        "htools:pool:y",
        "htools:pool:x,htools:pool:y",
        "htools:pool:rbd:fast",
        "htools:intergroup:deny",
    ];
    let (mut rows, mut nodes, mut instances, mut policies) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut by_group: Vec<Vec<String>> = Vec::new();
    let mut all = Vec::new();
    for g in 0..groups {
        let policy = dice.of(&["preferred", "preferred", "preferred", "last_resort", "unallocable"]);
        rows.push(format!("g{g}|g{g}|{policy}|{}|", dice.of(&pools)));
        let templates = dice.of(&["drbd,rbd", "drbd,rbd,plain", "rbd", "drbd,rbd,ext"]);
        let spec = "128,1,1024,1,1,1|1,1,1,1,1,1;9999999,99,9999999,16,8,12";
        policies.push(format!("g{g}|{spec}|{templates}|{}|32.0", dice.of(&["4.0", "2.0"])));
        let members: Vec<String> = (0..2 + dice.below(3)).map(|n| format!("g{g}n{n}")).collect();
        all.push((g, members.clone()));
        by_group.push(members);
    }
    let mut memory: std::collections::BTreeMap<String, (i64, i64)> = Default::default();
    for i in 0..4 + dice.below(24) {
        let group = dice.below(groups);
        let there = &by_group[group];
        let template = dice.of(&["drbd", "drbd", "rbd", "rbd", "ext", "plain"]);
        let at = dice.below(there.len());
        let primary = there[at].clone();
        let secondary = match template {
            "drbd" => there[(at + 1 + dice.below(there.len() - 1)) % there.len()].clone(),
            _ => String::new(),
        };
        let (mem, disk) = (256 * (1 + dice.below(12)) as i64, 1024 * (1 + dice.below(20)) as i64);
        let tag = if dice.chance(15) {
            dice.of(&["htools:pool:x", "htools:pool:rbd:fast", "svc:a", "svc:b"])
        } else {
            ""
        };
        let status = dice.of(&["running", "running", "running", "ADMIN_down"]);
        let movable = if dice.chance(95) { "Y" } else { "N" };
        instances.push(format!(
            "i{i}|{mem}|{disk}|{}|{status}|{movable}|{primary}|{secondary}|{template}|{tag}|1",
            1 + dice.below(3)
        ));
        if status == "running" {
            memory.entry(primary.clone()).or_default().0 += mem;
        }
        for node in [primary, secondary].iter().filter(|_| template == "drbd" || template == "plain") {
            memory.entry(node.clone()).or_default().1 += disk;
        }
    }
    for (g, members) in all {
        for name in members {
            let (mem, disk) = memory.get(&name).copied().unwrap_or_default();
            let total = dice.of(&[8192, 8192, 12288]);
            let role = if dice.chance(12) { "Y" } else { "N" };
            let disks = if dice.chance(90) { 409_600 } else { 0 };
            nodes.push(format!(
                "{name}|{total}|0|{}|{disks}|{}|8|{role}|g{g}|1||N|0|0",
                total - mem,
                disks - disk
            ));
        }
    }
    let tags = if dice.chance(50) { "htools:iextags:svc\n" } else { "" };
    let text = format!(
        "{}\n\n{}\n\n{}\n\n{tags}\n{}\n",
        rows.join("\n"),
        nodes.join("\n"),
        instances.join("\n"),
        policies.join("\n")
    );
    let raw = text::parse(&text, "random").unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut cluster = merge(raw, &MergeOptions::default()).unwrap();
    for group in &mut cluster.groups {
        // Mostly Ganeti's default; otherwise nothing could move.
        group.disk_parameters.rbd_pool = dice.of(&["rbd", "rbd", "fast", "slow"]).to_owned();
    }
    finish(&mut cluster, Mib::ZERO);
    cluster
}

fn options(careful: bool) -> RegroupOptions {
    RegroupOptions { capacity_checks: careful, max_moves: None }
}

/// Tells if the disks of an instance can be reached from its target group, according to tags and to the pools that
/// Ganeti exports. The nodes of these clusters have no tags.
fn stays_in_partition(cluster: &Cluster, step: &Step) -> bool {
    let tagged = |tags: &[String]| -> Vec<String> {
        tags.iter().filter_map(|tag| tag.strip_prefix("htools:pool:")).map(str::to_owned).collect()
    };
    let exported = |group: &Group, template: DiskTemplate| match group.disk_parameters.rbd_pool.as_str() {
        pool if template == DiskTemplate::Rbd && pool != "rbd" => format!("rbd:{pool}"),
        _ => template.to_string(),
    };
    let instance = cluster.instance(step.instance);
    // Its original place determines where its disks are.
    let from = cluster.group(cluster.node(instance.primary).spec.group);
    let target = step.groups(cluster).1;
    let to = cluster.group(target);
    if instance.template == DiskTemplate::Drbd {
        return to.policy.disk_templates.contains(&DiskTemplate::Drbd);
    }
    let (own, here, there) = (tagged(&instance.tags), tagged(&from.tags), tagged(&to.tags));
    let pools = match (own.is_empty(), here.is_empty()) {
        (false, _) => own.clone(),
        (true, false) => here,
        (true, true) => vec![exported(from, instance.template)],
    };
    if !there.is_empty() {
        return pools.iter().all(|pool| there.contains(pool));
    }
    if own.is_empty() {
        return pools == [exported(to, instance.template)];
    }
    // Its own tags name its pools. The target group also reaches the pools that instances there use.
    let neighbours = cluster.instances_of(target).into_iter().map(|i| cluster.instance(i));
    let used =
        neighbours.filter(|i| i.template.uses_external_storage()).flat_map(|i| match tagged(&i.tags) {
            none if none.is_empty() => vec![exported(to, i.template)],
            pools => pools,
        });
    let allowed = to.policy.disk_templates.iter().map(|template| exported(to, *template));
    let reached: Vec<String> = used.chain(allowed).collect();
    pools.iter().all(|pool| reached.contains(pool))
}

/// Checks the plan with the independent checker, and compares its result.
fn checked(cluster: &Cluster, steps: &[Step], after: &Cluster) {
    for step in steps {
        assert!(stays_in_partition(cluster, step), "{:?}", step);
    }
    let replay = check_crossings(cluster, steps).unwrap_or_else(|v| panic!("{v}"));
    check_jobsets(steps, &jobsets(cluster, steps)).unwrap();
    assert!(replay.leads_to(after));
    // A later reading of the cluster must find the disks where they are.
    let (before, now) = (StorageMap::of(cluster), StorageMap::of(after));
    let known = |map: &StorageMap, step: &Step| -> Vec<String> {
        map.of_instance(step.instance).iter().map(|pool| map.pool(*pool).to_string()).collect()
    };
    for step in steps {
        let (there, found) = (known(&before, step), known(&now, step));
        assert!(there.iter().all(|pool| found.contains(pool)), "{there:?} {found:?} {step:?}");
    }
    assert_eq!(apart_from_instances(after), apart_from_instances(cluster));
}

/// Free resources of each node plus those of its instances, which no move changes.
fn apart_from_instances(cluster: &Cluster) -> Vec<(Mib, Mib)> {
    let sizes = |node: &Node| {
        let ledger = &node.state.ledger;
        let primaries = || node.state.primaries.iter().map(|i| cluster.instance(*i));
        let secondaries = || node.state.secondaries.iter().map(|i| cluster.instance(*i));
        let mem: Mib = primaries().map(|i| i.mem_in_use()).sum();
        let disk: Mib = primaries().chain(secondaries()).map(|i| i.local_disk()).sum();
        (ledger.mem_unallocated(&node.spec) + mem, ledger.disk_free + disk)
    };
    cluster.nodes.iter().map(sizes).collect()
}

/// Number of instances that move.
fn movers<'p>(steps: impl IntoIterator<Item = &'p Step>) -> usize {
    steps.into_iter().map(|step| step.instance).collect::<BTreeSet<_>>().len()
}

/// Health of each group. Only if `careful` is set, a node that could not be emptied makes a group weak.
fn of_all(cluster: &Cluster, careful: bool) -> Vec<Health> {
    cluster.groups.iter().map(|g| Condition::of(cluster, g.idx, careful).health()).collect()
}

fn in_group(cluster: &Cluster, group: GroupIdx) -> Vec<String> {
    cluster.instances_of(group).iter().map(|i| format!("{:?}", cluster.instance(*i))).collect()
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn groups_are_healed_as_a_whole_or_left_alone(seed in any::<u64>(), careful in any::<bool>()) {
        let cluster = random(seed);
        let plan = redistribute(&cluster, &options(careful));
        let steps: Vec<Step> = plan.steps().copied().collect();
        checked(&cluster, &steps, &plan.after);
        let (before, after) = (of_all(&cluster, careful), of_all(&plan.after, careful));
        for repair in &plan.repairs {
            let at = repair.group.get();
            match &repair.outcome {
                Healing::Repaired(moves) => {
                    // Others may only move out of the way, without copies of disks.
                    let leaves = |step: &Step| step.groups(&cluster).0 == repair.group;
                    prop_assert!(moves.iter().all(|step| leaves(step) || step.copied(&cluster) == Mib::ZERO));
                    prop_assert_eq!(after[at], Health::Healthy);
                }
                _ => {
                    prop_assert_eq!(after[at], before[at]);
                    prop_assert_eq!(in_group(&cluster, repair.group), in_group(&plan.after, repair.group));
                }
            }
        }
        prop_assert!(before.iter().zip(&after).all(|(before, after)| after <= before));
        prop_assert_eq!(plan.heals_all(), after.iter().all(|h| *h == Health::Healthy));
        // Groups that could not be repaired cannot be repaired afterwards, either.
        prop_assert_eq!(redistribute(&plan.after, &options(careful)).steps().count(), 0);
    }

    #[test]
    fn emptied_groups_are_empty_and_others_healthy(seed in any::<u64>(), careful in any::<bool>()) {
        let cluster = random(seed);
        let found = compress(&cluster, &cluster.groups_with_nodes(), &options(careful));
        let before = of_all(&cluster, careful);
        for candidate in found.candidates.iter().filter(|c| !c.steps().is_empty()) {
            let after = candidate.after(&cluster, &options(careful));
            checked(&cluster, candidate.steps(), &after);
            prop_assert_eq!(movers(candidate.steps()), candidate.instances);
            let there = |n| after.node(n).spec.group == candidate.group;
            prop_assert!(!after.instances.iter().any(|i| i.nodes().any(there)));
            prop_assert!(of_all(&after, careful).iter().zip(&before).all(|(after, before)| after <= before));
        }
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let again = alone.install(|| compress(&cluster, &cluster.groups_with_nodes(), &options(careful)));
        prop_assert_eq!(found.candidates, again.candidates);
    }

    #[test]
    fn balancing_gains_with_every_step_and_ends(seed in any::<u64>(), careful in any::<bool>()) {
        let cluster = random(seed);
        let loads = if seed.is_multiple_of(2) { LoadSource::InUse } else { LoadSource::Measured };
        let options = GroupBalanceOptions { regroup: options(careful), loads, ..GroupBalanceOptions::default() };
        let plan = balance(&cluster, &options);
        let mut score = plan.before.score();
        for step in &plan.steps {
            prop_assert!(step.score <= score - options.min_gain, "{} after {score}", step.score);
            score = step.score;
        }
        let steps = plan.steps.clone();
        checked(&cluster, &steps, &plan.after);
        prop_assert!(of_all(&plan.after, careful).iter().zip(&of_all(&cluster, careful)).all(|(after, before)| after <= before));
        prop_assert_eq!(balance(&plan.after, &options).steps.len(), 0);
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let again = alone.install(|| balance(&cluster, &options));
        prop_assert_eq!(&plan.steps, &again.steps);

        // With all moves together no rule is broken either, and the result is at least as good.
        let deep = GroupBalanceOptions { deep: true, effort: Some(20_000), ..options };
        let together = balance(&cluster, &deep);
        checked(&cluster, &together.steps, &together.after);
        let all = of_all(&together.after, careful);
        prop_assert!(all.iter().zip(&of_all(&cluster, careful)).all(|(after, before)| after <= before));
        let worth = |plan: &Balance| {
            plan.loads.score().max(deep.min_score) + deep.min_gain * plan.steps.len() as f64
        };
        prop_assert!(worth(&together) <= worth(&plan) + 1e-9, "{} {}", worth(&together), worth(&plan));
        prop_assert_eq!(&together.steps, &alone.install(|| balance(&cluster, &deep)).steps);
    }
}

/// The random clusters are varied enough.
#[test]
fn random_clusters_give_plans() {
    let (mut healed, mut stuck, mut emptied, mut balanced, mut twice) = (0, 0, 0, 0, 0);
    for seed in 0..300 {
        let cluster = random(seed);
        let plan = redistribute(&cluster, &options(true));
        healed += plan.repairs.iter().filter(|r| matches!(r.outcome, Healing::Repaired(_))).count();
        stuck += plan.repairs.iter().filter(|r| matches!(r.outcome, Healing::Stuck(_))).count();
        emptied +=
            usize::from(compress(&cluster, &cluster.groups_with_nodes(), &options(true)).choice().is_some());
        let steps = balance(&cluster, &GroupBalanceOptions::default()).steps;
        balanced += steps.len();
        twice += steps.len() - movers(&steps);
    }
    assert!(
        healed > 20 && stuck > 20 && emptied > 20 && balanced > 100,
        "{healed} {stuck} {emptied} {balanced}"
    );
    assert!(twice * 50 < balanced, "{twice} of {balanced}");
}

/// Plans on clusters of the kind used in benchmarks.
#[test]
fn larger_clusters() {
    for (seed, templates) in [(1, TemplateMix::Drbd), (2, TemplateMix::Ext), (3, TemplateMix::Mixed)] {
        let spec = ClusterSpec { groups: 6, ..ClusterSpec::new(48, 480, templates, seed) };
        let mut cluster = merge(generate::cluster(&spec), &MergeOptions::default()).unwrap();
        finish(&mut cluster, Mib::ZERO);
        let plan = balance(&cluster, &GroupBalanceOptions::default());
        let steps = plan.steps.clone();
        checked(&cluster, &steps, &plan.after);
        cluster.nodes[0].spec.offline = true;
        cluster.nodes[7].spec.offline = true;
        let plan = redistribute(&cluster, &options(true));
        let steps: Vec<Step> = plan.steps().copied().collect();
        checked(&cluster, &steps, &plan.after);
        assert_eq!(plan.heals_all(), templates != TemplateMix::Mixed, "plain instances stay");
    }
}

// --- the tool

const SAMPLE: &str = "data/pools.data";

fn hgroup(words: &[&str]) -> Assert {
    Command::new(env!("CARGO_BIN_EXE_htools")).env_remove("HTOOLS").arg("hgroup").args(words).assert()
}

fn stdout(assert: &Assert) -> String {
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

#[test]
fn all_moves_together_belong_to_balance() {
    let sample = ["-t", SAMPLE];
    let whole = hgroup(&[&["balance", "--deep"], &sample[..]].concat()).code(0);
    assert!(stdout(&whole).contains("Imbalance improved from 243.32410859 to "));
    hgroup(&[&["balance", "--effort=5"], &sample[..]].concat())
        .code(1)
        .stderr(contains("option --effort needs --deep"));
    hgroup(&[&["compress", "--deep"], &sample[..]].concat()).code(1).stderr(contains(
        "option --deep does not apply to `hgroup compress'\nHint: --deep belongs to `hgroup balance'\n",
    ));
}

/// With `--proof`, a bound follows the plan, and is in the document. Nothing else changes.
#[test]
fn bound_of_the_groups_that_can_be_emptied() {
    let run = |more: &[&str]| stdout(&hgroup(&[&["compress", "-t", SAMPLE], more].concat()).code(0));
    let line = |more: &[&str]| {
        let with = run(&[more, &["--proof"]].concat());
        with.strip_prefix(&run(more)).expect("the bound comes last").to_owned()
    };
    assert_eq!(line(&[]), "At most 4 groups can be emptied, each by itself (4 found).\n");
    assert_eq!(line(&["--empty-one"]), line(&[]));
    // Only attic has a single instance.
    assert_eq!(line(&["-l1"]), "At most 1 group can be emptied, each by itself (1 found).\n");
    let document: serde_json::Value = serde_json::from_str(&run(&["--proof", "--json"])).unwrap();
    assert_eq!(document["proof"], serde_json::json!({"bound": 4, "emptied": 4, "undecided": []}));
    let document: serde_json::Value = serde_json::from_str(&run(&["--json"])).unwrap();
    assert!(document.get("proof").is_none());
    hgroup(&["balance", "-t", SAMPLE, "--proof"]).code(1).stderr(contains("belongs to `hgroup compress'"));
}

#[test]
fn the_drawing_in_the_documents_is_that_of_the_sample() {
    let drawn = stdout(&hgroup(&["status", "-t", SAMPLE, "--svg"]).code(0));
    assert!(
        drawn == fs::read_to_string("docs/groups.svg").unwrap(),
        "hgroup status -t {SAMPLE} --svg > docs/groups.svg"
    );
    hgroup(&["status", "-t", SAMPLE, "--dot"]).code(0).stdout(contains("  g0 -- p0;\n"));
}

#[test]
fn statuses() {
    hgroup(&["status", "-t", SAMPLE]).code(0);
    // lab denies moves, and has an instance on an offline node.
    hgroup(&["redistribute", "-t", SAMPLE]).code(1).stdout(contains("1 of 2 groups can be repaired"));
    hgroup(&["redistribute", "-t", "data/groups.data"])
        .code(0)
        .stdout("All groups are healthy, nothing to do.\n");
    hgroup(&["compress", "-t", SAMPLE]).code(0);
    hgroup(&["compress", "-t", SAMPLE, "--evacuate", "--detailed-status"]).code(3);
    hgroup(&["compress", "-t", SAMPLE, "-G", "lab"]).code(1);
    hgroup(&["compress", "-t", SAMPLE, "-G", "nowhere"])
        .code(1)
        .stderr(contains("'nowhere' is not the name or UUID"));
    hgroup(&["balance", "-t", SAMPLE]).code(0);
    hgroup(&["balance", "-t", SAMPLE, "--evacuate"]).code(1).stderr(contains("belongs to `hgroup compress'"));
    hgroup(&[]).code(1).stderr(contains("hgroup needs one command\nHint: the commands are status,"));
    hgroup(&["status", "-x"]).code(2);
}

#[test]
fn saved_states_and_scripts() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let script = format!("-C{}", path("moves.sh"));
    hgroup(&["balance", "-t", SAMPLE, "-S", &path("state"), &script, "-q"])
        .code(0)
        .stdout(predicates::str::starts_with("Imbalance improved from "));
    let text = fs::read_to_string(path("moves.sh")).unwrap();
    assert!(
        text.starts_with("#!/bin/sh\n") && text.contains("\n  gnt-instance ") && text.contains("  check\n")
    );
    // The result needs no more moves.
    hgroup(&["balance", "-t", &path("state.regrouped")]).code(0).stdout(contains("No move gains enough"));
    hgroup(&["balance", "-t", &path("state.original"), "-l", "1"]).code(0).stdout(contains("with 1 move."));
}

#[test]
fn names_cannot_break_drawings() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("odd.data");
    let odd = "a\"<b>&\\|u|preferred|htools:pool:\"<x>|\n\nn|1000|0|1000|0|0|1|N|u\n\n\n\n";
    fs::write(&file, odd).unwrap();
    let file = file.to_str().unwrap();
    hgroup(&["status", "-t", file, "--svg"]).code(0).stdout(contains("a&quot;&lt;b&gt;&amp;\\"));
    hgroup(&["status", "-t", file, "--dot"]).code(0).stdout(contains("label=\"a\\\"<b>&\\\\\\n"));
}

// --- exported pools

/// A directory with RAPI answers for two groups with one node each, an rbd instance on the first node, and these disk
/// parameters.
fn exporting(parameters: [Option<Value>; 2]) -> TempDir {
    let mut cluster = two_nodes();
    rapi::limit_to_rapi(&mut cluster);
    let mut answers = rapi::answers(&cluster, "fake");
    for (group, exported) in answers[0].as_array_mut().unwrap().iter_mut().zip(parameters) {
        group.as_object_mut().unwrap().remove("diskparams");
        group.as_object_mut().unwrap().extend(exported.map(|value| ("diskparams".to_owned(), value)));
    }
    let directory = tempfile::tempdir().unwrap();
    rapi::write(&answers, directory.path());
    directory
}

fn two_nodes() -> RawCluster {
    let rows = |row: &dyn Fn(&str) -> String| ["a", "b"].iter().map(|name| row(name)).collect::<String>();
    let groups = rows(&|name| format!("{name}|{name}|preferred||\n"));
    let nodes = rows(&|name| format!("{name}1|8192|0|7168|409600|409600|8|N|{name}|1||N|0|0\n"));
    let policies = rows(&|name| {
        format!("{name}|128,1,1024,1,1,1|1,1,1,1,1,1;99999,99,999999,16,8,12|rbd,gluster|4.0|32.0\n")
    });
    let instances = "i|1024|1024|1|running|Y|a1||rbd||1\n";
    text::parse(&format!("{groups}\n{nodes}\n{instances}\n\n{policies}"), "made").unwrap()
}

#[test]
fn different_exported_pools_are_different_partitions() {
    let pool = |name: &str| Some(json!({"drbd": {"metavg": "xenvg"}, "rbd": {"pool": name}}));
    let status = |parameters: [Option<Value>; 2]| {
        let directory = exporting(parameters);
        let address = format!("file://{}", directory.path().display());
        let printed = stdout(&hgroup(&["status", "-m", &address]).code(0));
        let moves =
            stdout(&hgroup(&["compress", "-m", &address, "-G", "a", "--no-capacity-checks", "--json"]));
        let moves: Value = serde_json::from_str(&moves).unwrap();
        let (_, table) = printed.split_once("Partitions:\n").unwrap();
        let rows = table.lines().skip(1).map(|row| row.split_whitespace().collect::<Vec<_>>().join(" "));
        (rows.collect::<Vec<_>>(), moves["moves"].as_array().unwrap().len())
    };
    let found = |rows: &[&str], moves: usize| (rows.iter().map(|row| row.to_string()).collect(), moves);
    assert_eq!(status([pool("ssd"), pool("rbd")]), found(&["external/rbd:ssd 1 a"], 0));
    assert_eq!(status([None, pool("ssd")]), found(&["external/rbd 1 a"], 0));
    assert_eq!(status([pool("ssd"), pool("ssd")]), found(&["external/rbd:ssd 1 a,b"], 1));
    assert_eq!(status([None, pool("rbd")]), found(&["external/rbd 1 a,b"], 1));
}

#[test]
fn exported_pools_in_drawings_and_documents() {
    let long = "the-pool-of-the-machines-in-the-cellar";
    let directory = exporting([Some(json!({"rbd": {"pool": long}})), None]);
    let address = format!("file://{}", directory.path().display());
    for option in ["--svg", "--dot", "--json"] {
        let name = format!("external/rbd:{long}");
        hgroup(&["status", "-m", &address, option]).code(0).stdout(contains(name));
    }
}

/// It applies here and in the other tools with several formats.
#[test]
fn one_form_of_the_answer() {
    for (tool, words, one, other) in [
        ("hgroup", &["status", "--json", "--svg"][..], "svg", "json"),
        ("hgroup", &["status", "--json", "--dot"], "dot", "json"),
        ("hgroup", &["status", "--svg", "--dot"], "dot", "svg"),
        ("hcheck", &["--json", "--machine-readable"], "json", "machine-readable"),
        ("hspace", &["--json", "--machine-readable"], "json", "machine-readable"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
        let run = command.env("HTOOLS", tool).args(words).args(["-t", SAMPLE]).assert();
        let why = format!("Error: options --{one} and --{other} exclude each other\n");
        run.code(1).stdout("").stderr(why);
    }
    // The last option counts.
    let words = ["-t", SAMPLE, "--json", "--machine-readable", "--machine-readable=no"];
    Command::new(env!("CARGO_BIN_EXE_htools")).env("HTOOLS", "hspace").args(words).assert().code(0);
}

/// The other tools ignore exported pools, so nothing there can be wrong for them.
#[test]
fn exported_pools_that_are_none() {
    for (value, problem) in [
        (json!(7), "group 'b': key 'diskparams': Unable to read JSObject: expected an object, found 7"),
        (json!({"rbd": {"pool": ""}}), "group 'b', diskparams, rbd: key 'pool': \"\" is not a name"),
        (json!({"rbd": {"pool": "a\u{1b}[2J"}}), "rbd: key 'pool': \"a\\u{1b}[2J\" is not a name"),
        (json!({"gluster": {"port": 65536}}), "diskparams, gluster: key 'port': 65536 is not a port"),
    ] {
        let directory = exporting([None, Some(value)]);
        let address = format!("file://{}", directory.path().display());
        hgroup(&["status", "-m", &address]).code(1).stderr(contains(problem));
        let mut hinfo = Command::new(env!("CARGO_BIN_EXE_htools"));
        hinfo.args(["hinfo", "-m", &address]).env_remove("HTOOLS").assert().code(0);
    }
}
