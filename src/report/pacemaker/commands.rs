//! Commands for a change of a cluster, in the language of Pacemaker's own programs or of the shells pcs and crmsh.

use crate::model::shown::shown_name;
use crate::pacemaker::cib::change::{CibChange, LocationPin};
use crate::pacemaker::{ResourceIdx, WorkingSet};
use crate::plan::names::is_host;
use crate::plan::shell::{in_apostrophes, quoted};
use htools_model::words;

words!(
    /// Program that the commands are for.
    pub CommandForm, "form of commands" {
        /// Pacemaker's `cibadmin`, with one document for all constraints.
        Cib = "cib",
        /// The shell pcs.
        Pcs = "pcs",
        /// The shell crmsh.
        Crmsh = "crmsh",
        /// Pacemaker's `crm_resource`, which chooses the names of the constraints itself.
        CrmResource = "crm_resource",
    }
);

/// Reason why no commands can be written for a change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoCommands {
    /// A name is unsafe in commands: it would not be valid for a host in Ganeti, or begins with a dash.
    #[error("'{}': no commands are written with such a name", shown_name(.0))]
    UnfitName(String),
    /// `crm_resource` cannot send the promoted role of a clone with several promoted instances.
    #[error("{}: crm_resource cannot move the promoted role of several instances", shown_name(.0))]
    SeveralPromoted(String),
}

/// The lines of a script: the change, a wait until it is done, and comments with the commands that undo it. The parts
/// of a change are made one after another, and undone in the opposite order.
///
/// # Errors
/// If a name may have a meaning to a shell or an option parser.
pub(crate) fn lines(form: CommandForm, change: &CibChange) -> Result<Vec<String>, NoCommands> {
    if change.is_empty() {
        return Ok(vec!["# Nothing has to be done for that.".to_owned()]);
    }
    let parts = match change {
        CibChange::Together(parts) => parts,
        one => std::slice::from_ref(one),
    };
    let mut lines = Vec::new();
    for part in parts {
        lines.extend(making(form, part)?);
        lines.push("crm_resource --wait".to_owned());
    }
    lines.push("# To take it back:".to_owned());
    lines.extend(making(form, &opposite(change))?.into_iter().map(|line| format!("# {line}")));
    Ok(lines)
}

/// The change that undoes a change.
fn opposite(change: &CibChange) -> CibChange {
    match change.clone() {
        CibChange::Pin(pins) => CibChange::Unpin(pins),
        CibChange::Unpin(pins) => CibChange::Pin(pins),
        CibChange::Standby(node) => CibChange::Online(node),
        CibChange::Online(node) => CibChange::Standby(node),
        CibChange::Together(parts) => CibChange::Together(parts.iter().rev().map(opposite).collect()),
    }
}

/// Only the lines that make a change.
///
/// # Errors
/// If a name may have a meaning to a shell or an option parser.
pub(crate) fn making(form: CommandForm, change: &CibChange) -> Result<Vec<String>, NoCommands> {
    check(change)?;
    Ok(made(form, change))
}

fn made(form: CommandForm, change: &CibChange) -> Vec<String> {
    match (form, change) {
        (_, CibChange::Together(parts)) => parts.iter().flat_map(|part| made(form, part)).collect(),
        (_, CibChange::Pin(pins)) => pinning(form, pins),
        (_, CibChange::Unpin(pins)) => unpinning(form, pins),
        (CommandForm::Pcs, CibChange::Standby(node)) => vec![format!("pcs node standby {}", quoted(node))],
        (CommandForm::Pcs, CibChange::Online(node)) => vec![format!("pcs node unstandby {}", quoted(node))],
        (CommandForm::Crmsh, CibChange::Standby(node)) => vec![format!("crm node standby {}", quoted(node))],
        (CommandForm::Crmsh, CibChange::Online(node)) => vec![format!("crm node online {}", quoted(node))],
        (_, CibChange::Standby(node)) => {
            vec![format!("crm_attribute --name standby --node {} --update on", quoted(node))]
        }
        (_, CibChange::Online(node)) => {
            vec![format!("crm_attribute --name standby --node {} --delete", quoted(node))]
        }
    }
}

fn pinning(form: CommandForm, pins: &[LocationPin]) -> Vec<String> {
    let each = |line: &dyn Fn(&LocationPin) -> String| pins.iter().map(line).collect::<Vec<String>>();
    let (first, middle, last): (&[&str], Vec<String>, &[&str]) = match form {
        CommandForm::Cib => (
            &["cibadmin -M -o constraints --allow-create --xml-pipe <<'END'", "<constraints>"],
            each(&|pin| format!("  {}", pin.xml())),
            &["</constraints>", "END"],
        ),
        CommandForm::Pcs => (
            &["pcs cluster cib hplace-before.xml", "cp hplace-before.xml hplace-after.xml"],
            each(&|pin| {
                let [id, resource, node] = [&pin.id, &pin.resource, &pin.node].map(|word| quoted(word));
                let words = match pin.promoted {
                    true => format!(
                        "{resource} rule constraint-id={id} role=Promoted score=INFINITY '#uname' eq {node}"
                    ),
                    false => format!("add {id} {resource} {node} INFINITY"),
                };
                format!("pcs -f hplace-after.xml constraint location {words}")
            }),
            &["pcs cluster cib-push hplace-after.xml diff-against=hplace-before.xml"],
        ),
        CommandForm::Crmsh => (
            &["crm configure <<'END'"],
            each(&|pin| {
                let LocationPin { id, resource, node, promoted } = pin;
                match promoted {
                    true => format!("location {id} {resource} rule $role=Promoted inf: #uname eq {node}"),
                    false => format!("location {id} {resource} inf: {node}"),
                }
            }),
            &["commit", "END"],
        ),
        CommandForm::CrmResource => (
            &[],
            each(&|pin| {
                let role = if pin.promoted { " --promoted" } else { "" };
                format!("crm_resource --move -r {} -N {}{role}", quoted(&pin.resource), quoted(&pin.node))
            }),
            &[],
        ),
    };
    let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<String>>();
    [owned(first), middle, owned(last)].concat()
}

