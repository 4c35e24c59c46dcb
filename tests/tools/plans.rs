//! Plans as graphs: shown in four formats, saved, shown again, and compared with a cluster.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use assert_cmd::Command;
use assert_cmd::assert::Assert;
use htools::execute::saved::SavedPlan;
use predicates::str::{contains, starts_with};
use serde_json::Value;
use tempfile::TempDir;

const SAMPLE: &str = "data/unbalanced-drbd.data";

fn htools(words: &[&str]) -> Assert {
    Command::new(env!("CARGO_BIN_EXE_htools")).env_remove("HTOOLS").args(words).assert()
}

fn stdout(words: &[&str]) -> String {
    String::from_utf8(htools(words).code(0).get_output().stdout.clone()).unwrap()
}

fn validated(text: &str, schema: &str) -> Value {
    let schema = fs::read_to_string(Path::new("docs/schema").join(schema)).unwrap();
    let validator = jsonschema::draft202012::new(&serde_json::from_str(&schema).unwrap()).unwrap();
    let document: Value = serde_json::from_str(text).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&document).map(|e| format!("{}: {e}", e.instance_path)).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    document
}

/// Checks the properties of every graph: forward edges, times that respect them, and a valid critical path.
fn is_sound(document: &Value) {
    let steps = document["steps"].as_array().unwrap();
    let time = |step: &Value, key: &str| steps[step.as_u64().unwrap() as usize][key].as_f64().unwrap();
    for edge in document["edges"].as_array().unwrap() {
        assert!(edge["before"].as_u64() < edge["after"].as_u64());
        assert!(time(&edge["before"], "end") <= time(&edge["after"], "begin") + 1e-9);
    }
    let seconds = &document["seconds"];
    let [sets, stream, critical] =
        ["by_jobsets", "stream", "critical_path"].map(|key| seconds[key].as_f64().unwrap());
    assert!(critical <= stream + 1e-6 && stream <= sets + 1e-6, "{seconds}");
    let path: f64 =
        document["critical_path"].as_array().unwrap().iter().map(|step| time(step, "seconds")).sum();
    assert!((path - critical).abs() < 1e-6);
}

#[test]
fn plans_of_all_tools_follow_their_schema() {
    let one_by_one = ["--max-out-per-node=1", "--max-in-per-node=1"];
    for words in [
        &["hbal", "-t", SAMPLE][..],
        &["hbal", "-t", SAMPLE, "-l", "0"],
        &["hbal", "-t", "data/balanced.data"],
        &["hbal", "-t", "data/groups.data", "--all-groups"],
        &["hbal", "-t", "data/tags.data", "--repair-only"],
        &["hsqueeze", "-t", "data/week.data"],
        &["hgroup", "balance", "-t", "data/pools.data"],
    ] {
        for limits in [&[][..], &one_by_one] {
            let words = [words, limits].concat();
            let text = String::from_utf8(
                htools(&[&words[..], &["--print-plan=json"]].concat()).get_output().stdout.clone(),
            )
            .unwrap();
            is_sound(&validated(&text, "htools.plan-graph-1.json"));
        }
    }
    let text = stdout(&["hroller", "-t", "data/week.data", "-f", "--print-plan=json"]);
    is_sound(&validated(&text, "htools.plan-graph-1.json"));
    // A balanced cluster has an empty graph.
    let text = stdout(&["hbal", "-t", "data/balanced.data", "--print-plan=json"]);
    assert_eq!(validated(&text, "htools.plan-graph-1.json")["steps"], serde_json::json!([]));
}

