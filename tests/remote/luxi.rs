//! The master daemon: a server of the tests on a socket gives good answers and many kinds of bad ones.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assert_cmd::Command;
use htools::load::Detail;
use htools::load::luxi::{LuxiAnswers, fetch, parse, requests};
use htools::load::raw::RawCluster;
use htools::model::{DiskParameters, GlusterVolume};
use htools::remote::CallError;
use htools::remote::luxi::{Connection, Timeouts};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::luxi;
use crate::common::rapi;

use crate::common::clusters::{Recipe, Style, cases, recipes};
use crate::common::luxi_server::{Act, END, Server, in_pieces, message};

const SUCCESS: &str = r#"{"success":true,"result":"é"}"#;

/// Time limits short enough for a test, and long enough for a busy machine.
fn short() -> Timeouts {
    let time = Duration::from_millis(300);
    Timeouts { connect: time, send: time, silence: time, answer: 3 * time, size: 1 << 20 }
}

fn patient() -> Timeouts {
    Timeouts::default()
}

/// Result of one call.
fn call(
    manner: Timeouts,
    script: impl Fn(usize, &str) -> Vec<Act> + Send + Sync + 'static,
) -> Result<Value, CallError> {
    let place = tempfile::tempdir().unwrap();
    let server = Server::new(place.path(), script);
    let mut connection = Connection::open(&server.socket, manner)?;
    let result = connection.call("Test", &json!([1, "é\u{3}"]));
    let broken = matches!(&result, Err(error) if !matches!(error, CallError::Refused(_)));
    assert_eq!(connection.is_open(), !broken, "{result:?}");
    if broken {
        let again = connection.call("Test", &json!([]));
        let text = "the connection was closed after an earlier failure".to_owned();
        assert_eq!(again, Err(CallError::NotSent(text)));
    }
    result
}

