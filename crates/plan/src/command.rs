//! Plans as commands, for people and for scripts. The opcodes of the steps are converted to command lines.

use super::durations::{LegKind, way};
use super::names::{Impossible, Name, NameOf};
use super::opcode::{Opcode, PowerCommand, ReplaceMode, TagKind};
use super::shell::{Command, Line};
use super::work::{Task, Work, WorkStep};
use htools_model::known_tags::SWITCHED;
use htools_model::{Cluster, Leg, Move, NodeIdx, Step};

/// The commands of one move in order, with those for an instance that is stopped meanwhile. Names are full names,
/// because an alias may be unknown, or mean something else, where the commands run.
///
/// # Errors
/// If a name is not valid in Ganeti.
pub fn commands(cluster: &Cluster, step: &Step) -> Result<Vec<Command>, Impossible> {
    let mut commands = Vec::new();
    for part in WorkStep::of_move(cluster, step) {
        for opcode in &part.opcodes {
            commands.extend(command(opcode, way(&part, opcode))?);
        }
    }
    Ok(commands)
}

/// The lines of a step. If Ganeti does not switch the power of nodes, the command `power` does.
///
/// # Errors
/// If a name is not valid in Ganeti.
pub(crate) fn lines(step: &WorkStep, power: Option<&str>) -> Result<Vec<Line>, Impossible> {
    let mut lines = Vec::new();
    for opcode in &step.opcodes {
        lines.extend(command(opcode, way(step, opcode))?.map(Line::Run));
    }
    let switched = |word, name: &Name| match power {
        Some(command) => Command::given(command).word(word).operand(name),
        None => Command::new(&["gnt-node", "power", "-f", word]).operand(name),
    };
    let is_switched = !step.opcodes.is_empty();
    let name = || Name::of(NameOf::Node, &step.subject);
    match step.task {
        Task::PowerOff => {
            let name = name()?;
            if !is_switched {
                lines.push(Line::Run(switched("off", &name)));
            }
            // An instance may have arrived since the node was checked.
            lines.insert(0, is_empty(&name));
        }
        Task::PowerOn if !is_switched => lines.push(Line::Run(switched("on", &name()?))),
        Task::Await => {
            let trial = Command::new(&["ssh", "-o", "BatchMode=yes"]).operand(&name()?).word("true");
            lines.push(Line::Until(trial));
        }
        Task::ConfirmEmpty => lines.push(is_empty(&name()?)),
        Task::RebootByHand => {
            let text = format!("{} is the master node: reboot it by hand", name()?.as_str());
            lines.push(Line::Comment(text));
        }
        _ => {}
    }
    Ok(lines)
}

/// The command that cleans up after an opcode that may have failed half-way, if Ganeti has one.
///
/// # Errors
/// If a name is not valid in Ganeti.
pub fn cleanup_command(opcode: &Opcode) -> Result<Option<Command>, Impossible> {
    opcode.cleanup().map_or(Ok(None), |tidying| command(&tidying, Some(LegKind::Migrates)))
}

/// A line that fails unless a node holds no instances.
fn is_empty(node: &Name) -> Line {
    let fields = ["gnt-node", "list", "--no-headers", "--separator=:", "-o", "pinst_cnt,sinst_cnt"];
    let command = Command::new(&fields).operand(node);
    Line::Expect { command, answer: "0:0", otherwise: format!("{} is not empty", node.as_str()) }
}