#[test]
fn the_text_comes_after_what_is_said_without_it() {
    let usual = stdout(&["hbal", "-t", SAMPLE]);
    let with = stdout(&["hbal", "-t", SAMPLE, "--print-plan=text"]);
    let plan = with.strip_prefix(&usual).unwrap();
    assert!(plan.starts_with("Plan of 15 steps:\n"), "{plan}");
    for line in [
        "       waits for 4: the same instance\n",
        "\nTime by jobsets: ",
        "\nTime as a stream: ",
        "\nCritical path: ",
        "\nData moved: ",
    ] {
        assert!(plan.contains(line), "{line}");
    }
    let slow = stdout(&["hbal", "-t", SAMPLE, "--print-plan=text", "--bandwidth=10", "--sync-rate=5.5"]);
    assert!(
        slow.contains(
            "\nModel: 10.0 MiB/s of memory and 10 s a migration, 60 s a failover, 5.5 MiB/s of disk"
        )
    );
}

#[test]
fn pictures_hold_one_shape_a_step_and_a_row_a_node() {
    let dot = stdout(&["hbal", "-t", SAMPLE, "--print-plan=dot"]);
    assert!(dot.starts_with("digraph plan {\n") && dot.ends_with("}\n"));
    assert_eq!(dot.matches(" [label=\"").count(), 15);
    let document = stdout(&["hbal", "-t", SAMPLE, "--print-plan=json"]);
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(dot.matches(" -> ").count(), document["edges"].as_array().unwrap().len());
    let svg = stdout(&["hbal", "-t", SAMPLE, "--print-plan=svg"]);
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    for node in 1..=7 {
        assert!(svg.contains(&format!(">node{node}.example.com</text>")), "{node}");
    }
    let tree = roughly_xml(&svg);
    assert_eq!(tree, 0, "tags that are not closed");
}

#[test]
fn the_picture_in_the_documents_is_what_is_drawn() {
    let words = ["hbal", "-t", SAMPLE, "--print-plan=svg", "--max-out-per-node=1", "--max-in-per-node=1"];
    let drawn = stdout(&words);
    assert!(
        drawn == fs::read_to_string("docs/timetable.svg").unwrap(),
        "htools {} > docs/timetable.svg",
        words.join(" ")
    );
}

/// Number of opened elements minus closed ones.
fn roughly_xml(text: &str) -> i64 {
    let opened = text.matches('<').count() as i64;
    let closing = text.matches("</").count() as i64;
    let empty = text.matches("/>").count() as i64;
    opened - 2 * closing - empty
}

#[test]
fn options_that_mean_nothing_alone_are_refused() {
    for (words, problem) in [
        (&["--stream"][..], "--stream needs --exec or --print-plan"),
        (&["--max-parallel=2"], "need --stream"),
        (&["--on-failure=continue"], "--on-failure needs --stream"),
        (&["--print-plan=json", "--json"], "options --print-plan and --json exclude each other"),
        (&["--max-parallel=0"], "a whole number, 1 or more"),
        (&["--bandwidth=0"], "a number above 0"),
        (&["--sync-rate=nan"], "sync-rate"),
        (&["--until=25:00"], "a time of the day such as 06:00"),
        (&["--until=6"], "a time of the day such as 06:00"),
        (&["--max-duration=soon"], "a time such as 90s"),
        (&["--print-plan=png"], "print-plan"),
        (&["--durations-from=README.md", "--print-plan=text"], "README.md, line 1: "),
    ] {
        htools(&[&["hbal", "-t", SAMPLE], words].concat()).code(1).stderr(contains(problem));
    }
}

/// A directory with a saved plan for the sample.
fn saved(words: &[&str]) -> (TempDir, String) {
    let place = TempDir::new().unwrap();
    let path = place.path().join("plan").to_str().unwrap().to_owned();
    let save = format!("--save-plan={path}");
    htools(&[&["hbal", "-t", SAMPLE, &save], words].concat())
        .code(0)
        .stderr(contains(format!("The plan has been written to '{path}'\n")));
    (place, path)
}

