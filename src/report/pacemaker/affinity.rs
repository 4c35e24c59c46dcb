//! Placement of machines by their affinity keys, for people and as `htools.affinity/1`.

use serde::Serialize;

use crate::affinity::{
    CompiledKey, Fleet, KeyTerm, MachineChoice, Misplaced, NodeRefusal, StuckMachine, by_worth,
};
use crate::model::number::counted;
use crate::model::shown::shown_name;
use crate::report::form::json::Generator;
use crate::report::form::table::{Align, Table};
use crate::report::why::words::rule_name;

pub(crate) const SCHEMA: &str = "htools.affinity/1";

/// The choices for the machines of a fleet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AffinityResult<'a> {
    pub fleet: &'a Fleet,
    /// The machines that were placed, in this order.
    pub choices: &'a [MachineChoice],
    /// The machines that would be started on another node today; `None` if that was not asked.
    pub misplaced: Option<&'a [Misplaced]>,
}

/// The reason that a machine stays although its keys prefer another node.
pub(crate) fn stuck_line(fleet: &Fleet, of: &StuckMachine) -> String {
    let name = shown_name(&fleet.machines[of.machine].name);
    let node = |at: usize| shown_name(&fleet.nodes[at].name);
    match (of.node, of.rule) {
        (None, _) => format!("{name} stays: no node would take it today"),
        (Some(to), Some(rule)) => {
            format!("{name} stays: Ganeti's rules keep it from {} ({})", node(to), rule_name(rule))
        }
        (Some(to), None) => format!("{name} stays: it cannot be moved to {}", node(to)),
    }
}

