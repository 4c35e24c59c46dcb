//! `hplace`: where Pacemaker places the resources of a cluster, and why.

mod affinity;
mod attributes;
mod best;
pub(super) mod carry;
pub(super) mod cluster;
mod follow;
mod lint;
mod options;
mod relocation;
mod report;
mod run;
mod simulate;
mod what_if;

use std::ffi::OsString;
use std::path::Path;

pub(in crate::tools) use self::options::{HplaceOptions, PlacementCommand};
use super::ExitStatus;
use super::cli::hint::did_you_mean;
use super::cli::option::ArgumentKind::{Choices, Integer, Text};
use super::cli::{Given, OperandWords, OptionDef, Spec, Stop, ValueError};
use super::options::affinity::*;
use super::options::catalogue::*;
use super::options::pace::{PRINT_PLAN, SAVE_PLAN};
use super::options::simulation::*;
use super::options::{count, some};
use super::output::Output;
use crate::model::shown::shown_name;
use crate::pacemaker::AllocationScore;
use crate::pacemaker::cib::parse_date;
use crate::pacemaker::optimal::ThenGoal;

/// Name, purpose and options.
pub(crate) const SPEC: Spec<HplaceOptions> = Spec {
    name: "hplace",
    summary: "tell where Pacemaker places the resources of a cluster, and why",
    forms: &[
        "[OPTION...]",
        "why [OPTION...] RESOURCE...",
        "survive [OPTION...]",
        "fit [OPTION...] NAME=AMOUNT...",
        "lint [OPTION...]",
        "evacuate [OPTION...] NODE",
        "simulate [OPTION...]",
    ],
    options: &[
        &[XML_FILE, LIVE],
        &[TEXT_DATA, MASTER],
        &RAPI_ACCESS,
        &[LUXI, IALLOC_SRC, OFFLINE, EXCLUSION_TAGS],
        &OptionDef::<HplaceOptions>::new(
            "stickiness",
            "what it is worth to a Ganeti instance to stay where it is; 0: all are placed as if anew [1]",
        )
        .takes("N", Integer, |o, g| {
            let worth = g.int().ok().filter(|worth| *worth >= 0);
            let worth = worth.ok_or_else(|| g.out_of_range("at least 0"))?;
            o.stickiness = Some(AllocationScore::of(worth));
            Ok(())
        })
        .added(),
        &OptionDef::<HplaceOptions>::new("strategy", "place by this strategy, whatever the CIB says; affinity is for documents with keys (-j), for Ganeti clusters, whose keys are tags, and for CIBs, whose keys are attributes")
            .takes("WORD", Choices(STRATEGIES), |o, g| {
                g.choice().map(|word| {
                    o.method = word.parse().ok();
                    o.affinity.asked = o.method.is_none();
                })
            })
            .added(),
        &[FLEET_FILE, ORDER, TIE],
        &SEED.says("with --tie random or --poisson: the same number draws the same [with --poisson 0]"),
        &[ZERO_WEIGHT_DISABLES, VERIFY, PLAN],
        &PRINT_PLAN.says("with --plan, show it in this form: text, or nothing but json, dot or an svg time table [text]"),
        &SAVE_PLAN.says("with --plan, write the plan to FILE, for htools show and htools apply"),
        &[OVERHEAD, RAM_RATIO],
        &DYNU_FILE.says("by keys: read the measured load of the instances from FILE"),
        &ROUNDS,
        &OptionDef::<HplaceOptions>::addition(
            "then",
            "with --strategy optimal, of placements that are equal in all else take the one that uses nodes most evenly, or the fewest nodes [minimal where that is the CIB's strategy, else balanced]",
        )
        .takes("WORD", Choices(ThenGoal::WORDS), |o, g| {
            g.choice().map(|word| o.then = word.parse().ok())
        }),
        &OptionDef::<HplaceOptions>::addition(
            "max-moves",
            "with --strategy optimal, let at most N running resources leave nodes on which they could stay",
        )
        .takes("N", Integer, |o, g| count(g).map(|most| o.max_moves = Some(usize::try_from(most).unwrap_or(usize::MAX)))),
        &OptionDef::<HplaceOptions>::addition("steps", "with --strategy optimal, try at most N changes [10000000]")
            .takes("N", Integer, |o, g| count(g).map(|steps| o.steps = Some(steps))),
        &TIME_LIMIT,
        &SKIP_UNSUPPORTED,
        &OptionDef::<HplaceOptions>::new(
            "now",
            "look at the Pacemaker cluster as if it were DATE, such as '2026-11-25 18:30': dates in rules and the times after which failures are forgotten go by it",
        )
        .takes("DATE", Text, |o, g| {
            let now = parse_date(g.text()?);
            o.now = Some(now.ok_or_else(|| g.out_of_range("a date such as 2026-11-25 18:30"))?);
            Ok(())
        })
        .added(),
        &OptionDef::<HplaceOptions>::added_flag("explain", "tell why each resource is where it is", |o| o.forms.explain = true),
        &OptionDef::<HplaceOptions>::added_flag(
            "crm-simulate-format",
            "print scores and capacities as crm_simulate -s -U does",
            |o| o.forms.crm_simulate_format = true,
        ),
        &OptionDef::<HplaceOptions>::added_flag(
            "show-normalized",
            "print what the cluster comes to as JSON: primitives, scores, colocations, orders",
            |o| o.forms.show_normalized = true,
        ),
        &OptionDef::<HplaceOptions>::added_flag(
            "transition",
            "show what is done, too: in which order, and what waits for what",
            |o| o.forms.transition = true,
        ),
        &OptionDef::<HplaceOptions>::added_flag(
            "dot",
            "print nothing but the graph of what waits for what, for Graphviz, as crm_simulate -D does",
            |o| o.forms.dot = true,
        ),
        &OptionDef::<HplaceOptions>::added_flag(
            "transition-xml",
            "print nothing but the same graph in XML, as crm_simulate -G does",
            |o| o.forms.transition_xml = true,
        ),
        &OptionDef::<HplaceOptions>::addition("nodes", "survive: how many nodes are lost at once, 1 or 2 [1]")
            .takes("N", Integer, |o, g| one_or_two(g).map(|nodes| o.lost = Some(nodes)))
            .only(SURVIVE),
        &OptionDef::<HplaceOptions>::addition(
            "priority",
            "survive: end with status 2 only if something with at least this priority stays down [1, or 0 where no resource has a priority]",
        )
        .takes("N", Integer, |o, g| g.int().map(|least| o.least_priority = Some(least)))
        .only(SURVIVE),
        &OptionDef::<HplaceOptions>::addition("top", "survive: show the N worst losses [10]")
            .takes("N", Integer, |o, g| some(g).map(|most| o.top = Some(most)))
            .only(SURVIVE),
        &OptionDef::<HplaceOptions>::addition("survive", "fit: everything is to run even after the loss of any N nodes, 1 or 2")
            .takes("N", Integer, |o, g| one_or_two(g).map(|nodes| o.survive = nodes))
            .only(FIT),
        &[ARRIVALS, POISSON, LIFETIME, DAYS, NIGHTLY, SVG_FILE],
        &COMMANDS_FORM
            .says("print nothing but what has to be typed so that Pacemaker, by its own strategy, comes to this placement: for cibadmin (cib), pcs, crmsh or crm_resource; the last lines tell how it is taken back")
            .only(CHANGING),
        &EXEC
            .says("have Pacemaker do it: set location constraints, or the standby of the node, wait, and compare what has come of it with the plan; needs --live")
            .added()
            .only(CHANGING),
        &OptionDef::<HplaceOptions>::added_flag(
            "no-keep",
            "with --exec, take the constraints away when the resources are where they should be; refused where they would not stay there",
            |o| o.no_keep = true,
        )
        .only(PLACING),
        &OptionDef::<HplaceOptions>::added_flag(
            "undo",
            "tell what follows if all constraints that hplace has set are taken away; after evacuate: if the node comes out of standby. With --exec, do so",
            |o| o.undo = true,
        )
        .only(CHANGING),
        &OptionDef::<HplaceOptions>::addition("wait-limit", "with --exec, wait at most N seconds for the cluster [600]")
            .takes("N", Integer, |o, g| some(g).map(|seconds| o.wait_limit = Some(seconds as u64)))
            .only(CHANGING),
        &[YES, JOURNAL, RESUME],
        &JSON,
        &REPORT.says("write the placement to FILE as a page for browsers, with reasons").only(PLACING),
        &[VERBOSE, QUIET],
        &LAST,
    ],
    words: &[
        OperandWords { name: "COMMAND", kind: Choices(COMMANDS), least: 0, most: Some(1) },
        OperandWords { name: "RESOURCE", kind: Text, least: 0, most: None },
    ],
};

