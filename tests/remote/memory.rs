//! Answers and files that need more memory than there is. Every run has a limit on its address space and must end
//! with one line on standard error.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;

use assert_cmd::Command;

use crate::common::rapi;

use crate::common::luxi_server::{Act, END, Server};

/// Limit of a run, in KiB: 1 GiB.
const LIMIT: u64 = 1 << 20;
/// Size of a long answer in bytes. It would need more than half a gigabyte if all its values were kept.
const LONG: usize = 28 << 20;

/// Exit status, standard output, standard error of a tool under the limit.
fn run(tool: &str, args: &[&str], directory: &Path) -> (i32, String, String) {
    let script = format!("ulimit -v {LIMIT}; exec \"$0\" \"$@\"");
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", &script, env!("CARGO_BIN_EXE_htools")])
        .args(args)
        .env("HTOOLS", tool)
        .env("NO_PROXY", "*")
        // Arenas and stacks of threads use address space, too.
        .env("MALLOC_ARENA_MAX", "2")
        .env("RAYON_NUM_THREADS", "2")
        .current_dir(directory);
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().expect("not killed"), text(output.stdout), text(output.stderr))
}

/// The only line on standard error of a run that ends with this status.
fn line(found: (i32, String, String), status: i32) -> String {
    assert_eq!(found.0, status, "{}", found.2);
    assert_eq!(found.2.lines().count(), 1, "{}", found.2);
    found.2.trim_end().to_owned()
}

/// `[0,0,...]` with this number of bytes.
fn zeros(bytes: usize) -> String {
    format!("[0{}]", ",0".repeat(bytes / 2 - 1))
}

/// The frame with `text` in place of `HERE`.
fn with(frame: &str, text: &str) -> String {
    let (before, after) = frame.split_once("HERE").unwrap();
    [before, text, after].concat()
}

fn fixture(name: &str) -> String {
    fs::read_to_string(Path::new("tests/fixtures/rapi/two-groups").join(name)).unwrap()
}

/// The answers of a cluster over RAPI in a directory, with one of them replaced.
fn directory(name: &str, text: &str) -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    for (file, _) in rapi::RESOURCES {
        let content = if file == name { text.to_owned() } else { fixture(file) };
        fs::write(place.path().join(file), content).unwrap();
    }
    place
}

#[test]
fn long_answers_of_rapi() {
    for (file, frame, ends) in [
        ("groups.json", "HERE", ", item 1: Unable to read JSObject: expected an object, found 0"),
        ("nodes.json", r#"[{"name":"n","tags":HERE}]"#, "needs more than 384 MiB of memory"),
        ("instances.json", r#"[{"name":"i","snodes":HERE}]"#, "needs more than 384 MiB of memory"),
        (
            "instances.json",
            r#"[{"name":"i","nobody":HERE}]"#,
            ", instance 'i': key 'disk_usage' not found, object contains only [\"name\",\"nobody\"]",
        ),
        ("info.json", "HERE", "needs more than 384 MiB of memory"),
        ("info.json", r#"{"tags":HERE}"#, "needs more than 384 MiB of memory"),
    ] {
        let place = directory(file, &with(frame, &zeros(LONG)));
        let found = line(run("hinfo", &["-m", "file://."], place.path()), 1);
        assert!(found.contains(file) && found.ends_with(ends), "{found}");
    }
}

/// Deep nesting has the same effect as length.
#[test]
fn deep_answers_of_rapi() {
    for frame in ["HERE", r#"[{"name":"n","tags":HERE}]"#, r#"[{"name":"n","nobody":HERE}]"#] {
        let place = directory("nodes.json", &with(frame, &"[".repeat(LONG)));
        let found = line(run("hinfo", &["-m", "file://."], place.path()), 1);
        assert!(found.contains("nodes.json, line 1, column ") && found.contains("Invalid JSON"), "{found}");
    }
}

/// A server that answers every request with these bytes.
fn http(port: Option<&str>, answer: String) -> u16 {
    let listener = match port {
        Some(address) => TcpListener::bind((address, 1815)).unwrap(),
        None => TcpListener::bind("127.0.0.1:0").unwrap(),
    };
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            skip_head(&mut stream);
            // The client may have gone.
            let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{answer}", answer.len());
        }
    });
    port
}

fn skip_head(stream: &mut TcpStream) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
        head.push(byte[0]);
    }
}

