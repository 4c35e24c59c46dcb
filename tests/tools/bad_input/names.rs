//! Malicious names: nothing in them is executed, they do not control a terminal, and no job is made with them.
//!
//! A shell determines the effect of the plans' commands. The scripts run with stand-ins for Ganeti's programs, which
//! record their arguments.

use std::collections::HashMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use htools::load::merge::{MergeOptions, finish, merge};
use htools::load::text;
use htools::model::{Cluster, Draft, Mib};
use htools::plan::checker::CheckOptions;
use htools::plan::command::plan_lines;
use htools::plan::jobset::jobsets;
use htools::plan::names::{Impossible, NameOf};
use htools::plan::rolling::Reboots;
use htools::plan::shell;
use htools::plan::switching::{PowerCommand, Switch, Switching, whole};
use htools::plan::work::Work;
use htools::search::balance::{BalanceOptions, Balancer};
use htools::search::groups::balance::{GroupBalanceOptions as GroupOptions, balance};
use htools::search::rolling::{Conflicts, RollingOptions};
use htools::search::squeeze::{Decision, GroupPlan, SqueezeOptions, squeeze};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::RngSeed;
use serde_json::Value;

use super::{Place, Run, sample};

/// Names that must not reach a shell or a terminal unescaped.
const HOSTILE: [&str; 16] = [
    "$(touch x)",
    "no;touch x",
    "`touch x`",
    "a\ntouch x",
    "a'$(touch x)'",
    "\"$(touch x)\"",
    "a\\",
    "a b",
    "a>x",
    "a&touch x&",
    "{a,b}",
    "*",
    "~",
    "a\u{1b}[2J\u{9b}31m",
    "\u{202e}a",
    "",
];

/// Makes the work of a plan for a cluster.
type MakeWork = Box<dyn Fn(&Cluster) -> Result<Work, Impossible> + Send + Sync>;

/// Makes a script of a plan for a cluster.
type ScriptOf = dyn Fn(&Cluster) -> Result<String, Impossible> + Send + Sync;

/// A plan, and the means to make its commands for renamed instances and nodes.
struct Planned {
    cluster: Cluster,
    script: Box<ScriptOf>,
    work: MakeWork,
    /// Calls of its script without renaming.
    calls: Vec<Vec<String>>,
}

impl Planned {
    fn new(
        cluster: Cluster,
        script: impl Fn(&Cluster) -> Result<String, Impossible> + Send + Sync + 'static,
        work: MakeWork,
    ) -> Planned {
        let calls = calls(&script(&cluster).unwrap());
        assert!(calls.len() > 2, "{calls:?}");
        Planned { cluster, script: Box::new(script), work, calls }
    }

    /// A plan whose script is made from its work.
    fn walked(
        cluster: Cluster,
        work: impl Fn(&Cluster) -> Result<Work, Impossible> + Clone + Send + Sync + 'static,
    ) -> Planned {
        let made = work.clone();
        let script = move |c: &Cluster| Ok(shell::script("# x\n", "job", &plan_lines(&made(c)?, None)?));
        Planned::new(cluster, script, Box::new(work))
    }
}

fn loaded(path: &str) -> Cluster {
    let raw = text::parse(&fs::read_to_string(path).unwrap(), path).unwrap();
    let mut cluster = merge(raw, &MergeOptions::default()).unwrap();
    finish(&mut cluster, Mib::ZERO);
    cluster
}