/// The strategies: those of the methods, and by keys.
const STRATEGIES: &[&str] = &["default", "utilization", "balanced", "minimal", "optimal", "affinity"];
/// The words that may come first.
const COMMANDS: &[&str] = &["why", "survive", "fit", "lint", "evacuate", "simulate"];
const SURVIVE: &[&str] = &["survive"];
const FIT: &[&str] = &["fit"];
/// What can change a cluster; without a word: hplace itself.
const CHANGING: &[&str] = &["", "evacuate"];
const PLACING: &[&str] = &[""];

fn one_or_two(given: &Given) -> Result<usize, ValueError> {
    match given.int()? {
        1 => Ok(1),
        2 => Ok(2),
        _ => Err(given.out_of_range("1 or 2")),
    }
}

/// Reads the words behind the program's name.
pub(crate) fn parse(args: &[OsString]) -> Result<HplaceOptions, Stop> {
    let (mut options, words) = SPEC.read(args)?;
    let mut words = words.iter().map(|word| word.to_string_lossy().into_owned());
    let command = words.next().unwrap_or_default();
    let rest: Vec<String> = words.collect();
    let wrong = |problem: &str| Err(Stop::WrongWords(problem.to_owned()));
    options.command = match (command.as_str(), rest.is_empty()) {
        ("", _) => PlacementCommand::Place,
        ("why", false) => PlacementCommand::Why(rest),
        ("why", true) => return wrong("hplace why needs the name of a resource."),
        ("survive", true) => PlacementCommand::Survive,
        ("survive", false) => return wrong("hplace survive takes no other words."),
        ("fit", false) => PlacementCommand::Fit(rest),
        ("fit", true) => return wrong("hplace fit needs a size, such as cpu=2,memory=4096."),
        ("lint", true) => PlacementCommand::Lint,
        ("lint", false) => return wrong("hplace lint takes no other words."),
        ("simulate", true) => PlacementCommand::Simulate,
        ("simulate", false) => return wrong("hplace simulate takes no other words."),
        ("evacuate", _) => match <[String; 1]>::try_from(rest) {
            Ok([node]) => PlacementCommand::Evacuate(node),
            Err(_) => return wrong("hplace evacuate needs the name of one node."),
        },
        (other, _) => {
            return wrong(&unknown_command(other));
        }
    };
    SPEC.check_command(args, &command)?;
    Ok(options)
}

