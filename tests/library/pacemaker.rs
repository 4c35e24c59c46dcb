//! Pacemaker's own answers: the output of crm_simulate for the clusters in tests/fixtures/pacemaker.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use htools::pacemaker::cib::GuestReading;
use htools::pacemaker::{
    ResourceChange, ResourceChanges, UnsearchedNode, WaitReason, WorkingSet, cib, place,
};
use htools::report::pacemaker::crm_simulate;

/// Paths of the CIBs: whole clusters, and one for each rule.
pub(crate) fn clusters() -> Vec<PathBuf> {
    let (whole, rules) = (documents("tests/fixtures/pacemaker"), documents("tests/fixtures/pacemaker/rules"));
    assert_eq!((whole.len(), rules.len()), (41, 52));
    whole.into_iter().chain(rules).collect()
}

/// Clusters with failed or unfinished operations.
pub(crate) fn with_failures() -> BTreeSet<PathBuf> {
    recorded("failures", 55)
}

/// Clusters in which resources run on several nodes.
pub(crate) fn on_several_nodes() -> BTreeSet<PathBuf> {
    recorded("several", 23)
}

/// Clusters in which lost nodes are fenced while some actions do not wait for that, or nodes are unfenced.
pub(crate) fn with_fencing() -> BTreeSet<PathBuf> {
    recorded("fencing", 29)
}

/// Clusters with clones.
pub(crate) fn with_clones() -> BTreeSet<PathBuf> {
    recorded("clones", 56)
}

/// Clusters with promotable clones, and with orders of other actions than starts.
pub(crate) fn promoted() -> BTreeSet<PathBuf> {
    recorded("promoted", 78)
}

/// Clusters with tickets.
pub(crate) fn with_tickets() -> BTreeSet<PathBuf> {
    recorded("tickets", 16)
}

/// Clusters whose CIBs use references, other units, or one entry for several objects.
pub(crate) fn in_other_words() -> BTreeSet<PathBuf> {
    recorded("notation", 17)
}

/// Clusters whose configuration has changed since their resources were started.
pub(crate) fn changed() -> BTreeSet<PathBuf> {
    recorded("changed", 48)
}

/// Clusters with guest nodes.
pub(crate) fn with_guests() -> BTreeSet<PathBuf> {
    recorded("guests", 105)
}

/// Clusters with remote nodes. Only the consequences for places and changes are known.
pub(crate) fn with_remote_nodes() -> BTreeSet<PathBuf> {
    recorded("remotes", 55)
}

/// Clusters with remote nodes and a recorded order of actions.
pub(crate) fn with_searched_remote_nodes() -> BTreeSet<PathBuf> {
    recorded("remotes-in-order", 23)
}

/// Clusters with bundles.
pub(crate) fn with_bundles() -> BTreeSet<PathBuf> {
    recorded("bundles", 45)
}

/// Clusters with bundles beside other nodes than members, lost nodes, and constraints that name parts of bundles.
pub(crate) fn with_bundles_beside_others() -> BTreeSet<PathBuf> {
    recorded("bundles-beside", 20)
}

/// Clusters with bundles whose order of actions follows rules of its own.
pub(crate) fn with_bundles_in_order() -> BTreeSet<PathBuf> {
    recorded("bundles-in-order", 33)
}

/// Clusters with resources that run in others.
pub(crate) fn with_containers() -> BTreeSet<PathBuf> {
    recorded("containers", 3)
}

/// A cluster read with its guest and remote nodes as hosts.
fn with_guests_read(name: &str) -> WorkingSet {
    let path = |kind| format!("tests/fixtures/pacemaker/{kind}/{name}.xml");
    let text = fs::read_to_string(path("guests")).or_else(|_| fs::read_to_string(path("remotes"))).unwrap();
    cib::read_with(text.as_bytes(), name, GuestReading::Followed).unwrap()
}

/// The recorded clusters of a kind, of which there are `count`.
pub fn recorded(kind: &str, count: usize) -> BTreeSet<PathBuf> {
    let clusters = documents(&format!("tests/fixtures/pacemaker/{kind}"));
    assert_eq!(clusters.len(), count, "{kind}");
    clusters
}

/// The documents in a directory.
/// The recorded clusters with guest nodes, remote nodes and bundles.
pub(crate) fn beside_members() -> BTreeSet<PathBuf> {
    let kinds = [
        with_guests(),
        with_remote_nodes(),
        with_searched_remote_nodes(),
        with_bundles(),
        with_bundles_beside_others(),
        with_bundles_in_order(),
    ];
    kinds.into_iter().flatten().collect()
}

fn documents(directory: &str) -> BTreeSet<PathBuf> {
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|file| file.extension().is_some_and(|end| end == "xml")).collect()
}