fn recorded(name: &str) -> String {
    format!("{}/tests/recorded/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A plan for each tool that writes commands.
static PLANS: LazyLock<Vec<Planned>> = LazyLock::new(|| {
    let start = loaded(&sample("unbalanced-drbd.data"));
    let mut after = Draft::of(&start);
    let nodes = start.all_nodes();
    let mut steps = Vec::new();
    let mut balancer = Balancer::new(&mut after, &nodes, BalanceOptions::default());
    while let Some(step) = balancer.next_step() {
        steps.push(step);
    }
    let sets = jobsets(&start, &steps);
    let check = CheckOptions::default();
    let hbal = Planned::walked(start.clone(), move |c| Work::of(c, &steps, &sets, check));

    let groups = loaded(&sample("groups.data"));
    let steps = balance(&groups, &GroupOptions::default()).steps;
    let sets = jobsets(&groups, &steps);
    let hgroup = Planned::walked(groups, move |c| Work::of(c, &steps, &sets, check));

    let squeezed = |file: &str| {
        let cluster = loaded(&recorded(&format!("hsqueeze.in/{file}")));
        let options = SqueezeOptions { capacity_checks: false, ..SqueezeOptions::default() };
        let plan = squeeze(&cluster, &cluster.groups_with_nodes(), &options).plans.remove(0);
        Planned::walked(cluster, move |c| whole(&[switching(&plan, c)], Switch::Ganeti, 1))
    };
    let (down, up) = (squeezed("underused.data"), squeezed("overused.data"));

    let options = RollingOptions::default();
    let parts = Conflicts::among(&start, &nodes, &options).unwrap().plan(&start, &options).unwrap();
    let reboots = move |c: &Cluster| {
        let parts = parts.iter().map(|part| (&part.nodes[..], &part.moves[..]));
        Reboots::of(c, parts, false)
    };
    let made = reboots.clone();
    let script = move |c: &Cluster| Ok(shell::script("# x\n", "group", &made(c)?.lines()?));
    let hroller = Planned::new(start, script, Box::new(move |c| Ok(reboots(c)?.work)));
    vec![hbal, hgroup, down, up, hroller]
});

fn switching<'p>(plan: &'p GroupPlan, cluster: &'p Cluster) -> Switching<'p> {
    let power = match plan.decision {
        Decision::Condense => PowerCommand::PowerOff,
        _ => PowerCommand::PowerOn,
    };
    Switching { group: plan.group, cluster, power, nodes: &plan.nodes, steps: &plan.steps }
}

/// Records its call: the number of words, then the words. Every node is empty.
const STAND_IN: &str = r#"#!/bin/sh
printf '%s\0' "$(($# + 1))" "${0##*/}" "$@" >> "$CALLS"
if [ "$1" = list ]; then echo 0:0; fi
"#;

/// Prints the time.
const CLOCK: &str = "#!/bin/sh\necho 17\n";

/// Runs a script in which only stand-ins can be called, and returns their calls. No file may appear.
fn calls(script: &str) -> Vec<Vec<String>> {
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name);
    for directory in ["bin", "cwd"] {
        fs::create_dir(path(directory)).unwrap();
    }
    let programs = [("gnt-instance", STAND_IN), ("gnt-node", STAND_IN), ("ssh", STAND_IN), ("date", CLOCK)];
    for (program, text) in programs {
        let program = path("bin").join(program);
        fs::write(&program, text).unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    }
    fs::write(path("script"), script).unwrap();
    fs::write(path("calls"), "").unwrap();
    let output = Command::new("/bin/sh")
        .arg(path("script"))
        .current_dir(path("cwd"))
        .env_clear()
        .env("PATH", path("bin"))
        .env("CALLS", path("calls"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.is_empty(), "{said}\n{script}");
    let files = |directory: &Path| fs::read_dir(directory).unwrap().count();
    assert_eq!((files(&path("cwd")), files(place.path())), (0, 4), "{script}");
    let text = fs::read_to_string(path("calls")).unwrap();
    let mut words = text.split_terminator('\0').map(str::to_owned);
    let mut calls = Vec::new();
    while let Some(count) = words.next() {
        calls.push(words.by_ref().take(count.parse().unwrap()).collect());
    }
    calls
}

/// The expected calls after renaming. Options remain options, and other words that begin with a dash come after `--`.
fn meant(calls: &[Vec<String>], names: &HashMap<String, String>) -> Vec<Vec<String>> {
    let renamed = |call: &Vec<String>| {
        let mut words: Vec<String> =
            call.iter().map(|word| names.get(word).unwrap_or(word).clone()).collect();
        let operand = call.iter().zip(&words).position(|(old, new)| old != new && new.starts_with('-'));
        if let Some(at) = operand {
            words.insert(at, "--".to_owned());
        }
        words
    };
    calls.iter().map(renamed).collect()
}

fn is_possible(kind: NameOf, name: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-' || c == '_';
    let host = !name.is_empty() && name.len() <= 255 && name.chars().all(good);
    let option = kind == NameOf::Node && name.starts_with('-');
    host && !option && !name.starts_with('.') && !name.contains("..")
}

fn any_name() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(HOSTILE.to_vec()).prop_map(str::to_owned),
        "[a-z$();`'\"\\\\ \n\t*?&|<>{}~#!=%.-]{0,12}",
        "\\PC{0,8}",
        possible_name(),
    ]
}