/// The command line of an opcode that moves its instance in the given way; `None` for opcodes that plans do not have.
///
/// # Errors
/// If a name is not valid in Ganeti.
fn command(opcode: &Opcode, way: Option<LegKind>) -> Result<Option<Command>, Impossible> {
    let instance = |name: &String| Name::of(NameOf::Instance, name);
    let node = |name: &String| Name::of(NameOf::Node, name);
    let of_instance = |words: &[&'static str]| Command::new(&[&["gnt-instance"], words].concat());
    let to = |command: Command, target: &Option<String>| match target {
        Some(target) => Ok(command.option("-n", &node(target)?)),
        None => Ok(command),
    };
    Ok(Some(match opcode {
        Opcode::Migrate { instance_name, target_node, cleanup: true, .. } => {
            to(of_instance(&["migrate", "--cleanup", "-f"]), target_node)?.operand(&instance(instance_name)?)
        }
        Opcode::Migrate { instance_name, target_node, .. }
        | Opcode::Failover { instance_name, target_node, .. } => {
            let verb = if way == Some(LegKind::Migrates) { "migrate" } else { "failover" };
            to(of_instance(&[verb, "-f"]), target_node)?.operand(&instance(instance_name)?)
        }
        Opcode::MoveDisks { instance_name, target_node, .. } => {
            of_instance(&["move", "-f"]).option("-n", &node(target_node)?).operand(&instance(instance_name)?)
        }
        Opcode::ReplaceDisks { instance_name, mode, remote_node, .. } => {
            let words: &[&str] = match mode {
                ReplaceMode::NewSecondary => &["replace-disks"],
                ReplaceMode::OnSecondary => &["replace-disks", "-s"],
                ReplaceMode::OnPrimary => &["replace-disks", "-p"],
            };
            to(of_instance(words), remote_node)?.operand(&instance(instance_name)?)
        }
        Opcode::Shutdown { instance_name, .. } => {
            of_instance(&["shutdown"]).operand(&instance(instance_name)?)
        }
        Opcode::Startup { instance_name, .. } => of_instance(&["startup"]).operand(&instance(instance_name)?),
        Opcode::ActivateDisks { instance_name, wait_for_sync } => {
            let words: &[&str] =
                if *wait_for_sync { &["activate-disks", "--wait-for-sync"] } else { &["activate-disks"] };
            of_instance(words).operand(&instance(instance_name)?)
        }
        Opcode::NodeSetParams { node_name, force, offline, drained, auto_promote } => {
            let yes =
                |flag: &Option<bool>, [yes, no]: [&'static str; 2]| flag.map(|on| if on { yes } else { no });
            let options = [
                force.then_some("-f"),
                auto_promote.then_some("--auto-promote"),
                yes(drained, ["--drained=yes", "--drained=no"]),
                yes(offline, ["--offline=yes", "--offline=no"]),
            ];
            let words = ["gnt-node", "modify"].into_iter().chain(options.into_iter().flatten());
            Command::new(&words.collect::<Vec<_>>()).operand(&node(node_name)?)
        }
        Opcode::OobCommand { node_names, command, .. } => {
            let word = match command {
                PowerCommand::PowerOn => "on",
                PowerCommand::PowerOff => "off",
                PowerCommand::PowerCycle => "cycle",
            };
            let names = node_names.iter().map(node).collect::<Result<Vec<_>, _>>()?;
            Command::new(&["gnt-node", "power", "-f", word]).operands(&names)
        }
        Opcode::TagsSet { kind, tags, name } => tagged(("add-tags", *kind), name, tags)?,
        Opcode::TagsDel { kind, tags, name } => tagged(("remove-tags", *kind), name, tags)?,
        // These are opcodes of repairs and queries.
        Opcode::RecreateDisks { .. }
        | Opcode::Reinstall { .. }
        | Opcode::QueryData { .. }
        | Opcode::Delay { .. } => return Ok(None),
    }))
}

/// The command that adds tags to an object, or removes them.
fn tagged((verb, kind): (&'static str, TagKind), name: &str, tags: &[String]) -> Result<Command, Impossible> {
    let (program, name) = match kind {
        TagKind::Node => ("gnt-node", Name::of(NameOf::Node, name)?),
        TagKind::Instance => ("gnt-instance", Name::of(NameOf::Instance, name)?),
    };
    let mut command = Command::new(&[program, verb]).operand(&name);
    for tag in Name::tags(tags)? {
        command = if verb == "add-tags" && tag.as_str().starts_with(SWITCHED) {
            // The tag must have the time at which the command runs.
            command.evaluated(format!("\"{SWITCHED}$(date +%s)\""))
        } else {
            command.operand(&tag)
        };
    }
    Ok(command)
}

/// Part of a command list, to which a jobset belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListPart {
    Drain,
    Moves,
    Check,
    Tags,
    Power,
}

impl ListPart {
    fn of(task: &Task) -> ListPart {
        match task {
            Task::Drain | Task::Undrain => ListPart::Drain,
            Task::Tag | Task::Untag => ListPart::Tags,
            Task::ConfirmEmpty => ListPart::Check,
            task if task.is_of_instance() => ListPart::Moves,
            _ => ListPart::Power,
        }
    }

    /// Heading of the part; jobsets of moves have headings of their own.
    fn title(self) -> Option<&'static str> {
        match self {
            ListPart::Moves => None,
            ListPart::Drain => Some("Drain Commands"),
            ListPart::Check => Some("Check Commands"),
            ListPart::Tags => Some("Tagging Commands"),
            ListPart::Power => Some("Power Commands"),
        }
    }
}

/// The lines of a whole plan: moves by jobset and job, and node operations by kind.
///
/// # Errors
/// If a name is not valid in Ganeti.
pub fn plan_lines(work: &Work, power: Option<&str>) -> Result<Vec<Line>, Impossible> {
    let mut listed = Vec::new();
    let mut section = None;
    let mut number = 0;
    for set in &work.jobsets {
        let now = set.first().map(|first| ListPart::of(&work.step(*first).task));
        if let Some(title) = now.filter(|_| now != section).and_then(ListPart::title) {
            listed.extend((!listed.is_empty()).then_some(Line::Blank));
            listed.push(Line::heading(title));
        }
        section = now;
        let are_moves = now == Some(ListPart::Moves);
        if are_moves {
            number += 1;
            listed.push(Line::Blank);
            listed.push(Line::heading(format_args!("jobset {number}, {} jobs", set.len())));
        }
        for (job, step) in (1..).zip(set) {
            if are_moves {
                listed.extend([Line::Job(format!("job {number}/{job}")), Line::Check]);
            }
            listed.extend(lines(work.step(*step), power)?);
        }
    }
    Ok(listed)
}

/// Title of a script that balances.
pub const BALANCE_TITLE: &str = "\
# Carries out the moves that hbal planned, in order. Jobs of one jobset touch
# different nodes; they may also be started side by side.
";

/// Title of a script that makes room for further instances.
pub const ROOM_TITLE: &str = "\
# Carries out the moves that hspace planned to make room, in order. Jobs of one jobset
# touch different nodes; they may also be started side by side.
";

/// Title of a script that moves instances between groups.
pub const REGROUP_TITLE: &str = "\
# Carries out the moves between node groups that hgroup planned, in order. Jobs of one
# jobset touch different nodes; they may also be started side by side.
";

/// Title of a script that powers nodes down or up.
pub const SQUEEZE_TITLE: &str = "\
# Powers the nodes down, or up, that hsqueeze planned, and moves instances before
# or after that.
";

/// The move of a step in this notation. `m:NODE` means that the instance is stopped while its disks are copied.
pub fn step_notation(cluster: &Cluster, step: &Step) -> String {
    match step.mv {
        Move::FailoverTo(to) if step.copies_while_stopped(cluster) => {
            format!("m:{}", cluster.node(to).spec.alias())
        }
        mv => notation(cluster, mv),
    }
}

/// A move in the notation of step lines: `f` for a failover to the secondary, `r:NODE` for a new secondary, `fa:NODE`
/// for a failover to any other node.
pub fn notation(cluster: &Cluster, mv: Move) -> String {
    let alias = |n: NodeIdx| cluster.node(n).spec.alias();
    let letters = mv.legs().map(|leg| match leg {
        Leg::Failover => "f".to_owned(),
        Leg::FailoverTo(t) => format!("fa:{}", alias(t)),
        Leg::ReplaceSecondary(t) => format!("r:{}", alias(t)),
    });
    letters.collect::<Vec<_>>().join(" ")
}
