//! The commands of hplace, and which of its options each takes.

use crate::tools::cli::option::ArgumentKind::{OneNode, Text};
use crate::tools::cli::{OperandWords, ToolCommand, example};

/// The words that may come first, in the order of [`COMMANDS`].
pub(super) const WORDS: &[&str] =
    &["why", "survive", "fit", "lint", "evacuate", "simulate", "optimal", "affinity"];

/// The commands, in the order of [`WORDS`].
pub(super) const COMMANDS: &[ToolCommand] = &[
    ToolCommand {
        name: "hplace why",
        summary: "explain where resources go, and what forbids other nodes",
        forms: &["[OPTION...] RESOURCE..."],
        words: &[OperandWords { name: "RESOURCE", kind: Text, min: 1, max: None }],
        examples: &[
            example("hplace why --live db", "explain the place of the resource db"),
            example("hplace why -x cib.xml db web", "explain two resources of a saved CIB"),
            example("hplace why -t lab.data vm1", "explain a Ganeti instance"),
        ],
    },
    ToolCommand {
        name: "hplace survive",
        summary: "try the loss of every node: what moves, what stays down",
        forms: &["[OPTION...]"],
        words: &[],
        examples: &[
            example("hplace survive --live", "try the loss of every node"),
            example("hplace survive --live --nodes 2", "try the loss of every two nodes"),
            example("hplace survive --live --min-priority 9", "count resources of priority 9 or more"),
        ],
    },
    ToolCommand {
        name: "hplace fit",
        summary: "count how many more resources of a size fit, and on which nodes",
        forms: &["[OPTION...] NAME=AMOUNT..."],
        words: &[OperandWords { name: "SIZE", kind: Text, min: 1, max: None }],
        examples: &[
            example("hplace fit --live cpu=2,memory=4096", "count resources of this size"),
            example("hplace fit --live --keep-reserve 1 cpu=1", "keep room for the loss of any node"),
            example("hplace fit -x cib.xml --json cpu=1", "print the answer as JSON"),
        ],
    },
    ToolCommand {
        name: "hplace lint",
        summary: "find likely configuration mistakes",
        forms: &["[OPTION...]"],
        words: &[],
        examples: &[
            example("hplace lint --live", "look this cluster's configuration through"),
            example("hplace lint -x cib.xml", "look a saved CIB through"),
            example("hplace lint -x cib.xml --json", "print the findings as JSON"),
        ],
    },
    ToolCommand {
        name: "hplace evacuate",
        summary: "show what putting a node in standby does, or do it",
        forms: &["[OPTION...] NODE"],
        words: &[OperandWords { name: "NODE", kind: OneNode, min: 1, max: Some(1) }],
        examples: &[
            example("hplace evacuate --live node2", "show what the standby of node2 does"),
            example("hplace evacuate --live -X node2", "put node2 in standby"),
            example("hplace evacuate --live -X --undo node2", "bring node2 back"),
        ],
    },
    ToolCommand {
        name: "hplace simulate",
        summary: "compare strategies over a year in which machines come and go",
        forms: &["[OPTION...]"],
        words: &[],
        examples: &[
            example("hplace simulate --arrivals week.json", "simulate the arrivals of a document"),
            example("hplace simulate -j lab.json --poisson 5", "draw 5 arrivals a day"),
            example("hplace simulate -t lab.data --poisson 5", "begin with a Ganeti cluster"),
        ],
    },
    ToolCommand {
        name: "hplace optimal",
        summary: "find the best possible placement, and how to bring Pacemaker there",
        forms: &["[OPTION...]"],
        words: &[],
        examples: &[
            example("hplace optimal --live", "show the best placement"),
            example("hplace optimal --live --max-moves 3", "let at most 3 resources move"),
            example("hplace optimal --live --commands pcs", "print the commands that bring it about"),
        ],
    },
    ToolCommand {
        name: "hplace affinity",
        summary: "place machines by affinity keys",
        forms: &["[OPTION...]"],
        words: &[],
        examples: &[
            example("hplace affinity -j fleet.json", "place the machines of a document"),
            example("hplace affinity -t lab.data --verify", "compare a Ganeti cluster with its keys"),
            example("hplace affinity -x cib.xml", "place the resources of a CIB"),
        ],
    },
];

/// Commands that read Pacemaker clusters; the empty word is hplace without a command.
pub(super) const PACEMAKER: &[&str] =
    &["", "why", "survive", "fit", "lint", "evacuate", "optimal", "affinity"];
/// Commands that can look at a Pacemaker cluster with other tickets.
pub(super) const TICKETS: &[&str] = &["", "why", "survive", "fit", "evacuate", "optimal"];
/// Commands that can look at a Pacemaker cluster with measured utilization. Pacemaker's own reaction to a node in
/// standby goes by the configured one.
pub(super) const MEASURING: &[&str] = &["", "why", "survive", "fit", "optimal"];
/// Commands that read Ganeti clusters.
pub(super) const GANETI: &[&str] = &["", "why", "survive", "fit", "simulate", "optimal", "affinity"];
/// Commands whose answer depends on the present nodes of Ganeti instances (`--stickiness`).
pub(super) const STAYING: &[&str] = &["", "why", "survive", "fit", "optimal"];
/// Commands that take `--strategy`.
pub(super) const ANY_STRATEGY: &[&str] = &["", "why", "survive", "fit"];
/// Commands that can search for the best placement.
pub(super) const SEARCHING: &[&str] = &["optimal", "why"];
pub(super) const KEYS: &[&str] = &["affinity"];
/// Commands that place by keys, once or many times.
pub(super) const PLACING_BY_KEYS: &[&str] = &["affinity", "simulate"];
pub(super) const SURVIVE: &[&str] = &["survive"];
pub(super) const FIT: &[&str] = &["fit"];
/// Commands that show where all resources go.
pub(super) const PLACING: &[&str] = &["", "optimal"];
/// Commands that place only by Pacemaker's own strategies.
pub(super) const PLACING_ITSELF: &[&str] = &[""];
pub(super) const EXPLAINING: &[&str] = &["", "optimal", "affinity"];
pub(super) const ACTING: &[&str] = &["", "optimal", "why"];
/// Commands whose result can be carried out.
pub(super) const CHANGING: &[&str] = &["", "evacuate", "optimal"];
/// Commands whose result can be printed as commands of Pacemaker.
pub(super) const COMMANDING: &[&str] = &["", "evacuate", "optimal", "affinity"];
/// Commands that can be taken back.
pub(super) const UNDOING: &[&str] = &["", "evacuate"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_its_word() {
        let words: Vec<&str> = COMMANDS.iter().map(ToolCommand::word).collect();
        assert_eq!(words, WORDS);
    }
}