fn possible_name() -> impl Strategy<Value = String> {
    let options = ["-f", "--", "-n", "--help", "-", "-n=a", "--force", "-.a", "A.B-c_", "a."];
    prop_oneof![
        prop::sample::select(options.to_vec()).prop_map(str::to_owned),
        "[A-Za-z0-9_-][A-Za-z0-9_-]{0,20}(\\.[a-z0-9-]{1,8}){0,3}",
        "[a-z]{255}",
    ]
}

fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    let rng_seed = match config.rng_seed {
        RngSeed::Random => RngSeed::Fixed(1),
        fixed => fixed,
    };
    // Each case runs scripts.
    ProptestConfig { cases: config.cases.div_ceil(6), rng_seed, failure_persistence: None, ..config }
}

/// Renames the objects of a plan, as far as the names stay different. Returns the new names by the old ones, and true
/// if one of them is not valid in Ganeti.
fn rename(planned: &Planned, names: &[(Index, String)]) -> (Cluster, HashMap<String, String>, bool) {
    let mut cluster = planned.cluster.clone();
    let mut known: HashMap<String, NameOf> = HashMap::new();
    known.extend(cluster.nodes.iter().map(|node| (node.spec.name.clone(), NameOf::Node)));
    known.extend(cluster.instances.iter().map(|i| (i.name.clone(), NameOf::Instance)));
    let mut used: Vec<&String> = planned.calls.iter().flatten().filter(|w| known.contains_key(*w)).collect();
    used.sort();
    used.dedup();
    let mut renamed = HashMap::new();
    let mut impossible = false;
    for (at, name) in names {
        let old = at.get(&used);
        if renamed.contains_key(*old) || known.contains_key(name) || renamed.values().any(|n| n == name) {
            continue;
        }
        renamed.insert((*old).clone(), name.clone());
        impossible |= !is_possible(known[*old], name);
    }
    let change = |name: &mut String| *name = renamed.get(name).unwrap_or(name).clone();
    cluster.nodes.iter_mut().for_each(|node| change(&mut node.spec.name));
    cluster.instances.iter_mut().for_each(|instance| change(&mut instance.details_mut().name));
    (cluster, renamed, impossible)
}

fn check(planned: &Planned, names: &[(Index, String)]) -> Result<(), TestCaseError> {
    let (cluster, renamed, impossible) = rename(planned, names);
    let work = (planned.work)(&cluster);
    match (planned.script)(&cluster) {
        Ok(script) => {
            prop_assert!(!impossible, "{renamed:?}\n{script}");
            prop_assert_eq!(calls(&script), meant(&planned.calls, &renamed));
            prop_assert_eq!(work.unwrap().fault(), None);
        }
        Err(refused) => {
            prop_assert!(impossible, "{refused}");
            prop_assert!(renamed.values().any(|name| *name == refused.name), "{refused}");
            prop_assert!(!refused.to_string().contains(char::is_control), "{refused}");
            prop_assert!(work.is_err(), "{refused}");
        }
    }
    Ok(())
}

proptest! {
    // The input is the same in every run; PROPTEST_RNG_SEED and PROPTEST_CASES vary and extend it.
    #![proptest_config(config())]

    #[test]
    fn scripts_run_what_is_meant(plan in any::<Index>(), names in vec((any::<Index>(), possible_name()), 1..6)) {
        check(plan.get(&PLANS), &names)?;
    }

    #[test]
    fn other_names_are_refused(plan in any::<Index>(), names in vec((any::<Index>(), any_name()), 1..3)) {
        check(plan.get(&PLANS), &names)?;
    }
}

