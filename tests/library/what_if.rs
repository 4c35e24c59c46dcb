//! Consequences of losing nodes, and room for more resources: the same as for a CIB that contains the change.

use std::fs;

use htools::pacemaker::fit::FitQuestion;
use htools::pacemaker::loss::losses;
use htools::pacemaker::{
    Capacities, HostIdx, ResourceChange, ResourceChanges, Strategy, WorkingSet, cib, place,
};
use roxmltree::Document;

use super::pacemaker::clusters;

/// The CIB of a cluster after the loss of nodes: they are offline, and nothing runs there.
fn without(text: &str, lost: &[&str]) -> String {
    let document = Document::parse(text).unwrap();
    let states = document.descendants().filter(|node| node.has_tag_name("node_state"));
    let mut lost: Vec<_> = states.filter(|state| lost.contains(&state.attribute("id").unwrap())).collect();
    lost.reverse();
    let mut text = text.to_owned();
    for state in lost {
        let id = state.attribute("id").unwrap();
        let name = state.attribute("uname").unwrap_or_default();
        let attributes = state.children().find(|child| child.has_tag_name("transient_attributes"));
        let attributes = attributes.map_or(String::new(), |kept| text[kept.range()].to_owned());
        let offline = format!(
            r#"<node_state id="{id}" uname="{name}" in_ccm="false" crmd="offline" join="down" expected="down">{attributes}</node_state>"#
        );
        text.replace_range(state.range(), &offline);
    }
    text
}

fn read(text: &str) -> WorkingSet {
    cib::parse(text, "made up").unwrap()
}

/// Places of all resources, in words.
fn places(set: &WorkingSet, strategy: Strategy) -> Vec<String> {
    let placed = place(set, strategy).unwrap();
    let shown = |host: Option<HostIdx>| host.map(|host| set.host(host).name.clone()).unwrap_or_default();
    let row = |one| format!("{} {}", set.resource(one).id, shown(placed.host(one)));
    set.resource_indices().map(row).collect()
}

#[test]
fn a_lost_node_is_one_that_is_offline() {
    let mut tried = 0;
    for file in clusters() {
        let text = fs::read_to_string(&file).unwrap();
        let set = read(&text);
        let hosts: Vec<HostIdx> = set.host_indices().collect();
        for (one, other) in hosts.iter().flat_map(|one| hosts.iter().map(move |other| (*one, *other))) {
            let ids = [one, other].map(|host| set.host(host).id.as_str());
            let (left, offline) = (set.without_hosts(&[one, other]), read(&without(&text, &ids)));
            for strategy in [Strategy::Default, Strategy::Utilization, Strategy::Balanced, Strategy::Minimal]
            {
                assert_eq!(
                    places(&left, strategy),
                    places(&offline, strategy),
                    "{}: {ids:?}, {strategy}",
                    file.display()
                );
                tried += 1;
            }
        }
    }
    assert!(tried > 400, "{tried}");
}

/// The report of resources that stay down, start elsewhere or move matches the places before and after.
#[test]
fn nothing_is_forgotten() {
    for file in clusters() {
        let set = read(&fs::read_to_string(&file).unwrap());
        let strategy = set.strategy();
        let settled = set.settled(strategy, &place(&set, strategy).unwrap());
        for loss in [1, 2].into_iter().flat_map(|at_once| losses(&settled, strategy, at_once).unwrap()) {
            let left = settled.without_hosts(&loss.hosts);
            let after = place(&left, strategy).unwrap();
            let changes = ResourceChanges::of(&left, strategy, &after);
            for resource in settled.resource_indices().filter(|one| !settled.resource(*one).is_group()) {
                let Some(was) = settled.resource(resource).active else { continue };
                let lists = [&loss.down, &loss.restarted, &loss.moved].map(|list| list.contains(&resource));
                let name = &settled.resource(resource).id;
                // A resource without a place continues where it cannot be stopped. A placed resource can still wait
                // in vain for its dependencies.
                let is_held = matches!(changes.get(resource), ResourceChange::Held(_));
                if is_held || after.host(resource).is_none() {
                    assert_eq!(lists, [!is_held, false, false], "{name}");
                } else if !lists[0] {
                    let is_lost = loss.hosts.contains(&was);
                    assert_eq!(
                        lists[1..],
                        [is_lost, !is_lost && after.host(resource) != Some(was)],
                        "{name}"
                    );
                }
            }
        }
    }
}

