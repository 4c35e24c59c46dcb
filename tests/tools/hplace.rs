//! hplace on CIBs that are hostile, compressed, or beyond its abilities.

use std::fs;

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use predicates::prelude::*;
use predicates::str::{contains, starts_with};

const SMALL: &str = "data/pacemaker-small.xml";

/// A run with this document on standard input.
fn hplace(words: &[&str], document: impl Into<Vec<u8>>) -> Assert {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    command.env_remove("HTOOLS").args(["hplace", "-x", "-"]).args(words).write_stdin(document).assert()
}

#[test]
fn hostile_documents_are_one_line() {
    let nested = format!("<cib>{}", "<a>".repeat(100_000));
    let many: String = (0..100_000).map(|number| format!(" a{number}='b'")).collect();
    let wide = format!("<cib{many}/>");
    let small = fs::read_to_string(SMALL).unwrap();
    let twice = small.replace("rsc-large\"", "rsc-small\"");
    let bomb = r#"<!DOCTYPE cib [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><cib>&b;</cib>"#;
    for (document, problem) in [
        (bomb, "not XML"),
        (nested.as_str(), "nested more than 200 deep"),
        (wide.as_str(), "line 1: an element has more than 200 attributes"),
        ("<cib>\0</cib>", "not XML"),
        ("", "not XML"),
        ("<nodes/>", "the root element is 'nodes', not 'cib'"),
        ("<cib/>", "there is no element 'configuration'"),
        (twice.as_str(), "there is another resource with this id"),
    ] {
        let one_line = predicate::function(|text: &str| {
            text.lines().filter(|line| !line.starts_with("Hint: ")).count() == 1
        });
        hplace(&[], document)
            .code(1)
            .stdout("")
            .stderr(starts_with("Error: ").and(contains(problem)).and(one_line));
    }
    hplace(&[], b"<cib>\xff</cib>".to_vec()).code(1).stderr(contains("not UTF-8"));
}