#[test]
fn same_scores_same_places_same_order() {
    let others = [
        with_clones(),
        with_failures(),
        with_fencing(),
        on_several_nodes(),
        in_other_words(),
        with_tickets(),
        changed(),
        beside_members(),
        with_containers(),
        promoted(),
    ];
    for file in clusters().into_iter().chain(others.into_iter().flatten()) {
        let name = file.display().to_string();
        let text = fs::read_to_string(&file).unwrap();
        let set = cib::read_with(text.as_bytes(), &name, GuestReading::Followed).unwrap();
        assert_eq!(set.unsupported, [], "{name}");
        let allocation = place(&set, set.strategy()).unwrap();
        let answer = fs::read_to_string(file.with_extension("txt")).unwrap();
        let is_answer = |line: &&str| {
            let begins = |beginning: &&str| line.starts_with(beginning);
            ["Original: ", "Remaining: ", "pcmk__"].iter().any(begins)
                || line.contains(" promotion score on ")
        };
        let theirs: Vec<&str> = answer.lines().filter(is_answer).collect();
        assert!(theirs.len() > 3, "{name}");
        let mut ours = Vec::new();
        let keep = |line: &str| -> Result<(), std::convert::Infallible> {
            ours.push(line.to_owned());
            Ok(())
        };
        crm_simulate::each_line(&set, &allocation, keep).unwrap();
        assert_eq!(ours, theirs, "{name}");
        assert!(allocation.records.iter().all(|record| !record.order_dependent), "{name}");
    }
}

