//! `hinfo`: shows what a cluster holds and how well it is balanced.

use super::cli::{Spec, example};
use super::metrics::{by_status, metered};
use super::options::catalogue::*;
use super::options::measured::MEASURED;
use super::options::{LoadOptions, OutputOptions, tool_options};
use super::output::Output;
use super::{ExitStatus, listing, source};
use crate::load::merge::apply_node_options;
use crate::report::cluster::info::text as info;
use crate::report::cluster::info::text::Information;
use crate::report::form::json;
use crate::report::{self, debug};

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct HinfoOptions {
    pub load: LoadOptions,
    pub output: OutputOptions,
}

tool_options!(HinfoOptions {});

/// Name, purpose and options.
pub(crate) const SPEC: Spec<HinfoOptions> = Spec {
    name: "hinfo",
    summary: "show what a cluster holds and how well it is balanced",
    forms: &["[OPTION...]"],
    examples: &[
        example("hinfo -L", "show what this cluster holds"),
        example("hinfo -t cluster.data -p", "list the nodes of a saved cluster"),
        example("hinfo -m @prod --json", "print it as JSON"),
    ],
    options: &[
        &[PRINT_NODES, PRINT_INSTANCES],
        &[TEXT_DATA, MASTER],
        &RAPI_ACCESS,
        &[LUXI, IALLOC_SRC, VERBOSE, QUIET, OFFLINE, IGNORE_DYNU, MOND, MOND_DATA],
        &MEASURED,
        &[STATIC_KVM_NODE_MEMORY, SIMULATE, WEIGHTS],
        &[JSON, METRICS],
        &THREADS,
        &LAST,
    ],
    ..Spec::PLAIN
};

/// Runs hinfo with these options.
pub(crate) fn run(options: HinfoOptions) -> anyhow::Result<ExitStatus> {
    let (cluster, output) = (source::cluster_label(&options.load.source), &mut Output::standard());
    metered(SPEC.name, &options.output, cluster, output, by_status, |output| {
        show_information(&options, output)
    })
}

fn show_information(options: &HinfoOptions, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let mut cluster = source::load(&options.load, output)?;
    if options.output.json {
        apply_node_options(&mut cluster, &options.load.nodes)?;
        let info = Information::of(&cluster);
        output.figures(|sheet| report::cluster::metrics::tell(sheet, &info, &cluster));
        let document = report::cluster::info::json::document(&info, &cluster);
        json::write(&document, output.stdout())?;
        output.flush()?;
        return Ok(ExitStatus::Success);
    }
    let level = options.load.verbosity;
    output.line(&format!("Loaded cluster tags: {}", cluster.tags.join(",")))?;
    if level > 2 {
        output.line(&format!("Loaded cluster ipolicy: {}", debug::policy(&cluster.policy)))?;
    }
    apply_node_options(&mut cluster, &options.load.nodes)?;
    let info = Information::of(&cluster);
    output.figures(|sheet| report::cluster::metrics::tell(sheet, &info, &cluster));
    for line in info::text(&info, &cluster, level) {
        output.line(&line)?;
    }
    let nodes = cluster.all_nodes();
    if options.output.print_instances {
        listing::instances(output, "Instances", &cluster, &cluster.all_instances())?;
    }
    if let Some(fields) = &options.output.print_nodes {
        listing::nodes(output, "Cluster", &cluster, &nodes, fields)?;
    }
    for line in info::score_text(&info) {
        output.line(&line)?;
    }
    output.flush()?;
    Ok(ExitStatus::Success)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::cli::Stop;
    use crate::tools::cli::testing::*;

    #[test]
    fn defaults_and_values() {
        assert_eq!(SPEC.parse(&words(&[])), Ok(HinfoOptions::default()));
        let options =
            SPEC.parse(&words(&["-pname", "--json", "--simulate=p,1,1,1,1", "--print-inst"])).unwrap();
        assert_eq!(options.output.print_nodes.as_deref(), Some("name"));
        assert!(options.output.json && options.output.print_instances);
        assert_eq!(options.load.source.simulate, ["p,1,1,1,1"]);
    }

    #[test]
    fn options_of_other_tools_are_unknown() {
        assert!(matches!(SPEC.parse(&words(&["-X"])), Err(Stop::Syntax(_))));
    }
}
