//! `hail`: answers one allocator request of Ganeti's master.

mod affinity;
mod run;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::cli::option::ArgumentKind::{File, ManyNodes};
use super::cli::{Heading, OperandWords, OptionDef, Spec, Stop, example};
use super::hint::Complaint;
use super::kept_room;
use super::options::affinity::*;
use super::options::catalogue::*;
use super::options::{LimitOptions, LoadOptions, OutputOptions, tool_options};
use super::output::Output;
use super::{ExitStatus, ahead, source};
use crate::load::merge::apply_exclusions;
use crate::report::allocator::Response;
use crate::search::moves::MoveRules;

/// Default of `--time-limit`. Ganeti gives up an allocator after 15 minutes (its time limit for calls of normal
/// length), and then gets no result at all.
const ANSWER_WITHIN: Duration = Duration::from_secs(14 * 60);

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct HailOptions {
    pub load: LoadOptions,
    pub output: OutputOptions,
    pub limits: LimitOptions,
    pub rules: MoveRules,
    pub affinity: AffinityChoices,
    /// The file with the request; `-` is standard input.
    pub request: PathBuf,
    /// `--restrict-allocation-to`: full names of nodes.
    pub restrict_to: Option<Vec<String>>,
    pub all_solutions: bool,
    pub other_groups: bool,
    pub make_room: bool,
}

tool_options!(HailOptions { limits: LimitOptions, rules: MoveRules, affinity: AffinityChoices });

/// Name, purpose and options.
pub(crate) const SPEC: Spec<HailOptions> = Spec {
    name: "hail",
    summary: "choose nodes for instances, as the allocator of Ganeti's master",
    forms: &["[OPTION...] FILE"],
    examples: &[
        example("hail /tmp/request.json", "print the answer that Ganeti would get"),
        example("hail --json request.json", "say also what was in the way"),
        example("hail -t lab.data --make-room request.json", "make room in another cluster"),
    ],
    options: &[
        &[PRINT_NODES, SAVE],
        &[TEXT_DATA, SIMULATE.of_ganeti(), VERBOSE, IGNORE_DYNU],
        &IGNORE_SOFT_ERRORS,
        &NO_CAPACITY_CHECKS,
        &[KEEP_RESERVE, KEEP_ROOM],
        &EXCLUSIONS,
        &OptionDef::<HailOptions>::new(
            "restrict-allocation-to",
            "place new instances only on these nodes, whatever the request says",
        )
        .more("NODES are full names, separated by commas.")
        .under(Heading::Limits)
        .takes("NODES", ManyNodes, |o, g| g.list().map(|nodes| o.restrict_to = Some(nodes))),
        &[MOND, MOND_XEN, STATIC_KVM_NODE_MEMORY],
        &OptionDef::<HailOptions>::added_flag(
            "all-solutions",
            "answer with the best place of every group",
            |o| o.all_solutions = true,
        )
        .more("It holds in allocate. Every group that has a place is answered with, the best one first.")
        .common(),
        &OptionDef::<HailOptions>::added_flag("other-groups", "move instances also to other groups", |o| {
            o.other_groups = true
        })
        .more("It holds in node-evacuate, for instances that their own group has no room for.")
        .common(),
        &OptionDef::<HailOptions>::added_flag("make-room", "add the fewest moves that make room", |o| {
            o.make_room = true
        })
        .more("It holds in allocate, where there is no place.")
        .common(),
        &[AFFINITY, TIE, SEED, ZERO_WEIGHT_DISABLES, OVERHEAD, RAM_RATIO],
        &ROUNDS,
        &WEIGHTS,
        &JSON.says("say what was in the way, place by place"),
        &TIME_LIMIT
            .says("answer after SECONDS with what was found by then")
            .common()
            .default(|o| answer_within(o).as_secs().to_string()),
        &THREADS,
        &LAST,
    ],
    words: &[OperandWords { name: "FILE", kind: File, min: 1, max: Some(1) }],
    ..Spec::PLAIN
};

/// Answers the request. Errors in configuration files become an answer, too, because Ganeti shows it to the user.
///
/// # Errors
/// The reason that the request cannot be answered.
pub(crate) fn start(args: &[OsString]) -> anyhow::Result<ExitStatus> {
    let mut output = Output::standard();
    match parse(args) {
        Ok(options) => run(options),
        Err(Stop::Config(complaint)) => {
            let _ = output.error_write(&complaint.to_string());
            output
                .write(&Response::failed(&format!("configuration file {}", complaint.problem())).line()?)?;
            output.flush()?;
            Ok(ExitStatus::Success)
        }
        Err(stop) => stop.show(&mut output),
    }
}

/// Reads the arguments after the program's name.
pub(crate) fn parse(args: &[OsString]) -> Result<HailOptions, Stop> {
    let (options, words) = SPEC.read(args)?;
    match <[OsString; 1]>::try_from(words) {
        Ok([file]) => Ok(HailOptions { request: file.into(), ..options }),
        Err(words) if words.is_empty() => {
            Err(Stop::WrongWords(Complaint::new("This program needs an input file.")))
        }
        Err(_) => Err(Stop::WrongWords(Complaint::new("Only one argument is accepted (the input file)"))),
    }
}

/// Time limit of the search.
fn answer_within(limits: &LimitOptions) -> Duration {
    limits.time_limit.unwrap_or(ANSWER_WITHIN)
}

pub(crate) fn run(options: HailOptions) -> anyhow::Result<ExitStatus> {
    let mut output = Output::standard();
    options.load.check_rules(&options.rules)?;
    let primaries = affinity::rule(&options)?;
    ahead::files(&options.output, &["pre-ialloc", "post-ialloc"])?;
    let (mut cluster, request) = source::load_request(&options.request, &options.load, &mut output)?;
    cluster.keep_reserve(options.load.nodes.keep_reserve);
    apply_exclusions(&mut cluster, &options.load.nodes)?;
    kept_room::keep(&mut cluster, options.load.nodes.keep_room)?;
    run::run(&options, primaries, cluster, request, &mut output)?;
    Ok(ExitStatus::Success)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::cli::testing::*;

    #[test]
    fn one_file() {
        let options =
            parse(&words(&["-", "-pname", "--sim=p,1,1,1,1", "--restrict-allocation-to=a,b"])).unwrap();
        assert_eq!(
            (options.request.to_str(), options.output.print_nodes.as_deref()),
            (Some("-"), Some("name"))
        );
        assert_eq!(options.restrict_to, Some(vec!["a".to_owned(), "b".to_owned()]));
        let needed = Stop::WrongWords(Complaint::new("This program needs an input file."));
        assert_eq!(parse(&words(&["-v"])), Err(needed));
        assert!(matches!(parse(&words(&["a", "b"])), Err(Stop::WrongWords(_))));
    }

    #[test]
    fn options_of_other_tools_are_unknown() {
        for option in ["-q", "--mond-data=x", "-Ix", "-O", "-X"] {
            assert!(matches!(parse(&words(&[option, "x"])), Err(Stop::Syntax(_))), "{option}");
        }
    }

    #[test]
    fn abbreviations_mean_what_they_mean_for_the_reference() {
        let meant = |word: &str| parse(&words(&[word, "x"])).map(|options| options.limits.no_capacity_checks);
        assert_eq!((meant("--no"), meant("--ignore-s")), (Ok(true), Ok(false)));
        for ambiguous in ["--ignore", "--s", "--m", "--ver"] {
            assert!(matches!(meant(ambiguous), Err(Stop::Syntax(_))), "{ambiguous}");
        }
    }
}