#[test]
fn long_answers_over_http() {
    let frame = fixture("groups.json").replacen(r#""alloc_policy""#, r#""tags":HERE,"alloc_policy""#, 1);
    let port = http(None, with(&frame, &zeros(LONG)));
    let found = line(run("hscan", &["--no-headers", &format!("127.0.0.1:{port}")], Path::new(".")).swap(), 2);
    assert!(found.ends_with("needs more than 384 MiB of memory"), "{found}");
}

/// hscan reports problems of a cluster on standard output.
trait Swap {
    fn swap(self) -> Self;
}

impl Swap for (i32, String, String) {
    fn swap(self) -> Self {
        let last = self.1.lines().last().unwrap_or_default().to_owned();
        (self.0, self.2, last)
    }
}

#[test]
fn long_answers_of_the_master_daemon() {
    for (frame, ends) in [
        (r#"{"success":true,"result":HERE}"#, "needs more than 384 MiB of memory"),
        (r#"{"success":true,"result":{"data":HERE}}"#, "group, item 1: expected a list, found 0"),
        (r#"{"success":true,"result":{"data":[HERE]}}"#, "needs more than 384 MiB of memory"),
        (r#"{"success":false,"result":HERE}"#, "needs more than 8 MiB of memory"),
        (r#"{"success":true,"nobody":HERE,"result":{"data":7}}"#, "key 'data': expected a list, found 7"),
    ] {
        let place = tempfile::tempdir().unwrap();
        let answer = with(frame, &zeros(LONG));
        let server = Server::new(place.path(), move |number, _| {
            // Groups are requested last.
            let text = if number == 3 { answer.as_str() } else { "{}" };
            vec![Act::Send([text.as_bytes(), &[END]].concat())]
        });
        let socket = server.socket.to_str().unwrap();
        let found = line(run("hinfo", &[&format!("--luxi={socket}")], place.path()), 1);
        assert!(found.ends_with(ends), "{found}");
    }
}

#[test]
fn long_answers_about_jobs() {
    use htools::execute::job::JobId;
    use htools::execute::{JobClient, LuxiClient, RapiClient};
    use htools::remote::rapi::{Access, Address, FetchLimits, Session};

    // These are calls of the library; the limit appears in their errors.
    let wanted = "its content needs more than 64 MiB of memory";
    let place = tempfile::tempdir().unwrap();
    let answer = format!(r#"{{"success":true,"result":{}}}"#, zeros(LONG));
    let server = Server::new(place.path(), move |_, _| vec![Act::Send([answer.as_bytes(), &[END]].concat())]);
    let mut client = LuxiClient::new(server.socket.clone(), htools::remote::luxi::Timeouts::default());
    let error = client.states(&[JobId(1)]).unwrap_err().to_string();
    assert!(error.ends_with(wanted), "{error}");

    let port = http(None, format!(r#"{{"status":"error","opresult":{}}}"#, zeros(LONG)));
    let address = Address::new(format!("127.0.0.1:{port}").as_ref());
    let manner = FetchLimits { proxies: false, ..FetchLimits::default() };
    let mut client = RapiClient::new(Session::new(&address, &Access::default(), manner).unwrap());
    let error = client.states(&[JobId(1)]).unwrap_err().to_string();
    assert!(error.ends_with(wanted), "{error}");
}

#[test]
fn files_that_never_end() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("c.data"), "g|u|preferred||\n\nn|1|0|1|1|1|1|M|u|1\n\n\n\n").unwrap();
    let wanted = "more than 536870912 bytes";
    for (tool, args, status) in [
        ("hinfo", &["-t", "/dev/zero"][..], 1),
        ("hinfo", &["-I", "/dev/zero"], 1),
        ("hbal", &["-t", "c.data", "-U", "/dev/zero"], 1),
        ("hbal", &["-t", "c.data", "--mond=yes", "--mond-data", "/dev/zero"], 1),
        ("hsqueeze", &["-t", "c.data", "--standby-data", "/dev/zero"], 1),
        ("hail", &["/dev/zero"], 1),
    ] {
        let found = line(run(tool, args, place.path()), status);
        assert!(found.ends_with(wanted), "{found}");
    }
    // Files that are not regular, or larger than any of their kind.
    for (args, wanted) in [
        (&["-m", "127.0.0.1:1", "--rapi-credentials", "/dev/zero"][..], "not a regular file"),
        (&["-m", "https://127.0.0.1:1", "--rapi-cacert", "/dev/zero"], "not a regular file"),
        (&["--luxi=none", "--resume", "/dev/zero"], "not a regular file"),
    ] {
        let found = line(run("hbal", args, place.path()), 1);
        assert!(found.ends_with(wanted), "{found}");
    }
}

#[test]
fn files_that_become_more_than_they_are() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("long");
    let over = "needs more than 512 MiB of memory";
    let many = 16 << 20;
    let data = "g|u|preferred||\n\nn|1|0|1|1|1|1|M|u|1\n\n\n";
    for (text, args) in [
        (format!("{data}{}\n", "t\n".repeat(many)), &["-t", "long"][..]),
        (data.replacen("|u|1\n", &format!("|u|1|{}\n", "a,".repeat(many)), 1), &["-t", "long"]),
        (format!(r#"{{"request":{}}}"#, zeros(LONG)), &["-I", "long"]),
        (format!(r#"{{"request":{{}},"nodegroups":{{}},"nodes":{{"n":{}}}}}"#, zeros(LONG)), &["-I", "long"]),
    ] {
        fs::write(&path, text).unwrap();
        let found = line(run("hinfo", args, place.path()), 1);
        assert!(found.ends_with(over), "{found}");
    }
}