#[test]
fn a_saved_plan_is_what_was_planned() {
    let (_place, path) = saved(&["-l", "4", "--merge"]);
    let document = validated(&fs::read_to_string(&path).unwrap(), "htools.saved-plan-1.json");
    assert_eq!(document["options"], serde_json::json!(["--max-length=4", "--merge"]));
    let graph = stdout(&["hbal", "-t", SAMPLE, "-l", "4", "--merge", "--print-plan=json"]);
    assert_eq!(stdout(&["show", &path, "--print-plan=json"]), graph);
    assert!(
        stdout(&["show", &path])
            .contains("\nOptions: --max-length=4 --merge\nTouches 1 node group\nPlan of 4 steps:\n")
    );
    htools(&["apply", &path, "-t", SAMPLE])
        .code(0)
        .stdout("The plan fits the cluster: 4 steps can be carried out\n");
    htools(&["apply", &path, "-t", SAMPLE, "-X"]).code(1).stderr(contains("possible only on LUXI"));
}

#[test]
fn a_plan_that_was_changed_is_refused_in_one_line() {
    let (place, path) = saved(&["-l", "4"]);
    let text = fs::read_to_string(&path).unwrap();
    let other = place.path().join("other").to_str().unwrap().to_owned();
    for (changed, problem) in [
        (text.replace("node6", "node5"), "the check sum is wrong: the plan was changed since it was saved"),
        (text[..text.len() / 3].to_owned(), "not a saved plan: "),
        (
            text.replace("saved-plan-1", "saved-plan-7"),
            "it has the schema 'htools.saved-plan-7'; this version reads",
        ),
        (String::new(), "not a saved plan: "),
    ] {
        fs::write(&other, changed).unwrap();
        for words in [&["show", &other][..], &["apply", &other, "-t", SAMPLE]] {
            let run =
                htools(words).code(1).stdout("").stderr(starts_with(format!("Error: {other}: {problem}")));
            assert_eq!(run.get_output().stderr.iter().filter(|byte| **byte == b'\n').count(), 1);
        }
    }
}

#[test]
fn steps_that_do_not_hold_any_more_are_named() {
    let (place, path) = saved(&["-l", "4"]);
    let cluster = fs::read_to_string(SAMPLE).unwrap();
    let other = place.path().join("cluster").to_str().unwrap().to_owned();
    // mail has failed over, and node6 is out of use now.
    let row = |name: &str| cluster.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    let (mail, node) = (row("mail.example.com|"), row("node6.example.com|"));
    let swapped = mail.replace("node1.example.com|node4.example.com", "node4.example.com|node1.example.com");
    let offline = node.replace("|N|", "|Y|");
    assert!(swapped != mail && offline != node);
    fs::write(&other, cluster.replace(&mail, &swapped).replace(&node, &offline)).unwrap();
    htools(&["apply", &path, "-t", &other])
        .code(1)
        .stdout("")
        .stderr(contains("The plan no longer fits the cluster:\n"))
        .stderr(contains("step 1, instance 'db1.example.com': node 'node6.example.com' is offline\n"))
        .stderr(contains("step 3, instance 'mail.example.com': it is on node4.example.com:node1.example.com, but the plan moves it from node1.example.com:node4.example.com\n"))
        .stderr(contains("nothing was done, because the plan no longer fits\nHint: --replan makes another plan\n"));
    // With the original options.
    htools(&["apply", &path, "-t", &other, "--replan", "--print-plan=text"])
        .code(0)
        .stdout(contains("Solution length=4\nPlan of 4 steps:\n"));
    // Parts that the plan does not concern may have changed.
    let grown = cluster.replace("|65536|", "|65537|");
    fs::write(&other, grown).unwrap();
    htools(&["apply", &path, "-t", &other]).code(0);
}

#[test]
fn the_commands_want_one_file() {
    htools(&["show"]).code(1).stderr("Error: htools show needs one FILE\n");
    htools(&["undo", "a", "b"]).code(1).stderr("Error: htools undo needs one JOURNAL\n");
    htools(&["undo", "README.md", "-t", SAMPLE]).code(1).stderr(starts_with("Error: README.md, line 1: "));
    htools(&["apply", "nowhere", "-t", SAMPLE]).code(1).stderr(starts_with("Error: nowhere: cannot be read"));
}