/// Runs of all tools that make commands: for people, into a file, in a document.
const RUNS: [(&str, &[&str], &str, &str); 4] = [
    ("data/unbalanced-drbd.data", &["hbal"], "cache2", "node7"),
    ("data/groups.data", &["hgroup", "balance"], "db1", "a3"),
    (
        "tests/recorded/hsqueeze.in/underused.data",
        &["hsqueeze", "--no-capacity-checks"],
        "inst-40",
        "node-01-004",
    ),
    ("data/unbalanced-drbd.data", &["hroller", "-f"], "cache2", "node7"),
];

/// Checks for one harmless line at the end of standard error.
fn refuses(run: &Run, kind: &str, words: &[&str]) {
    assert_eq!(run.status, Some(1), "{words:?}: {}", run.stderr);
    let last = run.stderr.lines().last().unwrap();
    let begins = last.starts_with(&format!("Error: {kind} '"));
    let ends = last.ends_with("': the name is not valid in Ganeti, so it is not used in commands or jobs");
    assert!(begins && ends, "{words:?}: {}", run.stderr);
    assert!(!run.stderr.contains(|c: char| c.is_control() && c != '\n'), "{words:?}: {}", run.stderr);
}

/// Runs a tool on a cluster with such a name in its plan. Only commands are refused.
fn refuses_commands_only(place: &Place, words: &[&str], kind: &str) {
    for made in ["-C", "-Cscript", "--json"] {
        let words = [words, &[made]].concat();
        let run = place.run(&words);
        refuses(&run, kind, &words);
        assert!(!run.stdout.contains("gnt-"), "{words:?}: {}", run.stdout);
        assert!(made != "--json" || run.stdout.is_empty(), "{words:?}: {}", run.stdout);
    }
    let run = place.run(words);
    assert_eq!(run.status, Some(0), "{words:?}: {}", run.stderr);
}

#[test]
fn the_tools_refuse_to_make_commands_with_such_names() {
    let place = Place::new();
    for (file, tool, instance, node) in RUNS {
        let text = fs::read_to_string(format!("{}/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        let domain = if text.contains(".example.com") { ".example.com" } else { "" };
        for (kind, old) in [("instance", instance), ("node", node)] {
            let old = format!("{old}{domain}|");
            assert!(text.contains(&old), "{old}");
            // A file of lines cannot contain a name with a line break.
            for name in [HOSTILE[0], HOSTILE[4], HOSTILE[13]] {
                place.write("c.data", text.replace(&old, &format!("{name}|")));
                refuses_commands_only(&place, &[tool, &["-t", "c.data"]].concat(), kind);
            }
        }
    }
}

#[test]
fn names_with_line_breaks_come_in_requests() {
    let place = Place::new();
    let text = fs::read_to_string(sample("allocate.json")).unwrap();
    for name in HOSTILE.into_iter().step_by(3) {
        let quoted = Value::from(name).to_string();
        for (kind, old) in [("instance", "\"cache2.example.com\""), ("node", "\"node7.example.com\"")] {
            assert!(text.contains(old));
            place.write("request.json", text.replace(old, &quoted));
            for tool in [&["hbal"][..], &["hroller", "-f"]] {
                refuses_commands_only(&place, &[tool, &["-I", "request.json"]].concat(), kind);
            }
        }
    }
}

#[test]
fn an_instance_may_be_called_like_an_option() {
    let place = Place::new();
    let text = fs::read_to_string(sample("unbalanced-drbd.data")).unwrap();
    place.write("c.data", text.replace("cache2.example.com", "--help"));
    let run = place.run(&["hbal", "-t", "c.data", "-C"]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let line = "    gnt-instance replace-disks -n node1.example.com -- --help\n";
    assert!(run.stdout.contains(line), "{}", run.stdout);
    let commands = run.stdout.lines().filter(|line| line.contains("gnt-") && line.contains("--help"));
    assert!(commands.clone().all(|line| line.ends_with(" -- --help")) && commands.count() == 1);
}
