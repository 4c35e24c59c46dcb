//! `hplace`: where Pacemaker places the resources of a cluster, and why.

mod cluster;
mod run;

use std::ffi::OsString;

use super::ExitStatus;
use super::cli::option::ArgumentKind::{Choices, File, Text};
use super::cli::{OperandWords, OptionDef, Spec, Stop};
use super::options::Options;
use super::options::catalogue::*;
use super::output::Output;
use crate::placement::Strategy;

/// Name, purpose and options.
pub const SPEC: Spec = Spec {
    name: "hplace",
    summary: "tell where Pacemaker places the resources of a cluster, and why",
    forms: &["[OPTION...]", "why [OPTION...] RESOURCE..."],
    options: &[
        OptionDef::new(
            "xml-file",
            "read the cluster from FILE, a CIB as cibadmin -Q prints it, or compressed with gzip or bzip2; - is standard input",
        )
        .short('x')
        .takes("FILE", File, |o, g| g.path().map(|path| o.placement.file = path))
        .added(),
        OptionDef::flag("live", "ask the cluster of this node for its CIB, with cibadmin -Q", |o| {
            o.placement.live = true
        })
        .added(),
        OptionDef::new("strategy", "place by this strategy, whatever the CIB says")
            .takes("WORD", Choices(Strategy::WORDS), |o, g| {
                g.choice().map(|word| o.placement.strategy = word.parse().ok())
            })
            .added(),
        OptionDef::flag(
            "skip-unsupported",
            "leave what is beyond this tool as it is, where it runs, instead of refusing the cluster",
            |o| o.placement.skip_unsupported = true,
        )
        .added(),
        OptionDef::flag("explain", "tell why each resource is where it is", |o| o.placement.explain = true)
            .added(),
        OptionDef::flag(
            "crm-simulate-format",
            "print scores and capacities as crm_simulate -s -U does",
            |o| o.placement.crm_simulate_format = true,
        )
        .added(),
        OptionDef::flag(
            "show-normalized",
            "print what the cluster comes to as JSON: primitives, scores, colocations, orders",
            |o| o.placement.show_normalized = true,
        )
        .added(),
        OptionDef::flag(
            "transition",
            "show what is done, too: in which order, and what waits for what",
            |o| o.placement.transition = true,
        )
        .added(),
        OptionDef::flag(
            "dot",
            "print nothing but the graph of what waits for what, for Graphviz, as crm_simulate -D does",
            |o| o.placement.dot = true,
        )
        .added(),
        OptionDef::flag(
            "transition-xml",
            "print nothing but the same graph in XML, as crm_simulate -G does",
            |o| o.placement.transition_xml = true,
        )
        .added(),
        JSON,
        VERSION,
        HELP,
        HELP_COMPLETION,
    ],
    words: &[
        OperandWords { name: "COMMAND", kind: Choices(&["why"]), least: 0, most: Some(1) },
        OperandWords { name: "RESOURCE", kind: Text, least: 0, most: None },
    ],
};

/// Reads the words behind the program's name.
pub fn parse(args: &[OsString]) -> Result<Options, Stop> {
    let (mut options, words) = SPEC.read(args)?;
    let mut words = words.iter().map(|word| word.to_string_lossy().into_owned());
    match words.next().as_deref() {
        None => {}
        Some("why") => {
            options.placement.why = words.collect();
            if options.placement.why.is_empty() {
                return Err(Stop::WrongWords("hplace why needs the name of a resource.".to_owned()));
            }
        }
        Some(other) => {
            return Err(Stop::WrongWords(format!("'{other}' is not known here; hplace why RESOURCE is.")));
        }
    }
    Ok(options)
}

/// Does what the options ask for.
pub fn run(options: Options) -> anyhow::Result<ExitStatus> {
    run::run(&options.placement, options.json, &mut Output::standard())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::cli::testing::*;

    #[test]
    fn words_and_options() {
        let options = parse(&words(&["why", "-xcib.xml", "db", "--strategy=minimal", "web"])).unwrap();
        assert_eq!(options.placement.why, ["db", "web"]);
        assert_eq!(options.placement.strategy, Some(Strategy::Minimal));
        assert!(matches!(parse(&words(&["why"])), Err(Stop::WrongWords(_))));
        assert!(matches!(parse(&words(&["db"])), Err(Stop::WrongWords(_))));
        assert!(matches!(parse(&words(&["--strategy=best"])), Err(Stop::Value(_))));
    }
}
