//! hplace with measured utilization: a small server of the tests says what primitives use.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use assert_cmd::Command;
use tempfile::TempDir;

use crate::prometheus::{run, vector};
use crate::rapi::{Server, response};

const VMS: &str = "data/pacemaker-vms.xml";
const MIB: u64 = 1 << 20;
/// Domains with their processors and memory in bytes.
const USED: [(&str, &str, u64); 11] = [
    ("web1", "11.2", 8192 * MIB + 1),
    ("web2", "3", MIB),
    ("db1", "8", MIB),
    ("db2", "8.0000000000000001", MIB),
    ("mail", "1", MIB),
    ("wiki", "2", MIB),
    ("ci1", "9", MIB),
    ("ci2", "0", 30_000 * MIB),
    ("ldap", "NaN", MIB),
    ("git", "2", MIB),
    ("other", "99", MIB),
];

/// A server that knows the processors and the memory of the domains.
fn server() -> Server {
    Server::new(|request| {
        let memory: Vec<String> = USED.iter().map(|(_, _, bytes)| bytes.to_string()).collect();
        let series = USED.iter().zip(&memory).map(|((name, processors, _), bytes)| {
            ("domain", *name, if request.contains("memory") { bytes.as_str() } else { *processors })
        });
        response("200 OK", &vector(&series.collect::<Vec<_>>()))
    })
}