#[test]
fn a_call() {
    let place = tempfile::tempdir().unwrap();
    let server =
        Server::of(place.path(), [SUCCESS.to_owned(), r#"{"success":false,"result":"no"}"#.to_owned()]);
    let mut connection = Connection::open(&server.socket, patient()).unwrap();
    assert_eq!(connection.call("Test", &json!([1, "é/\u{3}\n", null])), Ok(json!("é")));
    // A refusal is not a failure of the connection.
    assert_eq!(connection.call("Test", &json!([])), Err(CallError::Refused("no".to_owned())));
    assert!(connection.is_open());
    let seen = server.requests.lock().unwrap();
    assert_eq!(
        *seen,
        [r#"{"method":"Test","args":[1,"é/\u0003\n",null]}"#, r#"{"method":"Test","args":[]}"#]
    );
}

#[test]
fn answers_in_pieces_and_together() {
    for size in [1, 2, 7] {
        let result = call(patient(), move |_, _| in_pieces(SUCCESS, size, Duration::from_millis(1)));
        assert_eq!(result, Ok(json!("é")));
    }
    // Bytes after the end belong to the next answer.
    let place = tempfile::tempdir().unwrap();
    let server = Server::new(place.path(), |number, _| match number {
        0 => vec![Act::Send(format!("{SUCCESS}\u{3}{}", &SUCCESS[..9]).into_bytes())],
        _ => message(&SUCCESS[9..]),
    });
    let mut connection = Connection::open(&server.socket, patient()).unwrap();
    for _ in 0..2 {
        assert_eq!(connection.call("Test", &json!([])), Ok(json!("é")));
    }
}

#[test]
fn connections_that_end_early() {
    let lost = |text: &str| Err(CallError::Lost(text.to_owned()));
    let result = call(patient(), |_, _| vec![Act::Close]);
    assert_eq!(result, lost("the master daemon closed the connection without an answer"));
    let result = call(patient(), |_, _| vec![Act::Send(SUCCESS.into()), Act::Close]);
    let bytes = SUCCESS.len();
    let text = format!("the master daemon closed the connection in its answer, after {bytes} bytes");
    assert_eq!(result, lost(&text));
}

#[test]
fn daemons_that_take_their_time() {
    let late = |text: &str| Err(CallError::Late(text.to_owned()));
    let silent = call(short(), |_, _| vec![Act::Pause(Duration::from_secs(2))]);
    assert_eq!(silent, late("the master daemon was silent for 0.3 s"));
    // Silent in the middle of an answer.
    let silent = call(short(), |_, _| vec![Act::Send(b"{".into()), Act::Pause(Duration::from_secs(2))]);
    assert_eq!(silent, late("the master daemon was silent for 0.3 s"));
    // Never silent for long.
    let start = Instant::now();
    let slow = call(short(), |_, _| vec![Act::Endless(b" ".into(), Duration::from_millis(20))]);
    assert_eq!(slow, late("the answer was not complete within 0.9 s"));
    assert!(start.elapsed() >= Duration::from_millis(900));
    let endless = call(short(), |_, _| vec![Act::Endless(vec![b' '; 5000], Duration::ZERO)]);
    assert_eq!(endless, Err(CallError::Nonsense("the answer has more than 1048576 bytes".to_owned())));
}

#[test]
fn a_call_with_a_time_of_its_own() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::new(place.path(), |_, _| {
        let pause = Act::Pause(Duration::from_millis(600));
        [vec![pause], message(SUCCESS)].concat()
    });
    let mut connection = Connection::open(&server.socket, short()).unwrap();
    let call = connection.call_within("WaitForJobChange", &json!([]), Duration::from_secs(60));
    assert_eq!(call, Ok(json!("é")));
    let call = connection.call_within("WaitForJobChange", &json!([]), Duration::from_millis(100));
    assert!(matches!(call, Err(CallError::Late(_))), "{call:?}");
}

#[test]
fn requests_that_are_not_taken() {
    let place = tempfile::tempdir().unwrap();
    // The kernel accepts the connection, but nobody reads.
    let _listener = UnixListener::bind(place.path().join("s")).unwrap();
    let long = json!(["x".repeat(10 << 20)]);
    let mut connection = Connection::open(&place.path().join("s"), short()).unwrap();
    let result = connection.call("Test", &long);
    assert_eq!(
        result,
        Err(CallError::NotSent("the master daemon did not accept the request within 0.3 s".to_owned()))
    );
    // A daemon that goes away in the meantime.
    let listener = UnixListener::bind(place.path().join("t")).unwrap();
    let mut connection = Connection::open(&place.path().join("t"), patient()).unwrap();
    let taken = std::thread::spawn(move || drop(listener.accept().unwrap()));
    let result = connection.call("Test", &long);
    taken.join().unwrap();
    let text = "the master daemon closed the connection before it took the request";
    assert_eq!(result, Err(CallError::NotSent(text.to_owned())));
}

#[test]
fn answers_that_are_no_answers() {
    for (bytes, problem) in [
        (&b"\xff\x03"[..], "the answer is not UTF-8 text (byte 0xff at position 0)"),
        (b"\x03", "the answer, line 1, column 0: Invalid JSON: EOF while parsing a value"),
        (b"[]\x03", "the answer: Unable to read JSObject: expected an object, found a list"),
        (b"<html>\x03", "the answer, line 1, column 1: Invalid JSON: expected value"),
    ] {
        let place = tempfile::tempdir().unwrap();
        let server = Server::new(place.path(), move |_, _| vec![Act::Send(bytes.to_vec())]);
        let mut connection = Connection::open(&server.socket, patient()).unwrap();
        let result = connection.call("Test", &json!([]));
        assert_eq!(result, Err(CallError::Nonsense(problem.to_owned())));
    }
}

#[test]
fn where_nobody_answers() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    fs::write(at("file"), "").unwrap();
    drop(UnixListener::bind(at("dead")).unwrap());
    let full = UnixListener::bind(at("full")).unwrap();
    // Connections that nobody accepts, until there is no room for more.
    let waiting: Vec<_> = std::iter::from_fn(|| Connection::open(&at("full"), short()).ok()).collect();
    for (socket, problem) in [
        (at("nosuch"), "there is no such socket; this machine is probably not the master of a cluster"),
        (at("file/s"), "there is no such socket; this machine is probably not the master of a cluster"),
        (at("file"), "this is not a socket"),
        (place.path().to_owned(), "this is not a socket"),
        (at("dead"), "no program listens on this socket; the master daemon is probably not running"),
        (at("full"), "no connection within 0.3 s"),
    ] {
        let found = Connection::open(&socket, short()).map(drop);
        assert_eq!(found, Err(CallError::NotSent(format!("{}: {problem}", socket.display()))));
    }
    assert!(!waiting.is_empty());
    drop(full);
    let long = PathBuf::from(format!("/{}", "s".repeat(200)));
    let CallError::NotSent(text) = Connection::open(&long, short()).map(drop).unwrap_err() else { panic!() };
    assert!(text.ends_with(": the path of the socket has 201 bytes; at most 107 are possible"), "{text}");
}

#[test]
fn a_hundred_million_bytes() {
    let mut text = r#"{"success":true,"result":{"fields":""#.to_owned();
    text.push_str(&"x".repeat(100_000_000));
    text.push_str(r#"","data":[]}}"#);
    let place = tempfile::tempdir().unwrap();
    let length = text.len();
    let server = Server::new(place.path(), move |_, _| message(&text));
    let mut connection = Connection::open(&server.socket, patient()).unwrap();
    let answer = connection.exchange("Test", &json!([])).unwrap();
    assert_eq!(answer.len(), length);
}

/// The answers of a recorded exchange, after a check of its requests.
fn recorded(name: &str) -> Vec<String> {
    let messages: Vec<Value> = fs::read_to_string(fixture(&format!("{name}.jsonl")))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let side = |from: &str| -> Vec<String> {
        let said = messages.iter().filter(|message| message["dir"] == from);
        said.map(|message| message["message"].as_str().unwrap().to_owned()).collect()
    };
    let ours =
        requests(Detail::Usual).map(|(method, args)| json!({"method": method, "args": args}).to_string());
    assert_eq!(side("C>S"), ours, "the same requests as Ganeti's own programs");
    side("S>C")
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/luxi").join(name)
}

/// Exit status, standard output, standard error.
fn run(tool: &str, args: &[&str], directory: &Path) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    command.env("HTOOLS", tool).args(args).current_dir(directory);
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_real_cluster_is_the_same_from_everywhere() {
    let rapi = format!("file://{}", fixture("../rapi/states").display());
    let data = fixture("unbalanced.data").display().to_string();
    for (name, other) in [("states", ["-m", &rapi]), ("unbalanced", ["-t", &data])] {
        let place = tempfile::tempdir().unwrap();
        let server = Server::of(place.path(), recorded(name));
        for (tool, options) in [
            ("hinfo", &["-v", "-p", "--print-instances"][..]),
            ("hbal", &["-v", "-p", "-C"]),
            ("hspace", &["-v"]),
            ("hcheck", &[]),
            ("hroller", &["-f"]),
        ] {
            let (status, stdout, stderr) =
                run(tool, &[&["--luxi=luxi.sock"], options].concat(), place.path());
            let elsewhere = run(tool, &[&other[..], options].concat(), place.path());
            assert_eq!((status, &stdout), (elsewhere.0, &elsewhere.1), "{tool} {stderr}");
            assert!(!stdout.is_empty());
        }
        assert_eq!(server.requests.lock().unwrap().len(), 5 * 4);
    }
}

#[test]
fn a_silent_node_is_offline() {
    let place = tempfile::tempdir().unwrap();
    let _server = Server::of(place.path(), recorded("nodedown"));
    for (tool, args) in [("hinfo", &["-p"][..]), ("hbal", &["-p"]), ("hscan", &["-p"])] {
        let (status, stdout, stderr) = run(tool, &[&["-Lluxi.sock"], args].concat(), place.path());
        assert_eq!(status, 0, "{stderr}");
        // hscan may read several clusters.
        let cluster = if tool == "hscan" { "LOCAL: " } else { "" };
        let warning =
            format!("Warning: {cluster}node 'node3.vc.test' does not answer and is treated as offline\n");
        assert_eq!(stderr.matches("Warning: ").count(), 1, "{stderr}");
        assert!(stderr.contains(&warning), "{stderr}");
        let shown = if tool == "hscan" { stdout } else { stderr };
        assert!(shown.lines().any(|line| line.starts_with(" - node3")), "{tool}: {shown}");
    }
}

#[test]
fn the_local_cluster_is_saved() {
    let place = tempfile::tempdir().unwrap();
    let _server = Server::of(place.path(), recorded("unbalanced"));
    let (status, stdout, stderr) = run("hscan", &["-Lluxi.sock"], place.path());
    assert_eq!((status, stderr.as_str()), (0, ""));
    let lines: Vec<&str> = stdout.lines().collect();
    assert!(lines.len() == 2 && lines[1].starts_with("LOCAL     6    16 "), "{stdout}");
    let saved = fs::read_to_string(place.path().join("LOCAL.data")).unwrap();
    assert_eq!(saved, fs::read_to_string(fixture("unbalanced.data")).unwrap());
}

/// The answers for a small cluster.
fn small() -> [Value; 4] {
    let mut raw = Recipe { nodes: 2, instances: 2, style: Style::Mixed, seed: 1 }.raw();
    rapi::limit_to_rapi(&mut raw);
    luxi::answers(&raw, "xen-pvm").map(|text| serde_json::from_str(&text).unwrap())
}

fn parsed(answers: [String; 4]) -> Result<RawCluster, String> {
    let [nodes, instances, info, groups] = answers.map(Ok);
    let answers =
        LuxiAnswers { source: "sock".into(), detail: Detail::Storage, nodes, instances, info, groups };
    parse(&answers).map_err(|e| e.to_string())
}

#[test]
fn hscan_reports_what_the_daemon_says_and_what_breaks() {
    let place = tempfile::tempdir().unwrap();
    let _server = Server::new(place.path(), |_, _| message(r#"{"success":false,"result":"no"}"#));
    let (status, stdout, stderr) = run("hscan", &["-Lluxi.sock"], place.path());
    assert_eq!((status, stderr.as_str()), (2, ""));
    let wanted = "\n\nError for LOCAL: failed to load data. Details:\nluxi.sock: query for groups: no\n";
    assert!(stdout.ends_with(wanted), "{stdout}");

    let place = tempfile::tempdir().unwrap();
    let _server = Server::new(place.path(), |_, _| vec![Act::Close]);
    let (status, stdout, stderr) = run("hscan", &["-Lluxi.sock"], place.path());
    assert_eq!((status, stdout.lines().count()), (1, 1));
    assert_eq!(stderr, "Error: luxi.sock: the master daemon closed the connection without an answer\n");
}

#[test]
fn a_refusal_does_not_stop_the_rest() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::new(place.path(), |number, _| {
        message(format!(r#"{{"success":false,"result":"no {number}"}}"#))
    });
    let answers = fetch(&server.socket, patient(), Detail::Usual).unwrap();
    assert_eq!(server.requests.lock().unwrap().len(), 4);
    // Groups are parsed first.
    assert!(parse(&answers).unwrap_err().problem.ends_with("query for groups: no 3"));
}

#[test]
fn problems_in_rows_name_object_field_and_value() {
    let cell = |which: usize, field: usize, value: Value| {
        let mut answers = small();
        let path = format!("/result/data/0/{field}");
        *answers[which].pointer_mut(&path).unwrap() = value;
        parsed(answers.map(|answer| answer.to_string())).map(drop)
    };
    let name = |which: usize| small()[which]["result"]["data"][0][0][1].as_str().unwrap().to_owned();
    let node = |problem: &str| Err(format!("sock, node '{}': {problem}", name(0)));
    let instance = |problem: &str| Err(format!("sock, instance '{}': {problem}", name(1)));
    assert_eq!(cell(0, 1, json!([1, null])), node("field 'mtotal': the master does not know this field"));
    assert_eq!(cell(0, 1, json!([2, null])), node("field 'mtotal': the master has no data"));
    assert_eq!(
        cell(0, 2, json!([3, null])),
        node("field 'mnode': the master says that this is not available")
    );
    assert_eq!(cell(0, 6, json!([4, 1])), node("field 'ctotal': the master says that the node is offline"));
    assert_eq!(cell(0, 6, json!([5, 1])), node("field 'ctotal': 5 is not a status"));
    assert_eq!(cell(0, 6, json!([4.6, 1])), node("field 'ctotal': 4.6 is not a status"));
    assert_eq!(cell(0, 7, json!([0, "x"])), node("field 'cnos': expected a number, found \"x\""));
    assert_eq!(cell(0, 12, json!([0, "x"])), node("field 'group.uuid': no group has the UUID 'x'"));
    assert_eq!(cell(0, 17, json!([2, null])), node("field 'ndp/cpu_speed': the master has no data"));
    for field in [4, 5, 16] {
        for value in [json!([2, null]), json!([0, "x"]), json!([9, 1]), json!([0.0, 7])] {
            assert_eq!(cell(0, field, value), Ok(()), "{field}");
        }
    }
    assert_eq!(
        cell(0, 4, json!([0])),
        Err("sock, node, item 1: field 'dtotal': expected a status and a value, found a list".into())
    );
    assert_eq!(
        cell(0, 0, json!([0, 1])),
        Err("sock, node, item 1: field 'name': Unable to read String: expected a string, found 1".into())
    );
    let unknown = |field: &str| format!("field '{field}': Unknown node 'x' for instance {}", name(1));
    assert_eq!(cell(1, 5, json!([0, "x"])), instance(&unknown("pnode")));
    assert_eq!(cell(1, 6, json!([0, ["x"]])), instance(&unknown("snodes")));
    assert_eq!(
        cell(1, 12, json!([0, [1.5, "x"]])),
        instance("field 'disk.spindles': item 2: expected a number, found \"x\"")
    );
    assert_eq!(
        cell(1, 13, json!([0, null])),
        instance("field 'forthcoming': expected true or false, found null")
    );
}

#[test]
fn disk_parameters_are_asked_for_where_they_are_wanted() {
    let fields = |detail: Detail| requests(detail)[3].1[1].clone();
    let usual = json!(["uuid", "name", "alloc_policy", "ipolicy", "tags"]);
    assert_eq!(fields(Detail::Usual), usual);
    assert_eq!(
        fields(Detail::Storage),
        json!(["uuid", "name", "alloc_policy", "ipolicy", "tags", "diskparams"])
    );
    let with = |cell: Value| {
        let mut answers = small();
        answers[3]["result"]["data"][0][5] = cell;
        let read = parsed(answers.map(|answer| answer.to_string()));
        read.map(|raw| raw.groups[0].disk_parameters.clone())
    };
    let ssd = DiskParameters { rbd_pool: "ssd".into(), ..DiskParameters::default() };
    assert_eq!(with(json!([0, {"rbd": {"pool": "ssd"}}])), Ok(ssd));
    // A master that does not know the field, and one without information about pools.
    for nothing in [json!([1, null]), json!([0, {}]), json!([0, null])] {
        assert_eq!(with(nothing), Ok(DiskParameters::default()));
    }
    let name = small()[3]["result"]["data"][0][1][1].as_str().unwrap().to_owned();
    let problem = |problem: &str| Err(format!("sock, group '{name}'{problem}"));
    assert_eq!(with(json!([2, null])), problem(": field 'diskparams': the master has no data"));
    assert_eq!(
        with(json!([0, 7])),
        problem(": key 'diskparams': Unable to read JSObject: expected an object, found 7")
    );
    assert_eq!(
        with(json!([0, {"rbd": {"pool": "a\u{0}"}}])),
        problem(", diskparams, rbd: key 'pool': \"a\\u{0}\" is not a name")
    );
}

#[test]
fn problems_in_tables_and_the_cluster() {
    let changed = |which: usize, change: &dyn Fn(&mut Value)| {
        let mut answers = small();
        change(&mut answers[which]["result"]);
        parsed(answers.map(|answer| answer.to_string())).unwrap_err()
    };
    assert_eq!(
        changed(0, &|result| *result = json!([])),
        "sock, node: Unable to read JSObject: expected an object, found a list"
    );
    assert!(
        changed(3, &|result| *result = json!({"fields": []}))
            .starts_with("sock, group: key 'data' not found")
    );
    assert_eq!(
        changed(1, &|result| result["data"] = json!(7)),
        "sock, instance: key 'data': expected a list, found 7"
    );
    assert_eq!(
        changed(0, &|result| result["data"][1] = json!(7)),
        "sock, node, item 2: expected a list, found 7"
    );
    let short = |result: &mut Value| drop(result["data"][1].as_array_mut().unwrap().pop());
    assert_eq!(changed(0, &short), "sock, node, item 2: expected 18 fields, found 17");
    assert_eq!(
        changed(2, &|result| result["master"] = json!("x")),
        "sock, cluster: key 'master': no node has the name 'x'"
    );
    assert_eq!(
        changed(2, &|result| *result = json!(null)),
        "sock, cluster: Unable to read JSObject: expected an object, found null"
    );
    let policy = |result: &mut Value| result["data"][0][3][1]["std"] = json!(1);
    assert!(
        changed(3, &policy)
            .ends_with("ipolicy: key 'std': Unable to read JSObject: expected an object, found 1")
    );
}

/// JSON pointers of all values in a document.
fn pointers(value: &Value, path: &mut String, places: &mut Vec<String>) {
    places.push(path.clone());
    let mut visit = |key: &str, inner: &Value| {
        let before = path.len();
        path.push('/');
        path.push_str(&key.replace('~', "~0").replace('/', "~1"));
        pointers(inner, path, places);
        path.truncate(before);
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, inner)| visit(key, inner)),
        Value::Array(list) => list.iter().enumerate().for_each(|(i, inner)| visit(&i.to_string(), inner)),
        _ => {}
    }
}

fn one_line(result: Result<RawCluster, String>) -> Result<(), TestCaseError> {
    if let Err(line) = result {
        prop_assert!(line.chars().count() < 500 && !line.chars().any(char::is_control), "{line:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn the_same_cluster_over_luxi_and_rapi(recipe in recipes(&[Style::Mixed, Style::Tight], 1..=12, 0..=40)) {
        let mut raw = recipe.raw();
        prop_assume!(!raw.nodes.is_empty());
        rapi::limit_to_rapi(&mut raw);
        for (at, group) in raw.groups.iter_mut().enumerate().skip(1) {
            let gluster = GlusterVolume { host: "fd00::1".into(), port: 24008, volume: format!("v{at}") };
            group.disk_parameters = DiskParameters { rbd_pool: format!("p{at}"), gluster };
        }
        let over_luxi = parsed(luxi::answers(&raw, "fake"));
        let answer = |value: &Value| htools::load::rapi::ResourceAnswer { source: "x".into(), body: Ok(value.to_string().into()) };
        let [groups, nodes, instances, info] = rapi::answers(&raw, "fake").each_ref().map(answer);
        let answers = htools::load::rapi::RapiAnswers { groups, nodes, instances, info };
        let over_rapi = htools::load::rapi::parse_detailed(&answers, Detail::Storage);
        prop_assert_eq!(&over_luxi, &over_rapi.map_err(|e| e.to_string()));
        let read = over_luxi.unwrap().groups.into_iter().map(|group| group.disk_parameters);
        prop_assert!(read.eq(raw.groups.into_iter().map(|group| group.disk_parameters)));
    }

    #[test]
    fn mutilated_answers_give_one_line(
        which in 0_usize..4,
        cuts in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..3), 1..6),
    ) {
        let mut answers = small().map(|answer| answer.to_string());
        let mut bytes = answers[which].clone().into_bytes();
        for (at, byte, how) in cuts {
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => drop(bytes.drain(at..(at + usize::from(byte % 16)).min(bytes.len()))),
            }
            if bytes.is_empty() {
                bytes.push(b'{');
            }
        }
        answers[which] = String::from_utf8_lossy(&bytes).into_owned();
        one_line(parsed(answers))?;
    }

    #[test]
    fn values_of_another_kind_give_one_line(
        which in 0_usize..4,
        at in any::<prop::sample::Index>(),
        value in prop::sample::select(vec!["null", "7", "-1.5", "\"x\\u001b\"", "[]", "{}", "[0,null]", "[2,null]", "1e300", "true"]),
    ) {
        let mut answers = small();
        let mut places = Vec::new();
        pointers(&answers[which], &mut String::new(), &mut places);
        let place = &places[at.index(places.len())];
        *answers[which].pointer_mut(place).unwrap() = serde_json::from_str(value).unwrap();
        one_line(parsed(answers.map(|answer| answer.to_string())))?;
    }

    #[test]
    fn arbitrary_answers_give_one_line(text in any::<String>(), which in 0_usize..4) {
        let mut answers = small().map(|answer| answer.to_string());
        answers[which] = text;
        one_line(parsed(answers))?;
    }

    #[test]
    fn messages_are_cut_at_their_ends(sizes in proptest::collection::vec(0_usize..200, 1..6), piece in 1_usize..300) {
        let texts: Vec<String> = sizes.iter().map(|size| "é".repeat(*size)).collect();
        let place = tempfile::tempdir().unwrap();
        let sent = texts.clone();
        // All of them as the answer to the first request.
        let server = Server::new(place.path(), move |number, _| {
            let all: Vec<u8> = sent.iter().flat_map(|text| text.bytes().chain([END])).collect();
            if number > 0 { Vec::new() } else { all.chunks(piece).map(|piece| Act::Send(piece.to_vec())).collect() }
        });
        let mut connection = Connection::open(&server.socket, patient()).unwrap();
        for text in texts {
            prop_assert_eq!(connection.exchange("Test", &json!([])), Ok(text));
        }
    }
}

#[test]
fn a_reading_has_one_deadline_and_one_size() {
    let place = tempfile::tempdir().unwrap();
    let refusal = r#"{"success":false,"result":"no"}"#;
    let server = Server::new(place.path(), move |_, _| {
        [vec![Act::Pause(Duration::from_millis(600))], message(refusal)].concat()
    });
    // A refusal does not stop the rest, and none of the four is late by itself.
    let time = Duration::from_secs(1);
    let manner = Timeouts { silence: 60 * time, answer: time, ..patient() };
    let start = Instant::now();
    let error = fetch(&server.socket, manner, Detail::Usual).unwrap_err().to_string();
    assert!(error.ends_with("the answer was not complete within 1 s"), "{error}");
    assert_eq!(server.requests.lock().unwrap().len(), 2);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    let place = tempfile::tempdir().unwrap();
    let server = Server::new(place.path(), move |_, _| message(refusal));
    let manner = Timeouts { size: 114, ..patient() };
    assert!((2..4).contains(&(manner.size / refusal.len())));
    let error = fetch(&server.socket, manner, Detail::Usual).unwrap_err().to_string();
    assert!(error.ends_with("the answers have more than 114 bytes together"), "{error}");
}