impl AffinityResult<'_> {
    /// Tells if every machine has a node and, if that was asked, runs where it should.
    pub(crate) fn is_good(&self) -> bool {
        self.choices.iter().all(|choice| choice.node.is_some()) && self.misplaced.is_none_or(<[_]>::is_empty)
    }

    /// The lines about all machines, with those about their keys if `explain` is set.
    pub(crate) fn lines(&self, explain: bool) -> Vec<String> {
        let (nodes, machines) = (self.fleet.nodes.len(), self.fleet.machines.len());
        let running = self.fleet.machines.iter().filter(|machine| machine.node.is_some()).count();
        let mut lines = vec![format!(
            "Strategy affinity: {}, {}, of which {running} run",
            counted(nodes, "node"),
            counted(machines, "machine")
        )];
        for choice in self.choices {
            lines.push(String::new());
            lines.extend(choice_lines(self.fleet, choice));
            if explain {
                lines.extend(self.keys(choice));
            }
        }
        if let Some(misplaced) = self.misplaced {
            lines.push(String::new());
            let asked = self.fleet.machines.iter().filter(|machine| machine.node.is_some() && !machine.fixed);
            lines.extend(self.verified(misplaced, asked.count()));
        }
        lines
    }

    fn node(&self, at: usize) -> String {
        shown_name(&self.fleet.nodes[at].name)
    }

    fn machine(&self, choice: &MachineChoice) -> String {
        shown_name(&self.fleet.machines[choice.machine].name)
    }

    /// The choice for a machine, and the threshold at which it was made.
    fn head(&self, choice: &MachineChoice) -> String {
        let name = self.machine(choice);
        let Some(node) = choice.node else {
            let is_refused = choice.verdicts.iter().all(|verdict| verdict.refusal.is_some());
            let last = self.fleet.options.threshold(self.fleet.options.msav_steps);
            return match is_refused {
                true => format!("{name}: not started: no node can take it"),
                false => format!(
                    "{name}: not started: no node is worth more than {}, the last threshold",
                    number(last)
                ),
            };
        };
        let how = match choice.round {
            Some(round) => {
                format!("round {round}, threshold {}", number(self.fleet.options.threshold(round)))
            }
            None => "its first disk is there".to_owned(),
        };
        let sticky: String =
            choice.sticky.iter().map(|key| format!("; takes {} along", shown_name(&key.name))).collect();
        format!("{name}: {} ({how}){sticky}", self.node(node))
    }

    /// The keys that apply to a machine, and the level that set each.
    fn keys(&self, choice: &MachineChoice) -> Vec<String> {
        let machine = &self.fleet.machines[choice.machine];
        let line = |side: &str, key: &CompiledKey| {
            let over = if key.over_billing { ", which wins over the billing entity's there" } else { "" };
            let from = match self.fleet.copied_from(machine, key) {
                Some(node) => format!("copied from {}, where it ran", shown_name(&node.name)),
                None => format!("{} keys of the level {}{over}", key.owner, key.level),
            };
            let name = shown_name(&key.name);
            format!("  {side} key {name} = {}, weight {}: {from}", number(key.value), number(key.weight))
        };
        let system = choice.keys.system.iter().map(|key| line("system", key));
        system.chain(choice.keys.customer.iter().map(|key| line("customer", key))).collect()
    }

    fn table(&self, choice: &MachineChoice) -> Vec<String> {
        let columns = [
            ("Node", Align::Left),
            ("System", Align::Right),
            ("Terms", Align::Left),
            ("Customer", Align::Right),
            ("Terms", Align::Left),
        ];
        let mut table = Table::new(columns);
        let is_out = |at: &usize| choice.verdicts[*at].refusal == Some(NodeRefusal::OutOfReach);
        let (out, tried): (Vec<usize>, Vec<usize>) =
            by_worth(self.fleet, choice).into_iter().partition(is_out);
        for at in tried {
            let verdict = &choice.verdicts[at];
            let cells = match verdict.refusal {
                Some(why) => ["-".to_owned(), self.refusal(why), "-".to_owned(), String::new()],
                None => {
                    let customer = if verdict.passed { number(verdict.customer) } else { "-".to_owned() };
                    let wishes = if verdict.passed { terms(&verdict.terms[1]) } else { String::new() };
                    [number(verdict.system), terms(&verdict.terms[0]), customer, wishes]
                }
            };
            table.push(std::iter::once(self.node(at)).chain(cells).collect());
        }
        let mut lines = table.trimmed_lines(" ");
        if !out.is_empty() {
            lines.push(format!("  Out of its reach: {}", counted(out.len(), "node")));
        }
        lines
    }

    fn refusal(&self, why: NodeRefusal) -> String {
        let name = |tag| shown_name(self.fleet.tag_table.name(tag));
        match why {
            NodeRefusal::NotRunning => "does not run".to_owned(),
            NodeRefusal::Promised { free, needed } => {
                format!("memory: {} MiB can be promised, more than {} are needed", number(free), needed.0)
            }
            NodeRefusal::Measured { free, needed } => {
                format!("memory: {} MiB are free, more than {} are needed", free.0, needed.0)
            }
            NodeRefusal::DiskElsewhere => "its first disk is elsewhere".to_owned(),
            NodeRefusal::NoPlace => "Ganeti's own rules leave no place there".to_owned(),
            NodeRefusal::OutOfReach => "it cannot be there".to_owned(),
            NodeRefusal::Excluded(tag) => {
                format!("a machine runs there that is kept apart from it, by {}", name(tag))
            }
            NodeRefusal::Forbidden(rule) => format!("{} forbids it", name(rule)),
            NodeRefusal::Alone(mark) => {
                format!("nothing runs there that it has to be with, by {}", name(mark))
            }
        }
    }

    fn verified(&self, misplaced: &[Misplaced], asked: usize) -> Vec<String> {
        if misplaced.is_empty() {
            return vec![format!("All of the {} would be started where they run", counted(asked, "machine"))];
        }
        let mut lines = vec![format!(
            "{} of the {} would not be started where they run:",
            misplaced.len(),
            counted(asked, "machine")
        )];
        let mut table = Table::new([
            ("Machine", Align::Left),
            ("Runs on", Align::Left),
            ("Today", Align::Left),
            ("System", Align::Right),
            ("Customer", Align::Right),
        ]);
        for of in misplaced {
            let today = of.node.map_or("nowhere".to_owned(), |node| self.node(node));
            let gain =
                |part: fn((f64, f64)) -> f64| of.gain.map_or("-".to_owned(), |gain| signed(part(gain)));
            let cells = [
                shown_name(&self.fleet.machines[of.machine].name),
                self.node(of.at),
                today,
                gain(|gain| gain.0),
                gain(|gain| gain.1),
            ];
            table.push(cells.to_vec());
        }
        lines.extend(table.trimmed_lines(" "));
        lines
    }

    /// The same as a document.
    pub(crate) fn document(&self) -> AffinityDocument<'_> {
        let choices = self.choices.iter().map(|choice| self.choice_view(choice));
        let misplaced = self.misplaced.map(|all| all.iter().map(|of| self.misplaced_view(of)).collect());
        AffinityDocument {
            schema: SCHEMA,
            generator: Generator::this(),
            machines: choices.collect(),
            misplaced,
        }
    }

    fn choice_view<'s>(&'s self, choice: &'s MachineChoice) -> ChoiceView<'s> {
        let nodes = choice.verdicts.iter().enumerate().map(|(at, verdict)| VerdictView {
            node: &self.fleet.nodes[at].name,
            refused: verdict.refusal.map(|why| self.refusal(why)),
            passed: verdict.passed,
            system: verdict.refusal.is_none().then(|| rounded(verdict.system)),
            customer: verdict.refusal.is_none().then(|| rounded(verdict.customer)),
            system_terms: verdict.terms[0].iter().map(TermView::of).collect(),
            customer_terms: verdict.terms[1].iter().map(TermView::of).collect(),
        });
        ChoiceView {
            name: &self.fleet.machines[choice.machine].name,
            node: choice.node.map(|at| self.fleet.nodes[at].name.as_str()),
            round: choice.round,
            threshold: choice.round.map(|round| self.fleet.options.threshold(round)),
            nodes: nodes.collect(),
            keys: KeysView {
                system: choice.keys.system.iter().map(KeyView::of).collect(),
                customer: choice.keys.customer.iter().map(KeyView::of).collect(),
            },
            sticky: choice.sticky.iter().map(|key| key.name.as_str()).collect(),
        }
    }

    fn misplaced_view<'s>(&'s self, of: &'s Misplaced) -> MisplacedView<'s> {
        MisplacedView {
            name: &self.fleet.machines[of.machine].name,
            runs_on: &self.fleet.nodes[of.at].name,
            today: of.node.map(|node| self.fleet.nodes[node].name.as_str()),
            system_gain: of.gain.map(|gain| rounded(gain.0)),
            customer_gain: of.gain.map(|gain| rounded(gain.1)),
        }
    }
}