/// The sample with other amounts.
fn with_amounts(amounts: &[(&str, u64, u64)]) -> String {
    let mut text = fs::read_to_string(VMS).unwrap();
    for (pair, from, to) in amounts {
        let (_, name) = pair.split_once('-').unwrap();
        let old = format!(r#"<nvpair id="{pair}" name="{name}" value="{from}"/>"#);
        assert!(text.contains(&old), "{old}");
        text = text.replace(&old, &old.replace(&format!("\"{from}\""), &format!("\"{to}\"")));
    }
    text
}

fn source(server: &Server) -> String {
    format!("--load-from=prometheus:{}", server.url())
}

#[test]
fn measured_amounts_count_as_if_they_were_in_the_cib() {
    let (server, place) = (server(), TempDir::new().unwrap());
    // The median of the processors of those that have series, rounded up, is that of backup and ldap.
    let counted = with_amounts(&[
        ("web1-cpu", 4, 12),
        ("web1-hv_memory", 8192, 8193),
        ("ci1-cpu", 6, 9),
        ("ci2-hv_memory", 12_288, 30_000),
        ("ldap-cpu", 1, 3),
        ("backup-cpu", 2, 3),
    ]);
    fs::write(place.path().join("counted.xml"), counted).unwrap();
    fs::copy(VMS, place.path().join("vms.xml")).unwrap();
    let source = source(&server);
    let measures = ["--measured=cpu=cpu", "--measured", "hv_memory=memory/MiB", &source];
    for words in [
        &[][..],
        &["--strategy=balanced", "--json"],
        &["--crm-simulate-format"],
        &["--show-normalized"],
        &["--with-reasons", "--transition"],
        &["optimal"],
        &["survive"],
        &["fit", "cpu=2,hv_memory=100"],
        &["why", "web2"],
    ] {
        let measured = run(place.path(), "hplace", &[words, &["-x", "vms.xml"], &measures].concat());
        let given = run(place.path(), "hplace", &[words, &["-x", "counted.xml"]].concat());
        assert_eq!((measured.0, &measured.1), (given.0, &given.1), "{words:?} {}", measured.2);
        assert_eq!(
            measured.2,
            "Warning: not all load was measured for 2 primitives; the median of the measured ones counts: ldap, backup\n\
             Load was measured for 10 primitives; it raises the utilization of 5. The answer is as if these amounts were in the CIB; Pacemaker goes by the configured ones.\n"
        );
    }
    let all = run(place.path(), "hplace", &[&["-x", "vms.xml", "-v"][..], &measures].concat());
    assert!(all.2.contains("\nweb1: cpu 4 counts as 12\nweb1: hv_memory 8192 counts as 8193\n"), "{}", all.2);
    let quiet = run(place.path(), "hplace", &[&["-x", "vms.xml", "-q"][..], &measures].concat());
    assert_eq!(quiet.2, "");
    let words = ["-x", "vms.xml", "--load-missing=zero", "-v"];
    let zero = run(place.path(), "hplace", &[&words[..], &measures].concat());
    assert!(
        zero.2.contains("; what is configured counts: ldap, backup\n") && !zero.2.contains("backup: cpu")
    );
    let fails =
        run(place.path(), "hplace", &[&["-x", "vms.xml", "--load-missing=fail"][..], &measures].concat());
    let wanted =
        "Error: cannot use the measured load: no load was measured for primitive 'ldap' and 1 more\nHint: ";
    assert!(fails.0 == 1 && fails.1.is_empty() && fails.2.starts_with(wanted), "{}", fails.2);
}

#[test]
fn only_the_resources_that_count_are_asked_for() {
    let (server, place) = (server(), TempDir::new().unwrap());
    fs::copy(VMS, place.path().join("vms.xml")).unwrap();
    let words = ["-x", "vms.xml", "--measured=cpu=cpu/2", &source(&server), "-v"];
    let found = run(place.path(), "hplace", &words);
    assert!(found.2.contains("\nweb1: cpu 4 counts as 6\n") && !found.2.contains("hv_memory"), "{}", found.2);
    assert_eq!(server.requests.lock().unwrap().len(), 1);
    let refused = |more: &[&str]| {
        let found = run(place.path(), "hplace", &[&["-x", "vms.xml"], more].concat());
        assert_eq!((found.0, found.1.as_str()), (1, ""), "{more:?}");
        found.2
    };
    let source = source(&server);
    for (words, error) in [
        (&["--measured=cpu=cpu"][..], "Error: option --measured needs --load-from\n"),
        (&[&source], "Error: option --load-from needs --measured\n"),
        (&["--load-window=1d"], "Error: options that begin with --load need --load-from and --measured\n"),
        (
            &[&source, "--measured=cpu=cpu", "--measured=cpu=disk"],
            "Error: option --measured is given twice for 'cpu'\n",
        ),
        (
            &[&source, "--measured=cpu=ram"],
            "Error while parsing command line arguments:\noption --measured: 'cpu=ram' is not ATTRIBUTE=RESOURCE[/UNIT]",
        ),
        (
            &[&source, "--measured=cpus=cpu"],
            "Error: cannot use the measured load: no primitive outside of clones and bundles has the utilization attribute 'cpus', did you mean 'cpu'?\n",
        ),
        (
            &[&source, "--measured=cpu=cpu", "--load-query=memory=x"],
            "Error: there is no expression for the load of cpu\n",
        ),
        (
            &[&source, "--measured=cpu=cpu", "--load-pattern=^x-(.*)"],
            "Error: cannot use the measured load: no series of the load of cpu has the name of a primitive",
        ),
        (
            &[&source, "--measured=cpu=cpu", "--undo"],
            "Error: option --measured cannot be given with --undo or --resume\n",
        ),
        (
            &[&source, "--measured=cpu=cpu", "-t", "x"],
            "Error: option --measured applies only to Pacemaker clusters\n",
        ),
        (
            &["evacuate", "node1", &source, "--measured=cpu=cpu"],
            "Error: option --load-from does not apply to `hplace evacuate'\n",
        ),
        (
            &["--strategy=affinity", &source, "--measured=cpu=cpu"],
            "Error: option --measured does not apply to ",
        ),
    ] {
        let found = refused(words);
        assert!(found.starts_with(error), "{words:?}: {found}");
    }
}

/// The commands for a placement by measured amounts are for Pacemaker as it is, with the configured ones.
#[test]
fn commands_lead_there_by_the_configured_amounts() {
    let (server, place) = (Server::new(|_| response("200 OK", &vector(&CROWDED))), TempDir::new().unwrap());
    fs::copy(VMS, place.path().join("vms.xml")).unwrap();
    let source = source(&server);
    let words = ["-x", "vms.xml", "-q", "--measured=cpu=cpu", "--load-missing=zero", &source];
    let (status, placed, _) = run(place.path(), "hplace", &words);
    let (_, before, _) = run(place.path(), "hplace", &["-x", "vms.xml"]);
    let nodes = |text: &str| -> Vec<String> {
        let rows = text.lines().skip(2).take_while(|line| !line.is_empty());
        rows.map(|line| line.split_whitespace().step_by(2).take(2).collect::<Vec<_>>().join(" ")).collect()
    };
    assert!(status == 0 && nodes(&placed) != nodes(&before), "{placed}");
    let (_, commands, _) = run(place.path(), "hplace", &[&words[..], &["--commands=cib"]].concat());
    let constraints: String = commands
        .split("<rsc_location")
        .skip(1)
        .map(|rest| format!("<rsc_location{}/>", rest.split_once("/>").unwrap().0))
        .collect();
    assert!(constraints.contains("hplace-"), "{commands}");
    let text = fs::read_to_string(VMS).unwrap();
    let pinned = text.replace("</constraints>", &format!("{constraints}</constraints>"));
    fs::write(place.path().join("pinned.xml"), pinned).unwrap();
    let (_, after, _) = run(place.path(), "hplace", &["-x", "pinned.xml"]);
    assert_eq!(nodes(&after), nodes(&placed), "{constraints}");
}

/// Two machines that together need more processors than their node has.
const CROWDED: [(&str, &str, &str); 3] =
    [("domain", "web1", "12"), ("domain", "db1", "20"), ("domain", "ci1", "7")];

/// A cluster of files and programs, in which the pin of the strategy utilization is made (see `hplace_carried`).
fn paper_cluster() -> TempDir {
    const PIN: &str = r#"<constraints><rsc_location id="hplace-rsc-small" rsc="rsc-small" node="node1" score="INFINITY"/></constraints>"#;
    let place = TempDir::new().unwrap();
    let small = fs::read_to_string("data/pacemaker-small.xml").unwrap();
    let changed = small.replace("<constraints/>", PIN);
    // The starts of rsc-small on the first node and rsc-medium on the second, by their positions in the document.
    let parts = changed.split("<lrm_rsc_op").enumerate().map(|(at, part)| match at {
        1 | 5 => part
            .replace(r#"operation="monitor""#, r#"operation="start""#)
            .replace(r#"rc-code="7""#, r#"rc-code="0""#)
            .replace(":7:", ":0:"),
        _ => part.to_owned(),
    });
    let rested = parts.collect::<Vec<_>>().join("<lrm_rsc_op");
    for (name, text) in [("now", &small), ("changed", &changed), ("rested", &rested)] {
        fs::write(place.path().join(name), text).unwrap();
    }
    for (name, script) in [
        ("cibadmin", r#"[ "$1" = -Q ] || { cat >"$D/input"; cp "$D/changed" "$D/now"; }; cat "$D/now""#),
        ("crm_resource", r#"cp "$D/rested" "$D/now""#),
        ("crm_simulate", r#"cp "$D/rested" "${6}""#),
    ] {
        let path = place.path().join(name);
        let directory = place.path().display();
        fs::write(&path, format!("#!/bin/sh\nD={directory}\nPATH=/usr/bin:/bin\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    place
}

/// A live run of hplace with the processors of some resources.
fn live(place: &Path, word: &str, series: &'static [(&str, &str, &str)]) -> (i32, String, String) {
    let server = Server::new(|_| response("200 OK", &vector(series)));
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    command.env_clear().env("PATH", place).env("HOME", place).env("NO_PROXY", "*").current_dir(place);
    let words = [
        "hplace",
        word,
        "--live",
        "-X",
        "--yes",
        "--journal=journal",
        "--load-missing=zero",
        "--measured=cpu=cpu",
    ];
    let output = command.args(words).arg(source(&server)).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_measured_placement_is_carried_out() {
    let place = paper_cluster();
    let (status, out, error) =
        live(place.path(), "optimal", &[("domain", "rsc-medium", "4"), ("domain", "rsc-large", "9")]);
    assert_eq!(status, 2, "{out}{error}");
    assert!(
        out.contains("Pacemaker comes there with 1 constraint:\n  hplace-rsc-small: rsc-small on node1\n"),
        "{out}"
    );
    assert!(error.contains("Done: all resources are as they were planned."), "{error}");
    // Only the constraint is written, no utilization.
    let input = fs::read_to_string(place.path().join("input")).unwrap();
    assert!(input.contains("hplace-rsc-small") && !input.contains("utilization"), "{input}");
}

/// Constraints cannot keep a resource from a node on which Pacemaker sees room.
#[test]
fn nothing_is_stopped_because_it_uses_too_much() {
    let place = paper_cluster();
    let (status, _, error) = live(place.path(), "--strategy=balanced", &[("domain", "rsc-medium", "400")]);
    assert_eq!(status, 1, "{error}");
    assert!(error.contains("Error: location constraints cannot bring about this placement"), "{error}");
    assert!(error.contains("Hint: Pacemaker goes by the configured utilization"), "{error}");
    assert!(!place.path().join("input").exists());
}

#[test]
fn a_configuration_counts_only_with_measured() {
    let (server, place) = (server(), TempDir::new().unwrap());
    fs::copy(VMS, place.path().join("vms.xml")).unwrap();
    let file = format!("[defaults]\nload-from = \"prometheus:{}\"\n", server.url());
    fs::write(place.path().join("htools.toml"), file).unwrap();
    let configured = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
        command.env("HTOOLS_CONFIG", place.path().join("htools.toml")).env("HTOOLS", "hplace");
        let output = command.env("NO_PROXY", "*").args(words).current_dir(place.path()).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(configured(&["-x", "vms.xml"]), (0, String::new()));
    let (status, error) = configured(&["-x", "vms.xml", "--measured=cpu=cpu"]);
    assert!(status == 0 && error.contains("Load was measured for 9 primitives"), "{error}");
    assert_eq!(server.requests.lock().unwrap().len(), 1);
}
