//! The commands that a page recommends: how its plan is carried out and taken back.

use super::{FILES, LIVE, command};
use crate::report::form::html::commands::{NextAction, NextCommand};
use crate::tools::options::TypedOption;

/// Options that describe the cluster further.
const STATE: [&str; 6] =
    ["offline", "dynu-file", "mond-data", "rapi-credentials", "rapi-cacert", "insecure-http"];
/// Options about the form and the place of a result.
const FORMS: [&str; 10] = [
    "report",
    "json",
    "metrics",
    "print-plan",
    "print-commands",
    "save",
    "summary",
    "machine-readable",
    "commands",
    "quiet",
];

/// The commands to run after a page, by the options of the command that made it.
pub(super) fn next_commands(tool: &str, typed: &[TypedOption], action: NextAction) -> Vec<NextCommand> {
    let typed = RecommendedRun { tool, typed };
    match action {
        NextAction::Nothing => Vec::new(),
        _ if typed.has("simulate") => Vec::new(),
        NextAction::Execute => typed.execute(),
        NextAction::RunScript => typed.run_script(),
        NextAction::Balance => typed.balance(),
        NextAction::Place => typed.place(),
    }
}

/// A run of a tool, from which further runs follow.
struct RecommendedRun<'a> {
    tool: &'a str,
    typed: &'a [TypedOption],
}

