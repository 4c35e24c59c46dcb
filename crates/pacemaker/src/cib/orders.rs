//! Reads ordering constraints.

use roxmltree::Node;

use super::super::index::ResourceIdx;
use super::super::number::is_true;
use super::super::score::AllocationScore;
use super::super::working_set::{
    ChoiceOrder, OrderStrength, OrderedPair, OrderedTask, OrderedTasks, StartOrder,
};
use super::Reader;
use super::document::{children, id, required, wrong};
use super::sets::is_sequential;
use htools_ganeti::input::error::Result;

/// Reason why an order is not supported of which one of several is enough.
const CHOICE_OF_OTHERS: &str = "an order of other actions than starts, of which some are enough";

impl<'a, 'i> Reader<'a, 'i> {
    pub(super) fn read_orders(&mut self) -> Result<()> {
        let Some(section) = self.section("constraints") else { return Ok(()) };
        for constraint in children(section, "rsc_order") {
            if let Some(reason) = unsupported_reason(constraint) {
                self.report_unsupported(constraint, reason);
                continue;
            }
            let sets: Vec<Node<'a, 'i>> = children(constraint, "resource_set").collect();
            if sets.is_empty() {
                let name = |attribute| required(self.source, constraint, attribute);
                let (first, then) = (name("first")?, name("then")?);
                let tasks =
                    named_tasks(constraint.attribute("first-action"), constraint.attribute("then-action"));
                let reverses = OrderedTasks { first: OrderedTask::Demote, then: OrderedTask::Promote };
                if first == then && tasks == reverses {
                    // Every clone is demoted before it is promoted.
                    continue;
                }
                if first == then {
                    return Err(wrong(self.source, constraint, "the resource is ordered after itself"));
                }
                let (first, then) = (self.named(constraint, first)?, self.named(constraint, then)?);
                for first in &first.all {
                    then.all.iter().for_each(|then| self.order(constraint, *first, *then, tasks));
                }
            }
            self.order_sets(constraint, &sets)?;
        }
        Ok(())
    }

    /// Orders the members of each set, and each set before the next one. Pacemaker quirk: the first and last members
    /// stand for a set that is explicitly, and not just by default, sequential.
    fn order_sets(&mut self, constraint: Node<'a, 'i>, sets: &[Node<'a, 'i>]) -> Result<()> {
        let mut before: Option<(Node<'a, 'i>, Vec<ResourceIdx>)> = None;
        for set in sets {
            let members = self.members_of_set(constraint, *set)?;
            self.order_members(constraint, *set, &members);
            if let Some((earlier, firsts)) = before {
                let lasts = standing_for_all(earlier, &firsts, <[ResourceIdx]>::last);
                let beginners = standing_for_all(*set, &members, <[ResourceIdx]>::first);
                let pairs = lasts.iter().flat_map(|first| {
                    beginners.iter().map(|then| OrderedPair { first: *first, then: *then })
                });
                if is_choice(earlier) {
                    let is_other =
                        |set: Node<'a, 'i>| set.attribute("action").is_some_and(|task| task != "start");
                    if is_other(earlier) || is_other(*set) {
                        self.report_unsupported(constraint, CHOICE_OF_OTHERS);
                    }
                    self.choose(constraint, earlier, &firsts, &members, pairs.collect());
                } else {
                    let task = |set: Node<'a, 'i>| Some(set.attribute("action").unwrap_or("start"));
                    let tasks = named_tasks(task(earlier), task(*set));
                    pairs.for_each(|pair| self.order(constraint, pair.first, pair.then, tasks));
                }
            }
            before = Some((*set, members));
        }
        Ok(())
    }

    /// Starts the members of a set after some of the one before it.
    fn choose(
        &mut self,
        constraint: Node<'a, 'i>,
        earlier: Node<'a, 'i>,
        firsts: &[ResourceIdx],
        dependents: &[ResourceIdx],
        pairs: Vec<OrderedPair>,
    ) {
        if firsts.is_empty() || dependents.is_empty() {
            return;
        }
        let strength = strength(constraint);
        self.set.choices.push(ChoiceOrder {
            id: id(constraint).to_owned(),
            mark: format!("one-or-more:{}", id(earlier)),
            firsts: firsts.to_vec(),
            task: OrderedTask::Start,
            enough: 1,
            dependents: dependents.to_vec(),
            strength,
            stops: if is_symmetrical(constraint, strength) { pairs } else { Vec::new() },
        });
    }

    fn order_members(&mut self, constraint: Node<'a, 'i>, set: Node<'a, 'i>, members: &[ResourceIdx]) {
        let is_serial = strength(constraint) == OrderStrength::Serialize;
        let tasks = named_tasks(set.attribute("action"), None);
        for (at, then) in members.iter().enumerate() {
            let from = match (is_serial, is_sequential(set)) {
                (true, _) => 0,
                (false, true) => at.saturating_sub(1),
                (false, false) => at,
            };
            members[from..at].iter().for_each(|first| self.order(constraint, *first, *then, tasks));
        }
    }