pub(crate) fn choice_lines(fleet: &Fleet, choice: &MachineChoice) -> Vec<String> {
    let of = AffinityResult { fleet, choices: &[], misplaced: None };
    std::iter::once(of.head(choice)).chain(of.table(choice)).collect()
}

/// The document about choices.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct AffinityDocument<'a> {
    schema: &'static str,
    generator: Generator,
    machines: Vec<ChoiceView<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    misplaced: Option<Vec<MisplacedView<'a>>>,
}

#[derive(Debug, Clone, Serialize)]
struct ChoiceView<'a> {
    name: &'a str,
    node: Option<&'a str>,
    round: Option<u32>,
    threshold: Option<f64>,
    nodes: Vec<VerdictView<'a>>,
    keys: KeysView<'a>,
    sticky: Vec<&'a str>,
}

#[derive(Debug, Clone, Serialize)]
struct VerdictView<'a> {
    node: &'a str,
    refused: Option<String>,
    passed: bool,
    system: Option<f64>,
    customer: Option<f64>,
    system_terms: Vec<TermView<'a>>,
    customer_terms: Vec<TermView<'a>>,
}

#[derive(Debug, Clone, Serialize)]
struct TermView<'a> {
    key: &'a str,
    value: f64,
    count: u32,
    worth: f64,
}

#[derive(Debug, Clone, Serialize)]
struct KeysView<'a> {
    system: Vec<KeyView<'a>>,
    customer: Vec<KeyView<'a>>,
}

#[derive(Debug, Clone, Serialize)]
struct KeyView<'a> {
    key: &'a str,
    value: f64,
    weight: f64,
    level: &'static str,
    owner: &'static str,
}

#[derive(Debug, Clone, Serialize)]
struct MisplacedView<'a> {
    name: &'a str,
    runs_on: &'a str,
    today: Option<&'a str>,
    system_gain: Option<f64>,
    customer_gain: Option<f64>,
}

impl TermView<'_> {
    fn of(term: &KeyTerm) -> TermView<'_> {
        TermView { key: &term.name, value: term.value, count: term.count, worth: rounded(term.worth) }
    }
}

impl KeyView<'_> {
    fn of(key: &CompiledKey) -> KeyView<'_> {
        let (level, owner) = (key.level.as_str(), key.owner.as_str());
        KeyView { key: &key.name, value: key.value, weight: key.weight, level, owner }
    }
}

fn terms(terms: &[KeyTerm]) -> String {
    let shown = terms.iter().filter(|term| term.worth != 0.0).map(|term| {
        let count = if term.count > 1 { format!("{} x ", term.count) } else { String::new() };
        format!("{count}{}={}: {}", shown_name(&term.name), number(term.value), number(term.worth))
    });
    shown.collect::<Vec<_>>().join(", ")
}

fn rounded(number: f64) -> f64 {
    // Adding 0 drops the sign of a zero.
    (number * 1e9).round() / 1e9 + 0.0
}

fn number(number: f64) -> String {
    rounded(number).to_string()
}

fn signed(of: f64) -> String {
    if rounded(of) > 0.0 { format!("+{}", number(of)) } else { number(of) }
}
