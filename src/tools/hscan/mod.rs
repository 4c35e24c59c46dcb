//! `hscan`: a line for each of several clusters, and a text file with its data.

mod file;
mod gather;
mod run;

use std::ffi::OsString;

use super::ExitStatus;
use super::cli::catalogue::*;
use super::cli::option::ArgumentKind;
use super::cli::{self, OperandWords, Spec, Stop};
pub use super::options::HscanOptions;
use super::output::Output;

/// Name, purpose and options.
pub const SPEC: Spec = Spec {
    name: "hscan",
    summary: "save the data of clusters as text files, and print a line about each",
    forms: &["[OPTION...] [ADDRESS...]"],
    options: &[
        PRINT_NODES,
        OUTPUT_DIR,
        LUXI,
        RAPI_CREDENTIALS,
        RAPI_CACERT,
        INSECURE_HTTP,
        VERBOSE,
        NO_HEADERS,
        STATIC_KVM_NODE_MEMORY,
        ANONYMISE,
        VERSION,
        HELP,
        HELP_COMPLETION,
    ],
    words: &[OperandWords { name: "ADDRESS", kind: ArgumentKind::Host, least: 0, most: None }],
};

/// Reads the words behind the program's name.
pub fn parse(args: &[OsString]) -> Result<HscanOptions, Stop> {
    let mut options = HscanOptions::default();
    let clusters = cli::read(&SPEC, args, |given| options.apply(given).map(drop))?;
    Ok(HscanOptions { clusters, ..options })
}

/// Does what the options ask for.
pub fn run(options: HscanOptions) -> anyhow::Result<ExitStatus> {
    run::run(&options, &mut Output::standard())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::cli::testing::*;

    #[test]
    fn every_option_means_something() {
        for given in one_of_each(&SPEC) {
            assert_eq!(HscanOptions::default().apply(&given), Ok(true), "{}", given.option.long);
        }
    }

    #[test]
    fn any_number_of_clusters() {
        assert_eq!(parse(&words(&[])), Ok(HscanOptions::default()));
        let options = parse(&words(&["a", "-pname", "-dx", "b", "--no-headers", "--", "-v"])).unwrap();
        assert_eq!(options.clusters, words(&["a", "b", "-v"]));
        assert_eq!(options.directory.to_str(), Some("x"));
        assert!(options.no_headers && !options.anonymise);
    }

    #[test]
    fn options_of_other_tools_are_unknown() {
        for option in ["-q", "-tx", "-mx", "-O", "-X"] {
            assert!(matches!(parse(&words(&[option, "x"])), Err(Stop::Syntax(_))), "{option}");
        }
    }
}