/// Does what the words ask for. Status 2 says that something has no place, so that a malformed command line gets another one.
///
/// # Errors
/// What keeps the tool from answering.
pub(crate) fn start(args: &[OsString]) -> anyhow::Result<ExitStatus> {
    match parse(args) {
        Ok(options) => run(options),
        Err(stop) => Ok(match stop.show(&mut Output::standard())? {
            ExitStatus::Usage => ExitStatus::Misuse,
            status => status,
        }),
    }
}

/// The complaint about a first word that is no command, with what was probably meant.
fn unknown_command(word: &str) -> String {
    let shown = shown_name(word);
    if STRATEGIES.contains(&word) {
        return format!("'{shown}' is a strategy, not a command: use --strategy {shown}");
    }
    if Path::new(word).is_file() {
        return format!(
            "'{shown}' is a file, not a command: use -x for a Pacemaker CIB, -t for a Ganeti cluster"
        );
    }
    let meant = did_you_mean(word, COMMANDS.iter().copied());
    format!("there is no command '{shown}'{meant}; the commands are {}", COMMANDS.join(", "))
}

/// Does what the options ask for.
///
/// # Errors
/// What keeps the tool from answering.
pub(crate) fn run(options: HplaceOptions) -> anyhow::Result<ExitStatus> {
    let mut output = Output::standard();
    let output = &mut output;
    report::check(&options)?;
    if let Some(journal) = &options.execution.resume {
        return follow::resume(&options, journal, output);
    }
    if options.command == PlacementCommand::Simulate {
        return simulate::run(&options, output);
    }
    if affinity::is_asked(&options) {
        return if options.affinity.plan {
            relocation::run(&options, output)
        } else {
            affinity::run(&options, output)
        };
    }
    affinity::check_not_asked(&options)?;
    match &options.command {
        _ if options.undo => carry::undo(&options, output),
        PlacementCommand::Evacuate(node) => carry::evacuate(&options, node, output),
        PlacementCommand::Lint => lint::run(&options, output),
        PlacementCommand::Survive => what_if::survive(&options, output),
        PlacementCommand::Fit(size) => what_if::fit(&options, size, output),
        _ => run::run(&options, output),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pacemaker::PlacementMethod;
    use crate::tools::cli::testing::*;

    #[test]
    fn every_method_can_be_named() {
        let (keys, methods) = STRATEGIES.split_last().unwrap();
        assert_eq!((methods, *keys), (PlacementMethod::WORDS, "affinity"));
    }

    #[test]
    fn words_and_options() {
        let options = parse(&words(&["why", "-xcib.xml", "db", "--strategy=minimal", "web"])).unwrap();
        assert_eq!(options.command, PlacementCommand::Why(vec!["db".to_owned(), "web".to_owned()]));
        assert_eq!(options.method, Some(PlacementMethod::Minimal));
        assert!(matches!(parse(&words(&["why"])), Err(Stop::WrongWords(_))));
        assert!(matches!(parse(&words(&["db"])), Err(Stop::WrongWords(_))));
        assert!(matches!(parse(&words(&["--strategy=best"])), Err(Stop::Value(_))));
    }
}
