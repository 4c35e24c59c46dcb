//! `hail`: answers one allocator request of Ganeti's master.

mod run;

use std::ffi::OsString;

use super::cli::catalogue::*;
use super::cli::option::ArgumentKind;
use super::cli::{self, OperandWords, Spec, Stop};
pub use super::options::HailOptions;
use super::output::Output;
use super::{ExitStatus, ahead, source};

/// Name, purpose and options.
pub const SPEC: Spec = Spec {
    name: "hail",
    summary: "answer an allocator request: nodes for new instances, or other nodes for existing ones",
    forms: &["[OPTION...] FILE"],
    options: &[
        PRINT_NODES,
        SAVE,
        TEXT_DATA,
        SIMULATE.of_ganeti(),
        VERBOSE,
        IGNORE_DYNU,
        IGNORE_SOFT_ERRORS,
        NO_CAPACITY_CHECKS,
        RESTRICT_ALLOCATION_TO,
        MOND,
        MOND_XEN,
        STATIC_KVM_NODE_MEMORY,
        ALL_SOLUTIONS,
        OTHER_GROUPS,
        MAKE_ROOM,
        DETAILS,
        ANSWER_TIME_LIMIT,
        VERSION,
        HELP,
        HELP_COMPLETION,
    ],
    words: &[OperandWords { name: "FILE", kind: ArgumentKind::File, least: 1, most: Some(1) }],
};

/// Reads the words behind the program's name.
pub fn parse(args: &[OsString]) -> Result<HailOptions, Stop> {
    let mut options = HailOptions::default();
    let words = cli::read(&SPEC, args, |given| options.apply(given).map(drop))?;
    match <[OsString; 1]>::try_from(words) {
        Ok([file]) => Ok(HailOptions { request: file.into(), ..options }),
        Err(words) if words.is_empty() => Err(Stop::WrongWords("This program needs an input file.".into())),
        Err(_) => Err(Stop::WrongWords("Only one argument is accepted (the input file)".into())),
    }
}

/// Does what the options ask for.
pub fn run(options: HailOptions) -> anyhow::Result<ExitStatus> {
    let mut output = Output::standard();
    ahead::files(None, options.save.as_deref(), &["pre-ialloc", "post-ialloc"])?;
    let (cluster, request) = source::load_request(&options.request, &options.load, &mut output)?;
    run::run(&options, cluster, request, &mut output)?;
    Ok(ExitStatus::Success)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::cli::testing::*;

    #[test]
    fn every_option_means_something() {
        for given in one_of_each(&SPEC) {
            assert_eq!(HailOptions::default().apply(&given), Ok(true), "{}", given.option.long);
        }
    }

    #[test]
    fn one_file() {
        let options =
            parse(&words(&["-", "-pname", "--sim=p,1,1,1,1", "--restrict-allocation-to=a,b"])).unwrap();
        assert_eq!((options.request.to_str(), options.print_nodes.as_deref()), (Some("-"), Some("name")));
        assert_eq!(options.restrict_to, Some(vec!["a".to_owned(), "b".to_owned()]));
        let needed = Stop::WrongWords("This program needs an input file.".into());
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
        let meant = |word: &str| parse(&words(&[word, "x"])).map(|options| options.no_capacity_checks);
        assert_eq!((meant("--no"), meant("--ignore-s")), (Ok(true), Ok(false)));
        for ambiguous in ["--ignore", "--s", "--m", "--ver"] {
            assert!(matches!(meant(ambiguous), Err(Stop::Syntax(_))), "{ambiguous}");
        }
    }
}
