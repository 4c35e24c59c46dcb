//! The remote API over HTTP: a small server of the tests on the loopback interface gives good answers and many kinds
//! of bad ones.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use htools::input::error::LoadError;
use htools::load::Detail;
use htools::load::RawCluster;
use htools::load::rapi::load_in;
use htools::remote::rapi::{Access, Address, FetchLimits};

use crate::common::rapi::RESOURCES;

const PASSWORD: &str = "s3cr3t";

/// A server that stops when it is dropped.
pub struct Server {
    port: u16,
    /// The heads of the requests so far.
    pub requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// A server that answers a request for a path with these bytes.
    pub fn new(answer: impl Fn(&str) -> Vec<u8> + Send + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let head = read_head(&mut stream);
                let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                seen.lock().unwrap().push(head);
                // The client may have gone.
                let _ = stream.write_all(&answer(&path));
            }
        });
        Server { port, requests }
    }

    /// A server that answers with the files of a directory.
    fn of(directory: PathBuf) -> Server {
        Server::new(move |path| {
            let file = RESOURCES.iter().find(|(_, resource)| *resource == path);
            file.map_or_else(
                || response("404 Not Found", "{}"),
                |(name, _)| response("200 OK", &fs::read_to_string(directory.join(name)).unwrap()),
            )
        })
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn url_with_login(&self) -> String {
        format!("http://user:{PASSWORD}@127.0.0.1:{}", self.port)
    }
}

fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

pub fn response(status: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
        .into_bytes()
}

pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/rapi").join(name)
}

/// Exit status, standard output, standard error.
fn run(tool: &str, args: &[&str], directory: &Path) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    command.env("HTOOLS", tool).env("NO_PROXY", "*").args(args).current_dir(directory);
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn error_of(url: &str) -> String {
    let (status, stdout, stderr) = run("hinfo", &["-m", url], Path::new("."));
    assert_eq!((status, stdout.as_str()), (1, ""), "{stderr}");
    let stderr =
        stderr.strip_prefix("Error: failed to load data, aborting: ").unwrap_or_else(|| panic!("{stderr}"));
    let (problem, hint) = stderr.split_once('\n').unwrap();
    assert!(hint.lines().all(|line| line.starts_with("Hint: ")), "{stderr}");
    problem.to_owned()
}

#[test]
fn the_same_cluster_over_http_and_from_files() {
    let server = Server::of(fixture("states"));
    let directory = format!("file://{}", fixture("states").display());
    let data = fixture("states.data").display().to_string();
    for (tool, options) in [("hinfo", &["-v", "-v", "-p"][..]), ("hbal", &["-v", "-C"]), ("hspace", &["-v"])]
    {
        let with = |source: &[&str]| run(tool, &[source, options].concat(), Path::new("."));
        let (status, stdout, _) = with(&["-m", &server.url()]);
        assert_eq!(status, 0);
        assert_eq!(stdout, with(&["-m", &directory]).1, "{tool}");
        assert_eq!(stdout, with(&["-t", &data]).1, "{tool}");
    }
}

#[test]
fn what_is_asked() {
    let server = Server::of(fixture("two-groups"));
    assert_eq!(run("hinfo", &["-m", &server.url()], Path::new(".")).0, 0);
    let requests = server.requests.lock().unwrap();
    assert_eq!(requests.len(), 4);
    for (head, (_, resource)) in requests.iter().zip(RESOURCES) {
        assert!(head.starts_with(&format!("GET {resource} HTTP/1.1\r\n")), "{head}");
        assert!(head.to_lowercase().contains("accept: */*"), "{head}");
        assert!(!head.to_lowercase().contains("authorization"), "{head}");
    }
}

#[test]
fn nothing_is_asked_after_a_failure() {
    let server = Server::new(|path| response(if path == "/2/info" { "500 x" } else { "403 x" }, ""));
    assert!(error_of(&server.url()).starts_with(&format!("{}/2/groups?bulk=1: ", server.url())));
    assert_eq!(server.requests.lock().unwrap().len(), 1);
}

/// Reads a cluster without proxies.
fn load(url: &str, manner: FetchLimits) -> Result<RawCluster, LoadError> {
    let address = Address::new(OsStr::new(url));
    load_in(&address, &Access::default(), Detail::Usual, FetchLimits { proxies: false, ..manner })
}

#[test]
fn refusals_name_url_and_cause() {
    for (status, cause) in [
        ("401 Unauthorized", "the server wants a user and a password (401 Unauthorized)"),
        ("403 Forbidden", "the user lacks the right 'read' in RAPI's file of users (403 Forbidden)"),
        ("404 Not Found", "there is no RAPI at this address (404 Not Found)"),
        ("500 Internal Server Error", "the server failed (500 Internal Server Error)"),
        ("418 x", "the server refused the request (418 I'm a teapot)"),
    ] {
        let server = Server::new(move |_| response(status, "{}"));
        assert_eq!(error_of(&server.url()), format!("{}/2/groups?bulk=1: {cause}", server.url()));
    }
}

#[test]
fn redirects_are_not_followed() {
    let redirect =
        "HTTP/1.1 301 Moved Permanently\r\nLocation: http://u:pass@h/\r\nContent-Length: 2\r\n\r\n[]";
    let server = Server::new(move |_| redirect.as_bytes().to_vec());
    let wanted = "redirected to http://u:***@h/, which is not followed (301 Moved Permanently)";
    assert_eq!(error_of(&server.url()), format!("{}/2/groups?bulk=1: {wanted}", server.url()));
}