fn unpinning(form: CommandForm, pins: &[LocationPin]) -> Vec<String> {
    let ids = || pins.iter().map(|pin| quoted(&pin.id)).collect::<Vec<String>>().join(" ");
    match form {
        CommandForm::Cib => {
            let delete = |pin: &LocationPin| {
                let element = format!(r#"<rsc_location id="{}"/>"#, pin.id);
                format!("cibadmin -D -o constraints --xml-text {}", in_apostrophes(&element))
            };
            pins.iter().map(delete).collect()
        }
        CommandForm::Pcs => vec![format!("pcs constraint delete {}", ids())],
        CommandForm::Crmsh => vec![format!("crm configure delete {}", ids())],
        CommandForm::CrmResource => {
            pins.iter().map(|pin| format!("crm_resource --clear -r {}", quoted(&pin.resource))).collect()
        }
    }
}

fn check(change: &CibChange) -> Result<(), NoCommands> {
    let fits = |name: &str| is_host(name) && !name.starts_with('-');
    let names: Vec<&String> = match change {
        CibChange::Pin(pins) | CibChange::Unpin(pins) => {
            pins.iter().flat_map(|pin| [&pin.id, &pin.resource, &pin.node]).collect()
        }
        CibChange::Standby(node) | CibChange::Online(node) => vec![node],
        CibChange::Together(parts) => return parts.iter().try_for_each(check),
    };
    match names.into_iter().find(|name| !fits(name)) {
        Some(name) => Err(NoCommands::UnfitName(name.clone())),
        None => Ok(()),
    }
}

/// Refuses a form that cannot send the promoted role of a clone of this cluster: `crm_resource` knows one node for it,
/// and fails if several instances are promoted.
///
/// # Errors
/// If the change is about such a clone.
pub(crate) fn check_roles(form: CommandForm, change: &CibChange, set: &WorkingSet) -> Result<(), NoCommands> {
    let pins = match change {
        CibChange::Pin(pins) if form == CommandForm::CrmResource => pins,
        CibChange::Together(parts) => {
            return parts.iter().try_for_each(|part| check_roles(form, part, set));
        }
        _ => return Ok(()),
    };
    let is_one = |pin: &&LocationPin| {
        let wanted = pins.iter().filter(|other| other.promoted && other.resource == pin.resource).count();
        let clone = set.resource_indices().find(|one| set.resource(*one).id == pin.resource);
        let is_promoted = |instance: &&ResourceIdx| {
            set.primitives(instance).iter().any(|part| set.resource(*part).promoted)
        };
        let now = clone.map_or(0, |clone| set.resource(clone).members.iter().filter(is_promoted).count());
        wanted < 2 && now < 2
    };
    match pins.iter().filter(|pin| pin.promoted).find(|pin| !is_one(pin)) {
        Some(pin) => Err(NoCommands::SeveralPromoted(pin.resource.clone())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pin(resource: &str, node: &str) -> LocationPin {
        let id = format!("hplace-{resource}");
        LocationPin { id, resource: resource.to_owned(), node: node.to_owned(), promoted: false }
    }

    #[test]
    fn every_form_makes_a_change_and_says_how_it_is_taken_back() {
        let pins = CibChange::Pin(vec![pin("a", "n1"), pin("b", "n2")]);
        for (form, first, last) in [
            (
                CommandForm::Cib,
                "cibadmin -M -o constraints --allow-create --xml-pipe <<'END'",
                r#"# cibadmin -D -o constraints --xml-text '<rsc_location id="hplace-b"/>'"#,
            ),
            (
                CommandForm::Pcs,
                "pcs cluster cib hplace-before.xml",
                "# pcs constraint delete hplace-a hplace-b",
            ),
            (CommandForm::Crmsh, "crm configure <<'END'", "# crm configure delete hplace-a hplace-b"),
            (CommandForm::CrmResource, "crm_resource --move -r a -N n1", "# crm_resource --clear -r b"),
        ] {
            let lines = lines(form, &pins).unwrap();
            assert_eq!((lines[0].as_str(), lines.last().unwrap().as_str()), (first, last));
            assert!(lines.contains(&"crm_resource --wait".to_owned()));
        }
        let lines = lines(CommandForm::Cib, &CibChange::Online("n1".to_owned())).unwrap();
        assert_eq!(lines[0], "crm_attribute --name standby --node n1 --delete");
    }

    #[test]
    fn names_that_could_mean_something_else_are_refused() {
        let long = "x".repeat(256);
        for name in ["", "-x", ".", "a b", "a;b", "$(x)", "a\nEND", "a'b", "<a>", "knoten-ä.1", "a..b", &long]
        {
            for change in [CibChange::Pin(vec![pin("a", name)]), CibChange::Standby(name.to_owned())] {
                assert!(lines(CommandForm::Cib, &change).is_err(), "{name:?}");
            }
        }
        assert!(lines(CommandForm::Pcs, &CibChange::Standby("node_1.example".to_owned())).is_ok());
        let nothing = lines(CommandForm::Pcs, &CibChange::Pin(Vec::new())).unwrap();
        assert_eq!(nothing, ["# Nothing has to be done for that."]);
    }
}