#[test]
fn chains_that_are_too_long_are_refused() {
    let primitives: String = (0..1500).map(|at| format!(r#"<primitive id="p{at}" type="x"/>"#)).collect();
    let colocations: String = (1..1500)
        .map(|at| {
            format!(r#"<rsc_colocation id="c{at}" rsc="p{}" with-rsc="p{at}" score="INFINITY"/>"#, at - 1)
        })
        .collect();
    let document = format!(
        r#"<cib have-quorum="1"><configuration><nodes><node id="1" uname="a"/></nodes><resources>{primitives}</resources>
        <constraints>{colocations}</constraints></configuration></cib>"#
    );
    hplace(&[], document).code(1).stderr(contains("more than 1000 resources"));
}

/// Anti-colocated, sticky resources on this number of nodes.
fn apart(resources: usize, nodes: usize) -> String {
    let hosts: String = (0..nodes).map(|at| format!(r#"<node id="{at}" uname="n{at}"/>"#)).collect();
    let states: String = (0..nodes)
        .map(|at| {
            let runs = (at..resources).step_by(nodes).map(|resource| {
                format!(r#"<lrm_resource id="p{resource}" type="x"><lrm_rsc_op operation="start" call-id="1" rc-code="0" op-status="0" transition-key="1:1:0:x" op-digest="f2317cad3d54cec5d7d7aa7d0bf35cf8"/></lrm_resource>"#)
            });
            let runs: String = runs.collect();
            format!(r#"<node_state id="{at}" uname="n{at}" in_ccm="true" crmd="online" join="member"><lrm><lrm_resources>{runs}</lrm_resources></lrm></node_state>"#)
        })
        .collect();
    let primitives: String =
        (0..resources).map(|at| format!(r#"<primitive id="p{at}" type="x"/>"#)).collect();
    let members: String = (0..resources).map(|at| format!(r#"<resource_ref id="p{at}"/>"#)).collect();
    format!(
        r#"<cib have-quorum="1"><configuration><crm_config><cluster_property_set id="o"><nvpair id="o1" name="stonith-enabled" value="false"/>
        <nvpair id="o2" name="placement-strategy" value="balanced"/></cluster_property_set></crm_config><nodes>{hosts}</nodes><resources>{primitives}</resources>
        <constraints><rsc_colocation id="c" score="-INFINITY"><resource_set id="s">{members}</resource_set></rsc_colocation></constraints>
        <rsc_defaults><meta_attributes id="d"><nvpair id="d1" name="resource-stickiness" value="7"/></meta_attributes></rsc_defaults>
        </configuration><status>{states}</status></cib>"#
    )
}

#[test]
fn many_that_keep_apart_are_placed() {
    // Path by path, these would be 2^50.
    let placed = hplace(&[], apart(50, 60)).code(0);
    placed.stdout(starts_with("Strategy balanced: 60 nodes, 50 resources\n"));
}

#[test]
fn what_is_beyond_it_is_named_and_refused_or_left() {
    let small = fs::read_to_string(SMALL).unwrap();
    let bundle =
        small.replace(r#"<primitive id="rsc-large""#, r#"<bundle id="copies"><primitive id="rsc-large""#);
    let bundle = bundle.replace("</resources>", "</bundle></resources>");
    let named = "Unsupported: bundle 'copies': a resource in containers\n";
    hplace(&[], bundle.as_str())
        .code(1)
        .stdout("")
        .stderr(starts_with(named).and(contains("--skip-unsupported")));
    let skipped = hplace(&["--skip-unsupported"], bundle.as_str()).code(0);
    skipped.stdout(starts_with("Strategy balanced: 2 nodes, 2 resources\n")).stderr(named);
}

#[test]
fn clones_in_what_is_beyond_are_named() {
    let file = "tests/fixtures/pacemaker/clones/an-instance-without-a-node.xml";
    let clones = fs::read_to_string(file).unwrap();
    // Its other instance is banned from all other nodes.
    hplace(&[], clones.as_str()).code(0).stderr("");
    let opt_in = clones.replace(
        r#"name="stonith-enabled""#,
        r#"name="symmetric-cluster" value="false"/><nvpair id="s" name="stonith-enabled""#,
    );
    hplace(&[], opt_in).code(2).stderr("");
    let unique = clones.replace("globally-unique", "x").replace(
        r#"<clone id="storage-clone">"#,
        r#"<clone id="storage-clone"><meta_attributes id="u"><nvpair id="u1" name="globally-unique" value="true"/></meta_attributes>"#,
    );
    // One that is told apart is missed where it has no place.
    hplace(&[], unique).code(2).stderr("");
    let back =
        r#"<rsc_colocation id="back" rsc="storage-clone" with-rsc="vm" score="INFINITY"/></constraints>"#;
    let circle = clones.replace("</constraints>", back);
    hplace(&[], circle.as_str()).code(0).stdout(contains("vm        -     node1 start")).stderr("");
    let circle =
        circle.replace("<clone id=\"storage-clone\">", "<clone id=\"storage-clone\"><group id=\"gr\">");
    let circle = circle.replace("</clone>", "</group></clone>");
    let named = "Unsupported: rsc_colocation 'back': a clone of groups in a circle of colocations\n";
    hplace(&[], circle.as_str()).code(1).stdout("").stderr(starts_with(named));
    hplace(&["--skip-unsupported"], circle)
        .code(0)
        .stdout(contains("vm        -     node1 start"))
        .stderr(named);
}

#[test]
fn tickets_are_granted_and_revoked_to_look_at_the_rest() {
    let cluster = fs::read_to_string("tests/fixtures/pacemaker/tickets/granted.xml").unwrap();
    let cluster = cluster.as_str();
    let stops = || contains("db       n1  -   stop\n");
    hplace(&[], cluster).code(0).stdout(stops().not());
    hplace(&["--revoke", "site"], cluster).code(2).stdout(stops().and(contains("n1   lost")));
    hplace(&["--ticket-standby", "site"], cluster).code(2).stdout(stops().and(contains("n1   online")));
    // Grants come first, whatever the order of the options.
    hplace(&["--revoke", "site", "--grant", "site"], cluster).code(2).stdout(stops());
    hplace(&["--ticket-standby", "other", "--ticket-activate", "site"], cluster).code(0).stderr("");
    hplace(&["--exec", "--grant", "site"], cluster).code(1).stdout("");
}

#[test]
fn what_is_done_in_every_form() {
    let swap = fs::read_to_string("tests/fixtures/pacemaker/swap-migrate.xml").unwrap();
    let text = hplace(&["--transition"], swap.as_str()).code(0);
    text.stdout(
        contains("Transition of 6 actions:\n    1. migrate vm1 from node1 to node2\n")
            .and(contains("       waits for 3: room on node1\n")),
    );
    let edge = "\"vm1_migrate_to_0 node1\" -> \"vm1_migrate_from_0 node2\" [ style = bold]\n";
    let dropped = "\"load_stopped_node2 node2\" -> \"vm1_migrate_to_0 node1\" [ style = dashed]\n";
    hplace(&["--dot"], swap.as_str())
        .code(0)
        .stdout(starts_with("digraph \"g\" {\n").and(contains(edge)).and(contains(dropped)));
    let xml = hplace(&["--transition-xml"], swap.as_str()).code(0);
    xml.stdout(starts_with("<transition_graph ").and(contains("<synapse id=\"9\">")));
}

/// The effect of orders is in the table and in the document, with its reason.
#[test]
fn what_others_make_of_a_resource() {
    let case = |name: &str| fs::read_to_string(format!("tests/fixtures/pacemaker/{name}.xml")).unwrap();
    hplace(&[], case("order-restart")).code(0).stdout(contains("app      node2 node2 restart (order o1)\n"));
    hplace(&[], case("order-blocked"))
        .code(2)
        .stdout(contains("app      -   -     not started (order o1)\n"));
    hplace(&["--json"], case("order-restart")).code(0).stdout(contains(r#""action": "restart""#));
    hplace(&["--json"], case("order-blocked")).code(2).stdout(contains(r#""action": "blocked""#));
    let held = hplace(&[], case("rules/held-member")).code(2);
    held.stdout(contains("a        n1  n1  cannot be stopped (group g)\n"));
}

#[test]
fn a_colocation_by_attribute_is_named_with_it() {
    let text = fs::read_to_string("tests/fixtures/pacemaker/rules/must-through-placed.xml").unwrap();
    let text = text.replacen(r#"id="n2r" name="rack" value="a""#, r#"id="n2r" name="rack" value="b""#, 1);
    hplace(&["why", "r"], text)
        .code(0)
        .stdout(contains("n2: must be where rack is the same as for p on n1 (c0)"));
}

#[test]
fn a_form_that_is_printed_alone_is_the_only_one() {
    let small = fs::read_to_string(SMALL).unwrap();
    for (words, names) in [
        (["--dot", "--transition"], "--transition-dot and --transition"),
        (["--dot", "--transition-xml"], "--transition-dot and --transition-xml"),
        (["--json", "--transition-xml"], "--transition-xml and --json"),
        (["--explain", "--crm-simulate-format"], "--crm-simulate-format and --with-reasons"),
        (["--show-normalized", "--json"], "--show-normalized and --json"),
    ] {
        let problem = format!("Error: options {names} exclude each other\n");
        hplace(&words, small.as_str()).code(1).stdout("").stderr(problem);
    }
    let problem = "option --transition-dot does not apply to `hplace why'";
    hplace(&["--dot", "why", "rsc-large"], small.as_str()).code(1).stderr(contains(problem));
}

/// A cluster whose nodes have room for three kinds of capacity. The resource `all` takes one of each; the group has
/// two members that each need two of the first kind.
fn roomy(nodes: [[u32; 3]; 3], resources: &str) -> String {
    let utilization = |id: &str, [x, y, z]: [u32; 3]| {
        let pairs = [("x", x), ("y", y), ("z", z)];
        let pairs =
            pairs.map(|(name, value)| format!(r#"<nvpair id="{id}-{name}" name="{name}" value="{value}"/>"#));
        format!(r#"<utilization id="{id}-u">{}</utilization>"#, pairs.concat())
    };
    let hosts: String = (1..)
        .zip(nodes)
        .map(|(at, room)| {
            format!(r#"<node id="{at}" uname="n{at}">{}</node>"#, utilization(&format!("n{at}"), room))
        })
        .collect();
    let states: String = (1..=3)
        .map(|at| {
            format!(r#"<node_state id="{at}" uname="n{at}" in_ccm="true" crmd="online" join="member"/>"#)
        })
        .collect();
    let primitive =
        |id: &str, needs| format!(r#"<primitive id="{id}" type="x">{}</primitive>"#, utilization(id, needs));
    let resources = match resources {
        "all" => primitive("all", [1, 1, 1]),
        _ => format!(r#"<group id="g">{}{}</group>"#, primitive("m1", [2, 0, 0]), primitive("m2", [2, 0, 0])),
    };
    format!(
        r#"<cib have-quorum="1"><configuration><crm_config><cluster_property_set id="o"><nvpair id="o1" name="stonith-enabled" value="false"/>
        <nvpair id="o2" name="placement-strategy" value="balanced"/></cluster_property_set></crm_config><nodes>{hosts}</nodes>
        <resources>{resources}</resources><constraints/></configuration><status>{states}</status></cib>"#
    )
}

/// Two of Pacemaker's answers depend on the order in which it keeps nodes in memory. The table reports these, and no
/// others.
#[test]
fn places_that_hang_on_an_order_in_memory_are_told() {
    let told = |document: &str, words: &[&str]| {
        let run = hplace(words, document);
        String::from_utf8(run.get_output().stdout.clone()).unwrap()
    };
    let warning = |names: &str| {
        format!(
            "Warning: Pacemaker may place these and later resources elsewhere, because nodes are equally free and its internal order decides: {names}\n"
        )
    };
    // n1 has more of more kinds than n3, n3 than n2, and n2 than n1.
    let circle = roomy([[3, 2, 1], [1, 3, 2], [2, 1, 3]], "all");
    assert!(told(&circle, &[]).ends_with(&warning("all")), "{}", told(&circle, &[]));
    assert!(told(&circle, &["--json"]).contains(r#""order_dependent": true"#));
    // The group as a whole fits on no node, and its first member goes to the node with the most room.
    let equal = roomy([[3, 0, 0]; 3], "group");
    assert!(told(&equal, &[]).ends_with(&warning("m1")), "{}", told(&equal, &[]));
    for document in [
        // One node has more than every other one, or all have the same.
        roomy([[4, 2, 1], [3, 2, 1], [2, 1, 1]], "all"),
        roomy([[3, 3, 3]; 3], "all"),
        roomy([[3, 0, 0], [2, 0, 0], [2, 0, 0]], "group"),
        // It fits as a whole.
        roomy([[4, 0, 0]; 3], "group"),
    ] {
        assert!(!told(&document, &[]).contains("Warning: "), "{}", told(&document, &[]));
        assert!(!told(&document, &["--json"]).contains(r#""order_dependent": true"#));
    }
    // The room does not decide.
    for strategy in ["default", "minimal"] {
        assert!(!told(&circle, &["--strategy", strategy]).contains("Warning: "));
    }
}

#[test]
fn without_quorum_nothing_is_started_or_planned() {
    let document = fs::read_to_string("tests/fixtures/pacemaker/rules/no-quorum.xml").unwrap();
    let warned =
        "Warning: the cluster has no quorum: Pacemaker stops all resources (no-quorum-policy=stop)\n";
    let table = hplace(&[], document.as_str()).code(2).stderr(warned);
    table.stdout(
        contains("d        n2  -   stop (there is no quorum)\n")
            .and(contains("b        n3  n3  cannot be stopped (there is no quorum)\n")),
    );
    let refused = "Error: the cluster has no quorum, so Pacemaker starts no resources, whatever is planned\n";
    for words in [&["survive"][..], &["fit", "cpu=1"], &["--commands", "cib"]] {
        hplace(words, document.as_str()).code(1).stdout("").stderr(format!("{warned}{refused}"));
    }
    let policy = r#"name="no-quorum-policy" value="suicide""#;
    let suicide = document.replacen(r#"name="stonith-enabled" value="true""#, policy, 1);
    assert_ne!(suicide, document);
    // A cluster that never had quorum does not fence itself.
    hplace(&[], suicide.as_str()).code(2).stdout(contains("d        n2  -   stop (there is no quorum)\n"));
    let had = suicide.replacen(r#"have-quorum="0""#, r#"have-quorum="0" no-quorum-panic="1""#, 1);
    assert_ne!(had, suicide);
    hplace(&["--transition"], had).code(2).stdout(contains("fence n2\n"));
}

#[test]
fn exit_status_tells_whether_all_is_placed() {
    let small = fs::read_to_string(SMALL).unwrap();
    hplace(&[], small.as_str()).code(2);
    hplace(&["--strategy", "default"], small.as_str()).code(0);
    hplace(&["why", "nosuch"], small.as_str()).code(1).stderr(contains("there is no resource 'nosuch'"));
    hplace(&["--live"], small.as_str()).code(1).stderr(contains("options -x and --live exclude each other"));
}

/// The exit status that monitoring interprets as "not all placed" has no other meaning.
#[test]
fn a_malformed_command_line_is_no_answer() {
    let small = fs::read_to_string(SMALL).unwrap();
    for words in [&["--nosuch"][..], &["--st"], &["--now"], &["--explain=1"], &["survive", "--nosuch"]] {
        let complaint = starts_with("Command line error: ").and(contains("Try 'hplace --help'."));
        hplace(words, small.as_str()).code(64).stdout("").stderr(complaint);
    }
    for words in [&["--strategy=best"][..], &["why"], &["nosuch"], &["survive", "--nodes=7"]] {
        hplace(words, small.as_str()).code(1).stdout("").stderr(starts_with("Error"));
    }
}

#[test]
fn ganeti_clusters_by_any_strategy() {
    let run = |words: &[&str]| {
        let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_htools"));
        command.env_remove("HTOOLS").arg("hplace").args(words).assert()
    };
    let offline = ["-t", "data/offline-nodes.data"];
    // Running resources stay, unless that is worth nothing.
    for strategy in ["utilization", "balanced", "minimal"] {
        run(&[&offline[..], &["--strategy", strategy]].concat())
            .stdout(contains("start").and(contains("migrate").not()));
    }
    run(&[&offline[..], &["--stickiness=0"]].concat()).stdout(contains("migrate"));
    run(&[&offline[..], &["--json"]].concat()).stdout(contains(r#""strategy": "balanced""#));
    for (words, problem) in [
        (
            &["-t", "data/balanced.data", "-x", "data/pacemaker-small.xml"][..],
            "only one cluster can be named",
        ),
        (
            &["-x", "data/pacemaker-small.xml", "--stickiness=3"],
            "--stickiness applies only to Ganeti clusters",
        ),
        (&["-t", "data/balanced.data", "--stickiness=-1"], "at least 0"),
        (
            &["-t", "data/balanced.data", "--commands=cib"],
            "this command of hplace applies only to Pacemaker clusters",
        ),
        (
            &["-t", "data/balanced.data", "evacuate", "node1"],
            "--text-data does not apply to `hplace evacuate'",
        ),
        (&["-t", "absent.data"], "cannot read file 'absent.data'"),
    ] {
        run(words).code(1).stdout("").stderr(contains(problem));
    }
}

/// Formats for programs do not report resources without a place, but the status does. The reason is on standard
/// error.
#[test]
fn forms_for_programs_say_what_has_no_place() {
    let nothing = r#"<cib crm_feature_set="3.16.1" validate-with="pacemaker-3.7" have-quorum="1"><configuration>
        <crm_config><cluster_property_set id="o"><nvpair id="s" name="stonith-enabled" value="false"/></cluster_property_set></crm_config>
        <nodes/><resources><primitive id="vm1" class="ocf" provider="pacemaker" type="Dummy"/></resources><constraints/>
        </configuration><status/></cib>"#;
    for form in ["--crm-simulate-format", "--dot", "--transition-xml"] {
        hplace(&[form], nothing).code(2).stderr("Not placed: vm1 (there is no node)\n");
    }
}

/// The option plays another version than that of the document, and names its version where it is asked for.
#[test]
fn the_version_is_that_of_the_document_or_of_the_option() {
    let cluster = fs::read_to_string("tests/fixtures/pacemaker/release-3.0/member-with.xml").unwrap();
    let cluster = cluster.as_str();
    let version = |name: &str| contains(format!(r#""pacemaker_version": "{name}""#));
    hplace(&["--json"], cluster).success().stdout(version("3.0.0")).stderr("");
    hplace(&["--json", "--pacemaker-version", "3.0"], cluster).success().stdout(version("3.0.2"));
    hplace(&["--json", "--pacemaker-version", "2.1.5"], cluster).code(2).stdout(version("2.1.5"));
    hplace(&["-v"], cluster).success().stderr("The rules are those of Pacemaker 3.0.0.\n");
    hplace(&["--crm-simulate-format"], cluster)
        .success()
        .stdout(starts_with("  * Original: node1 capacity:\n"));
    let warning = "Warning: the rules of Pacemaker with the feature set 3.18.0 are not known; those of 2.1.5 are used\n";
    let between = cluster.replace("3.20.0", "3.18.0");
    hplace(&["--json"], between.as_str()).code(2).stdout(version("2.1.5")).stderr(warning);
    hplace(&["--json", "--pacemaker-version", "3.0.0"], between.as_str())
        .success()
        .stdout(version("3.0.0"))
        .stderr("");
    hplace(&["--pacemaker-version", "4"], cluster).failure().stdout("");
    hplace(&["--exec", "--pacemaker-version", "3.0"], cluster).code(1).stdout("");
}