#[test]
fn what_hsqueeze_saved_is_done_if_it_decides_the_same_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("plan").display().to_string();
    let week = std::fs::read_to_string("data/week.data").unwrap();
    let now = directory.path().join("now.data").display().to_string();
    std::fs::write(&now, &week).unwrap();
    let made =
        stdout(&["hsqueeze", "-t", &now, "--drbd", "--minimal-resources=1", &format!("--save-plan={path}")]);
    validated(&std::fs::read_to_string(&path).unwrap(), "htools.saved-plan-1.json");
    let apply = ["apply", path.as_str(), "-t", now.as_str()];
    htools(&apply).code(0).stdout(made).stderr("The plan fits the cluster: 110 steps can be carried out\n");
    // Without anything to do there is no plan.
    let none = directory.path().join("none").display().to_string();
    stdout(&[
        "hsqueeze",
        "-t",
        "data/balanced.data",
        "--minimal-resources=1",
        "--target-resources=1e6",
        &format!("--save-plan={none}"),
    ]);
    assert!(!std::path::Path::new(&none).exists());
    // A node that was to be powered down is needed now.
    let needed: Vec<&str> = week.lines().filter(|line| !line.starts_with("san05.")).collect();
    std::fs::write(&now, needed.join("\n").replace("|san05.example.com|", "|san01.example.com|") + "\n")
        .unwrap();
    let changed = htools(&apply).code(1);
    let said = String::from_utf8(changed.get_output().stderr.clone()).unwrap();
    assert!(said.starts_with("The plan no longer fits the cluster:\n  step "), "{said}");
    assert!(said.contains("drain san05.example.com: no longer needed\n"), "{said}");
    assert!(
        said.ends_with(
            "nothing was done, because the plan no longer fits\nHint: --replan makes another plan\n"
        ),
        "{said}"
    );
    htools(&[&apply[..], &["--replan"]].concat()).code(0);
}

#[test]
fn options_in_a_plan_do_not_say_what_becomes_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("plan").display().to_string();
    stdout(&["hsqueeze", "-t", "data/week.data", &format!("--save-plan={path}")]);
    let plan = SavedPlan::read(std::path::Path::new(&path)).unwrap();
    for option in [
        "--exec",
        "--exe",
        "-X",
        "-",
        "--",
        "--yes",
        "--journal=x",
        "--save=x",
        "--print-commands=x",
        "--power-command=touch x",
        "--power-comm=touch x",
        "--group",
        "--drbd=yes",
        "--nonsense",
        "--help",
        "--version",
        "--pareto",
        "--report=x",
        "--text-data=x",
        "status",
    ] {
        let forged = SavedPlan { options: vec![option.to_owned()], ..plan.clone() };
        std::fs::write(&path, forged.sealed().text()).unwrap();
        let refused = htools(&["apply", &path, "-t", "data/week.data", "--replan"]).code(1);
        let said = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
        assert!(said.contains(&format!("its option '{option}' is not allowed in a plan")), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

/// Other files that a plan names may contain secrets from the plan's author.
#[test]
fn of_files_that_a_plan_names_nothing_is_quoted() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let secret = path("secret");
    fs::write(&secret, "root:$y$j9T$abcdef:19000:0:99999:7:::\n").unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        path("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    for (tool, data, options) in [
        ("hbal", SAMPLE, vec!["--dynu-file=FILE"]),
        ("hbal", SAMPLE, vec!["--mond", "--mond-data=FILE"]),
        ("hsqueeze", "data/week.data", vec!["--standby-data=FILE"]),
    ] {
        let file = path("plan");
        stdout(&[tool, "-t", data, &format!("--save-plan={file}")]);
        let plan = SavedPlan::read(Path::new(&file)).unwrap();
        // For another cluster, another plan is made.
        let apply = ["apply", &file, "-t", "data/balanced.data", "--replan"];
        for (named, wanted) in [
            (&secret, "the plan names this file, but it does not have the format that its option reads\n"),
            (&path("pipe"), "not a regular file\n"),
        ] {
            let options = options.iter().map(|option| option.replace("FILE", named)).collect();
            fs::write(&file, SavedPlan { options, ..plan.clone() }.sealed().text()).unwrap();
            let refused = htools(&apply).code(1);
            let said = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
            assert!(said.ends_with(&format!("{named}: {wanted}")), "{said}");
            assert!(!said.contains("root"), "{said}");
        }
    }
}

/// Files that others can write to are not trusted, but can be shown.
#[test]
fn plans_that_others_can_write_to() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("plan").display().to_string();
    fs::write(&file, "").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    stdout(&["hbal", "-t", SAMPLE, &format!("--save-plan={file}")]);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o644);
    htools(&["apply", &file, "-t", SAMPLE]).code(0);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o664)).unwrap();
    let wanted = format!(
        "Error: {file}: other users can write to it (mode 0664)\nHint: chmod go-w takes the right from other users\n"
    );
    htools(&["apply", &file, "-t", SAMPLE]).code(1).stderr(wanted);
    htools(&["show", &file]).code(0);
}

