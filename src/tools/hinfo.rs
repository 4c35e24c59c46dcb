//! `hinfo`: shows what a cluster holds and how well it is balanced.

use std::ffi::OsString;

use super::ExitStatus;
use super::cli::catalogue::*;
use super::cli::{self, Spec, Stop};
pub use super::options::HinfoOptions;

/// Name, purpose and options.
pub const SPEC: Spec = Spec {
    name: "hinfo",
    summary: "show what a cluster holds and how well it is balanced",
    forms: &["[OPTION...]"],
    options: &[
        PRINT_NODES,
        PRINT_INSTANCES,
        TEXT_DATA,
        MASTER,
        LUXI,
        IALLOC_SRC,
        VERBOSE,
        QUIET,
        OFFLINE,
        IGNORE_DYNU,
        MOND,
        MOND_DATA,
        STATIC_KVM_NODE_MEMORY,
        SIMULATE,
        JSON,
        VERSION,
        HELP,
        HELP_COMPLETION,
    ],
};

/// The tool for clap.
pub fn command() -> clap::Command {
    SPEC.command()
}

/// Reads the words behind the program's name.
pub fn parse(args: &[OsString]) -> Result<HinfoOptions, Stop> {
    let mut options = HinfoOptions::default();
    cli::read_options(&SPEC, args, |given| options.apply(given).map(drop))?;
    Ok(options)
}

/// Does what the options ask for.
pub fn run(_options: HinfoOptions) -> anyhow::Result<ExitStatus> {
    anyhow::bail!("not built yet")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::cli::testing::*;

    #[test]
    fn every_option_means_something() {
        for given in one_of_each(&SPEC) {
            assert_eq!(HinfoOptions::default().apply(&given), Ok(true), "{}", given.option.long);
        }
    }

    #[test]
    fn defaults_and_values() {
        assert_eq!(parse(&words(&[])), Ok(HinfoOptions::default()));
        let options = parse(&words(&["-pname", "--json", "--simulate=p,1,1,1,1", "--print-inst"])).unwrap();
        assert_eq!(options.print_nodes.as_deref(), Some("name"));
        assert!(options.json && options.print_instances);
        assert_eq!(options.load.source.simulate, ["p,1,1,1,1"]);
    }

    #[test]
    fn options_of_other_tools_are_unknown() {
        assert!(matches!(parse(&words(&["-X"])), Err(Stop::Syntax(_))));
    }
}