#[test]
fn answers_that_are_no_answers() {
    let cases: [(&[u8], &str); 6] = [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[{", ": the answer is cut off: "),
        (b"HTTP/1.1 200 OK\r\n\r\n[{", ", line 1, column 2: Invalid JSON: EOF while parsing"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>", ", line 1, column 1: Invalid JSON: "),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\xff", ", line 1: not UTF-8 text (byte 0xff)"),
        (b"", ": no usable answer: connection closed before message completed"),
        (b"SSH-2.0-OpenSSH\r\n", ": no usable answer: invalid HTTP version parsed"),
    ];
    for (bytes, problem) in cases {
        let server = Server::new(move |_| bytes.to_vec());
        let wanted = format!("{}/2/groups?bulk=1{problem}", server.url());
        let found = error_of(&server.url());
        assert!(found.starts_with(&wanted), "{found}\n{wanted}");
    }
}

#[test]
fn where_nobody_answers() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    assert!(error_of(&format!("127.0.0.1:{port}")).ends_with("/2/groups?bulk=1: connection refused"));
    assert!(error_of("foo://bar").contains("not a usable URL"));
    // Plain HTTP instead of the expected TLS.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream.unwrap().write_all(&response("400 Bad Request", ""));
        }
    });
    let error = error_of(&format!("https://127.0.0.1:{port}"));
    assert!(error.contains("/2/groups?bulk=1: no TLS connection: "), "{error}");
}

#[test]
fn a_silent_server_costs_a_limited_time() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || listener.incoming().map(|s| s.unwrap()).collect::<Vec<_>>());
    let manner = FetchLimits { transfer: Duration::from_millis(300), ..FetchLimits::default() };
    let start = Instant::now();
    let error = load(&format!("127.0.0.1:{port}"), manner).unwrap_err().to_string();
    assert_eq!(error, format!("http://127.0.0.1:{port}/2/groups?bulk=1: no complete answer within 300.0ms"));
    // The wait happens once, not four times.
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

/// A server that sends its answers byte by byte, with `pause` between them.
fn trickling(pause: Duration, answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, answer) = (stream.unwrap(), Arc::clone(&answer));
            thread::spawn(move || {
                let head = read_head(&mut stream);
                let bytes = answer(head.split(' ').nth(1).unwrap_or_default());
                let all = bytes.chunks(1).all(|byte| {
                    thread::sleep(pause);
                    stream.write_all(byte).is_ok()
                });
                drop((all, stream));
            });
        }
    });
    url
}

#[test]
fn a_byte_now_and_then_gives_no_more_time() {
    let url = trickling(Duration::from_millis(20), |_| response("200 OK", &" ".repeat(1_000_000)));
    let manner = FetchLimits { transfer: Duration::from_millis(2500), ..FetchLimits::default() };
    let start = Instant::now();
    let error = load(&url, manner).unwrap_err().to_string();
    assert_eq!(error, format!("{url}/2/groups?bulk=1: no complete answer within 2.5s"));
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn a_reading_has_one_deadline() {
    let groups = fs::read_to_string(fixture("two-groups").join("groups.json")).unwrap();
    let server = Server::new(move |path| {
        if path.starts_with("/2/groups") {
            return response("200 OK", &groups);
        }
        thread::sleep(Duration::from_secs(12));
        response("200 OK", "[]")
    });
    let manner = FetchLimits {
        transfer: Duration::from_secs(50),
        reading: Duration::from_secs(5),
        ..FetchLimits::default()
    };
    let start = Instant::now();
    let error = load(&server.url(), manner).unwrap_err().to_string();
    assert!(error.starts_with(&format!("{}/2/nodes?bulk=1: ", server.url())), "{error}");
    assert!(error.ends_with("the cluster was not read within 5.0s"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(40), "{:?}", start.elapsed());
}

#[test]
fn a_server_that_never_ends_is_stopped() {
    let server = Server::new(|_| [b"HTTP/1.1 200 OK\r\n\r\n[".as_slice(), &[b' '; 5000]].concat());
    let error = load(&server.url(), FetchLimits { size: 1000, ..FetchLimits::default() }).unwrap_err();
    assert_eq!(error.problem, "more than 1000 bytes");
}

#[test]
fn passwords_are_sent_and_never_shown() {
    let server = Server::of(fixture("states"));
    let dir = tempfile::tempdir().unwrap();
    let (status, stdout, stderr) = run("hscan", &[&server.url_with_login()], dir.path());
    assert_eq!(status, 0);
    assert!(
        stderr.starts_with("Warning: others on this machine can see the password")
            && stderr.lines().count() == 1
    );
    assert!(!stderr.contains(PASSWORD));
    let shown = format!("http://user:***@127.0.0.1:{}", server.port);
    assert!(stdout.lines().nth(1).unwrap().starts_with(&format!("{shown}     6    16 ")), "{stdout}");
    assert!(!stdout.contains(PASSWORD));
    let files: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(files, [&*format!("http:__127.0.0.1:{}.data", server.port)]);
    // user:s3cr3t
    let wanted = "authorization: basic dXNlcjpzM2NyM3Q=".to_lowercase();
    assert!(server.requests.lock().unwrap().iter().all(|head| head.to_lowercase().contains(&wanted)));

    let refusing = Server::new(|_| response("401 Unauthorized", ""));
    let error = error_of(&refusing.url_with_login());
    assert!(
        error.ends_with("the user or the password is wrong (401 Unauthorized)") && !error.contains(PASSWORD),
        "{error}"
    );
    for url in [
        "http://user:s3cr3t@[::1",
        "http://user:s3/cr3t@h:1:2",
        "https://user:s3cr3t@127.0.0.1:1",
        "u:s3cr3t@/",
    ] {
        let error = error_of(url);
        assert!(!error.contains("cr3t") && error.contains(":***@"), "{error}");
    }
}
