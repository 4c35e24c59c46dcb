//! `hscan`: saves the data of clusters as text files, and prints a line about each.

mod file;
mod gather;
mod run;

use std::ffi::OsString;
use std::path::PathBuf;

use super::ExitStatus;
use super::cli::option::ArgumentKind::{Directory, Host};
use super::cli::{Heading, OperandWords, OptionDef, Spec, Stop, example};
use super::options::catalogue::*;
use super::options::{LoadOptions, OutputOptions, tool_options};
use super::output::Output;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct HscanOptions {
    pub load: LoadOptions,
    pub output: OutputOptions,
    /// Addresses of the clusters; empty for the local cluster.
    pub clusters: Vec<OsString>,
    /// `-d`; empty for the current directory.
    pub directory: PathBuf,
    pub anonymise: bool,
}

tool_options!(HscanOptions {});

/// Name, purpose and options.
pub(crate) const SPEC: Spec<HscanOptions> = Spec {
    name: "hscan",
    summary: "save the data of clusters as text files, and print a line about each",
    forms: &["[OPTION...] [ADDRESS...]"],
    examples: &[
        example("hscan -L", "save this cluster, and print a line about it"),
        example("hscan -d saved prod.example.com", "save a cluster over RAPI, below saved/"),
        example("hscan -L --anonymise", "save it without names, to pass it on"),
    ],
    options: &[
        &PRINT_NODES,
        &OptionDef::<HscanOptions>::new("output-dir", "write the files into the directory PATH")
            .otherwise(".")
            .under(Heading::Output)
            .common()
            .short('d')
            .takes("PATH", Directory, |o, g| g.path().map(|path| o.directory = path.unwrap_or_default())),
        &LUXI,
        &RAPI_ACCESS,
        &VERBOSE,
        &NO_HEADERS,
        &[STATIC_KVM_NODE_MEMORY, WEIGHTS],
        &OptionDef::<HscanOptions>::added_flag("anonymise", "replace all names, UUIDs and tags", |o| {
            o.anonymise = true
        })
        .more("The same ones are replaced by the same ones in all clusters of a run.")
        .under(Heading::Output)
        .common(),
        &LAST,
    ],
    words: &[OperandWords { name: "ADDRESS", kind: Host, min: 0, max: None }],
    ..Spec::PLAIN
};

/// Reads the arguments after the program's name.
pub(crate) fn parse(args: &[OsString]) -> Result<HscanOptions, Stop> {
    let (options, clusters) = SPEC.read(args)?;
    Ok(HscanOptions { clusters, ..options })
}

pub(crate) fn run(options: HscanOptions) -> anyhow::Result<ExitStatus> {
    run::run(&options, &mut Output::standard())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::cli::testing::*;

    #[test]
    fn any_number_of_clusters() {
        assert_eq!(parse(&words(&[])), Ok(HscanOptions::default()));
        let options = parse(&words(&["a", "-pname", "-dx", "b", "--no-headers", "--", "-v"])).unwrap();
        assert_eq!(options.clusters, words(&["a", "b", "-v"]));
        assert_eq!(options.directory.to_str(), Some("x"));
        assert!(options.output.no_headers && !options.anonymise);
    }

    #[test]
    fn options_of_other_tools_are_unknown() {
        for option in ["-q", "-tx", "-mx", "-O", "-X"] {
            assert!(matches!(parse(&words(&[option, "x"])), Err(Stop::Syntax(_))), "{option}");
        }
    }
}