/// Some properties have had new names since Pacemaker 3.
#[test]
fn newer_names_of_options_mean_the_same() {
    let names = [
        ("stonith-enabled", "fencing-enabled"),
        ("stonith-action", "fencing-action"),
        ("stop-orphan-resources", "stop-removed-resources"),
    ];
    let mut renamed = [0; 3];
    for file in clusters().into_iter().chain(with_failures()).chain(changed()) {
        let name = file.display().to_string();
        let text = fs::read_to_string(&file).unwrap();
        let mut newer = text.clone();
        for (count, (older, new)) in renamed.iter_mut().zip(names) {
            newer = newer.replace(&format!(r#"name="{older}""#), &format!(r#"name="{new}""#));
            *count += usize::from(newer.contains(&format!(r#"name="{new}""#)));
        }
        let [older, newer] = [&text, &newer].map(|text| format!("{:?}", cib::parse(text, &name).unwrap()));
        assert_eq!(older, newer, "{name}");
    }
    assert!(renamed[0] > 20 && renamed[1..].iter().all(|count| *count > 0), "{renamed:?}");
}

/// Since 2.1.6, Pacemaker reads the utilization of nodes from the status.
#[test]
fn utilization_in_the_status_counts_in_newer_clusters() {
    let utilization = |of: &str, cpu: usize| {
        format!(r#"<utilization id="{of}"><nvpair id="{of}1" name="cpu" value="{cpu}"/></utilization>"#)
    };
    for (features, cpu, ignored) in [("3.16.1", 1, 1), ("3.17.0", 8, 0)] {
        let document = format!(
            r#"<cib have-quorum="1" crm_feature_set="{features}"><configuration><crm_config/><nodes><node id="1" uname="n">{}</node></nodes><resources/></configuration><status><node_state id="1" uname="n" in_ccm="true" crmd="online" join="member" expected="member"><transient_attributes id="1">{}</transient_attributes></node_state></status></cib>"#,
            utilization("u", 1),
            utilization("t", 8)
        );
        let set = cib::parse(&document, "t").unwrap();
        let capacity = set.hosts[0].capacity.iter().map(|(_, amount)| amount).collect::<Vec<_>>();
        assert_eq!((capacity, set.ignored_utilization.len()), (vec![cpu], ignored), "{features}");
    }
}

/// Change of a resource in a cluster with guest nodes, in words, and the machine that caused it.
fn change(name: &str, resource: &str) -> (String, Option<String>) {
    let set = with_guests_read(name);
    let placed = place(&set, set.strategy()).unwrap();
    let changes = ResourceChanges::of(&set, set.strategy(), &placed);
    let at = set.resource_indices().find(|one| set.resource(*one).id == resource).unwrap();
    let host = |host| set.host(host).name.clone();
    let text = match changes.get(at) {
        ResourceChange::Move { from, to } => format!("moves from {} to {}", host(from), host(to)),
        ResourceChange::Migrate { from, to } => format!("migrates from {} to {}", host(from), host(to)),
        ResourceChange::Restart(on) => format!("restarts on {}", host(on)),
        ResourceChange::Stay(on) => format!("stays on {}", host(on)),
        ResourceChange::Start(on) => format!("starts on {}", host(on)),
        ResourceChange::Stop(on) => format!("stops on {}", host(on)),
        ResourceChange::Held(on) => format!("is left on {}", host(on)),
        ResourceChange::Blocked(on) => format!("cannot start on {}", host(on)),
        other => format!("{other:?}"),
    };
    let cause = match changes.causes[at.get()] {
        Some(WaitReason::Machine(cause) | WaitReason::Connection(cause)) => {
            Some(set.resource(cause).id.clone())
        }
        _ => None,
    };
    (text, cause)
}

#[test]
fn what_runs_in_a_machine_goes_with_it() {
    for (cluster, resource, text, cause) in [
        ("machine-moves", "vm", "moves from n1 to n2", None),
        ("machine-moves", "g1", "moves from n1 to n2", None),
        ("machine-moves", "A", "restarts on g1", Some("vm")),
        ("machine-migrates", "vm", "migrates from n1 to n2", None),
        ("machine-migrates", "A", "stays on g1", None),
        ("machine-to-be-stopped", "A", "moves from g1 to n1", None),
        ("comes-up", "A", "starts on g1", None),
        ("machine-cannot-start", "A", "cannot start on g1", Some("vm")),
        // Fencing a guest node means restarting its machine.
        ("could-not-be-stopped-there", "vm", "restarts on n1", None),
        ("machine-did-not-answer", "B", "restarts on lxc1", Some("container1")),
        ("lost-machine-does-not-migrate", "vm", "moves from n1 to n2", None),
        ("lost-machine-does-not-migrate", "A", "restarts on g1", Some("vm")),
        ("lost-machine-without-others-migrates", "vm", "migrates from n1 to n2", None),
        // If there is no other node, Pacemaker chooses guest nodes in standby, and those that never appear.
        ("taken-in-standby", "A", "stays on g1", None),
        ("wanted-before-its-connection", "A", "cannot start on g1", Some("vm")),
        ("not-kept-where-machine-stops", "A", "moves from g2 to g1", None),
        ("sent-where-no-machine-is", "A", "migrates from n2 to g1", None),
        ("sent-where-no-machine-is", "B", "stops on n2", Some("vm")),
        ("blocked-where-machine-restarts", "A", "is left on g1", Some("vm")),
        // A resource that nobody can stop does not block a group, though the group would be stopped after it.
        ("group-before-blocked", "vm", "moves from n2 to n1", None),
        ("group-before-blocked", "q", "moves from g1 to n1", None),
    ] {
        assert_eq!(change(cluster, resource), (text.to_owned(), cause.map(str::to_owned)), "{cluster}");
    }
}

#[test]
fn remote_nodes_go_with_their_connections() {
    for (cluster, resource, text, cause) in [
        ("connected", "a", "stays on r1", None),
        ("reconnects-before-fencing", "r1", "starts on n1", None),
        ("reconnects-before-fencing", "a", "stays on r1", None),
        ("not-reconnected-is-fenced", "a", "moves from r1 to n1", None),
        ("failed-connection-fences", "a", "moves from r1 to n2", None),
        ("failed-connection-without-fencing", "a", "stays on r1", None),
        ("failed-connection-waits", "r1", "stops on n1", None),
        ("failed-connection-waits-without-fencing", "a", "is left on r1", Some("r1")),
        ("connection-on-lost-member", "r1", "moves from n1 to n2", None),
        ("connection-on-lost-member", "a", "stays on r1", None),
        ("connection-is-migrated", "r1", "migrates from n1 to n2", None),
        ("connection-is-moved", "a", "stays on r1", None),
        ("both-migrate", "a", "migrates from r1 to n2", None),
        ("connection-stops", "a", "moves from r1 to n1", Some("r1")),
        ("no-migration-off-a-moving-connection", "a", "moves from r1 to n2", Some("r1")),
        ("migration-to-remote", "a", "migrates from n1 to r1", None),
        ("blocked-there-holds-connection", "r1", "is left on n1", Some("a")),
    ] {
        assert_eq!(change(cluster, resource), (text.to_owned(), cause.map(str::to_owned)), "{cluster}");
    }
}

/// Pacemaker looks for resources on remote nodes before it does anything else with them.
#[test]
fn remote_nodes_are_searched_first() {
    for (cluster, unsearched) in [("never-connected", Some(("r1", "a"))), ("connected", Some(("r1", "b")))] {
        let set = with_guests_read(cluster);
        let found = set.unsearched().map(|found| {
            let UnsearchedNode { node, resource } = found;
            (set.host(node).name.as_str(), set.resource(resource).id.as_str())
        });
        assert_eq!(found, unsearched, "{cluster}");
    }
}

#[test]
fn guest_nodes_are_outside_beside_unsupported_elements() {
    let text = fs::read_to_string("tests/fixtures/pacemaker/guests/runs.xml").unwrap();
    assert!(cib::parse(&text, "runs").unwrap().has_guests());
    // With `IfAllIsKnown`, another unsupported feature (here a bundle) leaves the guest nodes outside, too.
    let odd = text.replacen("<resources>", r#"<resources><bundle id="b"/>"#, 1);
    let read = |guests| cib::read_with(odd.as_bytes(), "odd", guests).unwrap();
    assert_eq!(read(GuestReading::Followed).unsupported.len(), 1);
    assert_eq!(read(GuestReading::IfAllIsKnown).unsupported.len(), 3);
    assert!(!read(GuestReading::IfAllIsKnown).has_guests());
    let all = cib::read_with(text.as_bytes(), "runs", GuestReading::IfAllIsKnown).unwrap();
    assert!(all.has_guests() && all.unsupported.is_empty());
}

/// Machines with unclear consequences are named.
#[test]
fn guest_nodes_in_unclear_states_are_outside() {
    let text = fs::read_to_string("tests/fixtures/pacemaker/guests/runs.xml").unwrap();
    let remote = r#"name="remote-node" value="g1"/>"#;
    let unmanaged = format!(r#"{remote}<nvpair id="um" name="is-managed" value="false"/>"#);
    let failed_monitor = r#"<lrm_rsc_op id="f" operation="monitor" call-id="9" rc-code="1" op-status="0" interval="10000" transition-key="1:9:0:x"/></lrm_resource>"#;
    let failed_stop = r#"<lrm_rsc_op id="s" operation="stop" call-id="9" rc-code="1" op-status="0" interval="0" transition-key="1:9:0:x"/></lrm_resource>"#;
    let with = |failed: &str, resource: &str| {
        let at = text.find(&format!(r#"<lrm_resource id="{resource}""#)).unwrap();
        let end = at + text[at..].find("</lrm_resource>").unwrap();
        let rest = end + "</lrm_resource>".len();
        format!("{}{failed}{}", &text[..end], &text[rest..])
    };
    let after = |resource: &str| with(failed_stop, resource);
    let failed = with(failed_monitor, "vm").replacen(remote, &unmanaged, 1);
    let promoted = "tests/fixtures/pacemaker/guests/not-promoted-before-the-machine.xml";
    let promoted = fs::read_to_string(promoted).unwrap().replacen(remote, &unmanaged, 1);
    for (document, reason) in [
        (promoted, "the machine of a guest node with a promoted resource, which is not managed"),
        (failed, "the machine of a guest node that failed and is not managed"),
        (after("vm"), "the machine of a guest node that nobody touches before somebody has looked at it"),
        (after("g1"), "the machine of a guest node to which the connection could not be stopped"),
        (text.replacen(remote, &remote.replace("g1", "n2"), 1), "it makes a guest node"),
        (text.replacen(remote, &remote.replace("g1", "B"), 1), "it makes a guest node"),
    ] {
        let set = cib::read_with(document.as_bytes(), "t", GuestReading::Followed).unwrap();
        let reasons: Vec<&str> = set.unsupported.iter().map(|of| of.reason.as_str()).collect();
        assert!(reasons.contains(&reason), "{reason}: {reasons:?}");
    }
}

/// Colocations of roles whose effect is not known are refused by name.
#[test]
fn colocations_of_roles_that_are_outside() {
    let clone = |id: &str| {
        format!(
            r#"<clone id="{id}"><meta_attributes id="{id}-m"><nvpair id="{id}-p" name="promotable" value="true"/></meta_attributes>
            <primitive id="p{id}" class="ocf" provider="pacemaker" type="Stateful"/></clone>"#
        )
    };
    let reasons = |dependent: &str, primary: &str, score: &str| {
        let text = format!(
            r#"<cib validate-with="pacemaker-3.9"><configuration><crm_config/><nodes><node id="1" uname="n1"/></nodes>
            <resources>{}{}</resources><constraints><rsc_colocation id="k" rsc="a" with-rsc="b" score="{score}"
            rsc-role="{dependent}" with-rsc-role="{primary}"/></constraints></configuration><status/></cib>"#,
            clone("a"),
            clone("b")
        );
        let set = cib::read_with(text.as_bytes(), "t", GuestReading::Followed).unwrap();
        set.unsupported.into_iter().map(|of| of.reason).collect::<Vec<_>>()
    };
    let unpromoted = "a mandatory colocation of unpromoted instances with unpromoted ones";
    for score in ["INFINITY", "-INFINITY"] {
        assert_eq!(reasons("Unpromoted", "Slave", score), [unpromoted]);
        assert!(reasons("Promoted", "Master", score).is_empty());
    }
    assert!(reasons("Unpromoted", "Unpromoted", "100").is_empty());
    assert_eq!(reasons("Promoted", "Unpromoted", "100"), ["a colocation of two different roles"]);
}