/// The CIB of a cluster with additional primitives of one size.
fn grown(text: &str, count: usize, amounts: &[(&str, i64)]) -> String {
    let pairs: String = amounts
        .iter()
        .enumerate()
        .map(|(at, (name, amount))| format!(r#"<nvpair id="m-{at}" name="{name}" value="{amount}"/>"#))
        .collect();
    let more: String = (0..count)
        .map(|at| {
            format!(
                r#"<primitive id="more-{at}" class="ocf" provider="heartbeat" type="Dummy">
                <meta_attributes id="more-{at}-m"><nvpair id="more-{at}-p" name="priority" value="-1000"/></meta_attributes>
                <utilization id="more-{at}-u">{pairs}</utilization></primitive>"#
            )
        })
        .collect();
    text.replacen("</resources>", &format!("{more}</resources>"), 1)
}

/// The predicted number of additional resources is placed if they are in the CIB; with one more, a resource is left
/// out.
#[test]
fn as_many_as_are_placed_when_they_are_there() {
    let mut counts = Vec::new();
    for file in clusters() {
        let text = fs::read_to_string(&file).unwrap();
        let set = read(&text);
        let strategy = set.strategy();
        let kinds: Vec<_> = set.attribute_indices().collect();
        let before = place(&set, strategy).unwrap();
        if strategy == Strategy::Default || kinds.is_empty() {
            continue;
        }
        for amount in [1, 2, 3, 700] {
            let mut size = Capacities::default();
            kinds.iter().for_each(|kind| size.set(*kind, amount));
            let named: Vec<(&str, i64)> =
                kinds.iter().map(|kind| (&*set.attributes[kind.get()], amount)).collect();
            let more = FitQuestion { size, survive: 0 }.answer(&set, strategy).unwrap();
            let left_out = |count: usize| {
                let set = read(&grown(&text, count, &named));
                let placed = place(&set, strategy).unwrap();
                placed.unplaced(&set).count() - before.unplaced(&set).count()
            };
            assert_eq!(left_out(more.count), 0, "{}: {amount}", file.display());
            assert!(left_out(more.count + 1) > 0, "{}: {amount}", file.display());
            assert_eq!(more.by_host.iter().sum::<usize>(), more.count);
            counts.push(more.count);
        }
    }
    assert!(counts.len() > 20 && counts.iter().any(|count| *count > 3), "{counts:?}");
}

/// Three nodes of four CPUs each.
fn three() -> WorkingSet {
    let pair = |name: &str, value: &str| format!(r#"<nvpair id="{name}" name="{name}" value="{value}"/>"#);
    let options = pair("stonith-enabled", "false") + &pair("placement-strategy", "utilization");
    let (mut nodes, mut states) = (String::new(), String::new());
    for id in 1..=3 {
        let cpu = format!(r#"<nvpair id="n{id}-c" name="cpu" value="4"/>"#);
        nodes +=
            &format!(r#"<node id="{id}" uname="n{id}"><utilization id="n{id}-u">{cpu}</utilization></node>"#);
        states +=
            &format!(r#"<node_state id="{id}" uname="n{id}" in_ccm="true" crmd="online" join="member"/>"#);
    }
    read(&format!(
        r#"<cib have-quorum="1"><configuration>
        <crm_config><cluster_property_set id="cib-bootstrap-options">{options}</cluster_property_set></crm_config>
        <nodes>{nodes}</nodes><resources/></configuration><status>{states}</status></cib>"#
    ))
}

#[test]
fn more_that_survive() {
    let set = three();
    let mut size = Capacities::default();
    set.attribute_indices().for_each(|kind| size.set(kind, 1));
    let strategy = set.strategy();
    for (survive, count) in [(0, 12), (1, 8), (2, 4)] {
        let more = FitQuestion { size: size.clone(), survive }.answer(&set, strategy).unwrap();
        assert_eq!((more.count, more.survives), (count, true));
    }
    // If something stays down after a loss already now, no further room is promised.
    let text = fs::read_to_string("data/pacemaker-six-nodes.xml").unwrap();
    let set = read(&text);
    let settled = set.settled(Strategy::Balanced, &place(&set, Strategy::Balanced).unwrap());
    let mut size = Capacities::default();
    set.attribute_indices().for_each(|kind| size.set(kind, 1));
    let more = FitQuestion { size, survive: 1 }.answer(&settled, Strategy::Balanced).unwrap();
    assert_eq!((more.count, more.survives), (0, false));
}