impl RecommendedRun<'_> {
    fn has(&self, long: &str) -> bool {
        self.typed.iter().any(|option| option.long == Some(long))
    }

    fn is_live(&self) -> bool {
        LIVE.iter().any(|long| self.has(long))
    }

    fn is_pacemaker(&self) -> bool {
        self.tool == "hplace" || self.has("xml-file") || self.has("live")
    }

    /// The same run with other options about its result.
    fn with(&self, more: &[(&'static str, Option<&str>)]) -> String {
        self.line(self.tool, |long| !FORMS.contains(&long), more)
    }

    /// The same run on the cluster itself.
    fn on_cluster(&self, more: &[(&'static str, Option<&str>)]) -> String {
        if self.is_live() {
            return self.with(more);
        }
        let source = if self.is_pacemaker() { "live" } else { "luxi" };
        let more: Vec<_> = [(source, None)].into_iter().chain(more.iter().copied()).collect();
        self.line(self.tool, |long| ![&FORMS[..], &FILES, &STATE].concat().contains(&long), &more)
    }

    /// A command with those options that are wanted, words first, and with further ones.
    fn line(
        &self,
        tool: &str,
        is_wanted: impl Fn(&str) -> bool,
        more: &[(&'static str, Option<&str>)],
    ) -> String {
        let kept = self.typed.iter().filter(|option| option.long.is_none_or(&is_wanted)).cloned();
        let more = more
            .iter()
            .map(|(long, value)| TypedOption { long: Some(long), value: value.map(str::to_owned) });
        command(tool, &kept.chain(more).collect::<Vec<_>>())
    }

    /// The command that takes a run back; `None` if the tool's runs cannot be.
    fn back(&self) -> Option<NextCommand> {
        let constraints = "Take back the location constraints that were set.";
        let moves = "Take the moves back. The run has named its journal.";
        match self.tool {
            "hsqueeze" => None,
            _ if self.is_pacemaker() => Some(next(constraints, "hplace --live --undo --exec".to_owned())),
            _ => Some(next(moves, "htools undo JOURNAL".to_owned())),
        }
    }

    fn execute(&self) -> Vec<NextCommand> {
        if self.has("exec") {
            return self.back().into_iter().collect();
        }
        let mut commands = Vec::new();
        if !self.is_live() && !self.is_pacemaker() {
            commands.push(next("Show the plan's commands.", self.with(&[("print-commands", None)])));
        }
        let purpose = match (self.is_live(), self.is_pacemaker()) {
            (true, _) => "Carry the plan out. On a terminal, the tool asks before it begins.",
            (false, true) => "On a node of the cluster: plan with its present state, and carry the plan out.",
            (false, false) => {
                "On the master node: plan with the cluster's present state, and carry the plan out."
            }
        };
        commands.push(next(purpose, self.on_cluster(&[("exec", None)])));
        commands.extend(self.back());
        commands
    }

    fn run_script(&self) -> Vec<NextCommand> {
        vec![
            next(
                "Write the commands of all groups to a script.",
                self.with(&[("print-commands", Some("reboot.sh"))]),
            ),
            next("Run the script on the master node, after a look at it.", "sh reboot.sh".to_owned()),
        ]
    }

    fn balance(&self) -> Vec<NextCommand> {
        let is_wanted =
            |long: &str| [&FILES[..], &LIVE, &STATE].concat().contains(&long) || long.starts_with("load-");
        let more = [("all-groups", None), ("report", Some("plan.html"))];
        vec![next(
            "Plan these steps, with their commands and their duration.",
            self.line("hbal", is_wanted, &more),
        )]
    }

    fn place(&self) -> Vec<NextCommand> {
        let mut commands = vec![
            next(
                "Show the commands that bring the resources to these places.",
                self.with(&[("commands", Some("pcs"))]),
            ),
            next(
                "On a node of the cluster: place with its present state, and have Pacemaker do it.",
                self.on_cluster(&[("exec", None)]),
            ),
        ];
        commands.extend(self.back());
        commands
    }
}

fn next(purpose: &str, command: String) -> NextCommand {
    NextCommand { purpose: purpose.to_owned(), command }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(long: &'static str, value: Option<&str>) -> TypedOption {
        TypedOption { long: Some(long), value: value.map(str::to_owned) }
    }

    fn commands(tool: &str, options: &[TypedOption], action: NextAction) -> Vec<String> {
        next_commands(tool, options, action).into_iter().map(|next| next.command).collect()
    }

    #[test]
    fn plans_from_files_are_made_again_on_the_cluster() {
        let options = [typed("text-data", Some("a.data")), typed("deep", None), typed("report", Some("p"))];
        assert_eq!(
            commands("hbal", &options, NextAction::Execute),
            [
                "hbal --text-data=a.data --deep --print-commands",
                "hbal --deep --luxi --exec",
                "htools undo JOURNAL"
            ]
        );
        assert_eq!(commands("hbal", &options, NextAction::Nothing), [""; 0]);
    }

    #[test]
    fn plans_of_live_clusters_are_carried_out() {
        let options = [typed("master", Some("host")), typed("report", Some("p"))];
        assert_eq!(
            commands("hbal", &options, NextAction::Execute),
            ["hbal --master=host --exec", "htools undo JOURNAL"]
        );
        let carried_out = [&options[..], &[typed("exec", None)]].concat();
        assert_eq!(commands("hbal", &carried_out, NextAction::Execute), ["htools undo JOURNAL"]);
        assert_eq!(commands("hsqueeze", &carried_out, NextAction::Execute), [""; 0]);
    }

    #[test]
    fn pacemaker_sets_constraints() {
        let options = [typed("xml-file", Some("c.xml")), typed("strategy", Some("optimal"))];
        let wanted = [
            "hplace --xml-file=c.xml --strategy=optimal --commands=pcs",
            "hplace --strategy=optimal --live --exec",
            "hplace --live --undo --exec",
        ];
        assert_eq!(commands("hplace", &options, NextAction::Place), wanted);
        assert_eq!(commands("hbal", &options[..1], NextAction::Execute), ["hbal --live --exec", wanted[2]]);
    }

    #[test]
    fn what_a_check_finds_is_balanced() {
        let options = [typed("text-data", Some("a.data")), typed("list-problems", None)];
        let wanted = ["hbal --text-data=a.data --all-groups --report=plan.html"];
        assert_eq!(commands("hcheck", &options, NextAction::Balance), wanted);
        let simulated = [typed("simulate", Some("p,3,1t,32g,8"))];
        assert_eq!(commands("hcheck", &simulated, NextAction::Balance), [""; 0]);
    }
}