#[test]
fn maintenances_are_carried_out_as_approved_only() {
    let place = TempDir::new().unwrap();
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
        let output = command.env_remove("HTOOLS").current_dir(place.path()).args(words).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let cluster = |home: &str| {
        let node = |at: usize| {
            let master = if at == 1 { "M" } else { "N" };
            format!("n{at}|9000|0|8000|90000|90000|9|{master}|u|1")
        };
        let nodes: Vec<String> = (1..5).map(node).collect();
        let instance = format!("a|1000|1000|1|running|Y|{home}||ext||1|-");
        format!("g|u|preferred||\n\n{}\n\n{instance}\n\n\n", nodes.join("\n"))
    };
    fs::write(place.path().join("then"), cluster("n3")).unwrap();
    fs::write(place.path().join("now"), cluster("n4")).unwrap();
    let make = "hroller -t then --max-down 2 --migrate-shared --upgrade-order --canary 1 --save-plan plan";
    let (status, made, _) = run(&make.split(' ').collect::<Vec<_>>());
    assert_eq!(status, Some(0));
    assert_eq!(made, "'Node Reboot Groups'\nn3,n4\nn2,n1\n");
    let (_, shown, _) = run(&["show", "plan"]);
    assert!(shown.contains("Options: --max-down=2 --migrate-shared --upgrade-order --canary=1\n"), "{shown}");
    let (status, out, error) = run(&["apply", "-t", "then", "plan"]);
    assert!(status == Some(0) && error.contains("The plan fits the cluster: ") && out == made, "{error}");
    let (status, _, error) = run(&["apply", "-t", "now", "plan"]);
    let refused =
        "Error: nothing was done, because the plan no longer fits\nHint: --replan makes another plan\n";
    assert!(status == Some(1) && error.ends_with(refused), "{error}");
    let (status, out, _) = run(&["apply", "-t", "now", "--replan", "plan"]);
    assert!(status == Some(0) && out.starts_with("'Node Reboot Groups'\n"), "{out}");
    // Commands of the operator are for plans of maintenances.
    let sample = fs::canonicalize(SAMPLE).unwrap();
    let sample = sample.to_str().unwrap();
    assert_eq!(run(&["hbal", "-t", sample, "--save-plan", "moves"]).0, Some(0));
    let (status, _, error) = run(&["apply", "-t", sample, "--node-command=reboot", "moves"]);
    assert!(
        status == Some(1) && error.contains("--node-command does not apply to a plan of hbal"),
        "{error}"
    );
}