    fn order(
        &mut self,
        constraint: Node<'a, 'i>,
        first: ResourceIdx,
        then: ResourceIdx,
        tasks: OrderedTasks,
    ) {
        let strength = strength(constraint);
        let symmetrical = is_symmetrical(constraint, strength);
        let id = id(constraint).to_owned();
        let one_of_a_clone = is_choice(constraint) && self.set.resource(first).is_clone();
        if let Some(enough) = self.enough.get(&first).copied().or(one_of_a_clone.then_some(1)) {
            let is_promotion = tasks.first == OrderedTask::Promote;
            let has_roles = !is_promotion || self.set.resource(first).promotion.is_some();
            if tasks.then != OrderedTask::Start
                || !matches!(tasks.first, OrderedTask::Start | OrderedTask::Promote)
                || !has_roles
            {
                return self.report_unsupported(constraint, CHOICE_OF_OTHERS);
            }
            self.set.choices.push(ChoiceOrder {
                mark: format!("clone-one-or-more:{id}"),
                id,
                firsts: self.set.resource(first).members.clone(),
                task: tasks.first,
                enough,
                dependents: vec![then],
                strength,
                stops: symmetrical.then_some(OrderedPair { first, then }).into_iter().collect(),
            });
            return;
        }
        let has_roles =
            |resource: ResourceIdx| self.set.resource(self.set.with_roles(resource)).promotion.is_some();
        let lacks_role = |resource, task| {
            matches!(task, OrderedTask::Promote | OrderedTask::Demote) && !has_roles(resource)
        };
        if lacks_role(first, tasks.first) || lacks_role(then, tasks.then) {
            return self.report_unsupported(constraint, "an order of promotions of a resource without roles");
        }
        let is_clone = |resource: ResourceIdx| self.set.resource(resource).is_clone();
        let of_instances = match (tasks.first, tasks.then) {
            (OrderedTask::Demote, _) => is_clone(then),
            (OrderedTask::Start, OrderedTask::Stop) => is_clone(first) || is_clone(then),
            _ => false,
        };
        if strength == OrderStrength::Mandatory && (of_instances || !are_followed(tasks, symmetrical)) {
            let reason = "a mandatory order of actions that are not followed in this combination";
            return self.report_unsupported(constraint, reason);
        }
        self.set.orders.push(StartOrder { id, first, then, tasks, strength, symmetrical });
    }

    /// Reports constraints of other kinds as unsupported.
    pub(super) fn name_other_constraints(&mut self) {
        let Some(section) = self.section("constraints") else { return };
        for constraint in section.children().filter(Node::is_element) {
            if !KNOWN.contains(&constraint.tag_name().name()) {
                self.report_unsupported(constraint, "a constraint of another kind");
            }
        }
    }
}

/// The actions of an order by their names. Without one for the second side, it is that of the first.
fn named_tasks(first: Option<&str>, then: Option<&str>) -> OrderedTasks {
    let parse = |name: &str| name.parse().unwrap_or(OrderedTask::Start);
    let first = first.map_or(OrderedTask::Start, parse);
    OrderedTasks { first, then: then.map_or(first, parse) }
}

/// Returns true if the effects of a mandatory order are known.
fn are_followed(tasks: OrderedTasks, symmetrical: bool) -> bool {
    use OrderedTask::{Demote, Promote, Start, Stop};
    match (tasks.first, tasks.then) {
        (Start | Promote, Start | Promote) | (Stop, Stop | Start) => true,
        (Demote, Stop | Demote) | (Start, Stop) => !symmetrical,
        _ => false,
    }
}

/// The kinds of constraints that are read.
const KNOWN: [&str; 4] = ["rsc_location", "rsc_colocation", "rsc_order", "rsc_ticket"];

/// Strength of an order: by its kind or, in older documents, by its score.
fn strength(constraint: Node<'_, '_>) -> OrderStrength {
    match constraint.attribute("kind") {
        Some(kind) if kind.eq_ignore_ascii_case("optional") => OrderStrength::Optional,
        Some(kind) if kind.eq_ignore_ascii_case("serialize") => OrderStrength::Serialize,
        Some(_) => OrderStrength::Mandatory,
        None => match constraint.attribute("score").and_then(AllocationScore::parse) {
            Some(score) if score <= AllocationScore::ZERO => OrderStrength::Optional,
            _ => OrderStrength::Mandatory,
        },
    }
}

/// Returns true if the resources stop in the opposite order.
fn is_symmetrical(constraint: Node<'_, '_>, strength: OrderStrength) -> bool {
    constraint.attribute("symmetrical").map_or(strength != OrderStrength::Serialize, is_true)
}

/// Returns true if one member of a set, or one instance of a clone, is enough for resources that come after it.
fn is_choice(set: Node<'_, '_>) -> bool {
    set.attribute("require-all").is_some_and(|all| !is_true(all))
}

/// The members of a set that stand for all of it.
fn standing_for_all<'m>(
    set: Node<'_, '_>,
    members: &'m [ResourceIdx],
    one: impl Fn(&'m [ResourceIdx]) -> Option<&'m ResourceIdx>,
) -> &'m [ResourceIdx] {
    let is_said = set.attribute("sequential").is_some_and(is_true);
    match one(members).filter(|_| is_said) {
        Some(one) => std::slice::from_ref(one),
        None => members,
    }
}

/// Reason why an order is not supported, if any.
fn unsupported_reason(constraint: Node<'_, '_>) -> Option<&'static str> {
    let is_other = |action: &str| action != "start" && action.parse::<OrderedTask>().is_err();
    let action = |name| constraint.attribute(name).is_some_and(is_other);
    if action("first-action") || action("then-action") {
        return Some("an order of other actions than starts");
    }
    children(constraint, "resource_set").find_map(|set| {
        if set.attribute("action").is_some_and(is_other) {
            return Some("an order of other actions than starts");
        }
        set.has_attribute("id-ref").then_some("a set by reference (id-ref)")
    })
}
