//! `htools exporter` with several clusters, some of which hang or fail, and with malicious clients.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};

use super::rapi::{Server, fixture, response};
use crate::common::exposition::{Series, parse};
use crate::common::rapi::RESOURCES;

/// Most attempts while waiting, and the pause between them. No test depends on the time that something takes.
const ATTEMPTS: usize = 1200;
const PAUSE: Duration = Duration::from_millis(50);

/// Reactions of a cluster to requests.
const GOOD: u8 = 0;
const BROKEN: u8 = 1;
const SILENT: u8 = 2;

/// A cluster whose reaction can be changed.
fn cluster(manner: u8) -> (Server, Arc<AtomicU8>) {
    let manner = Arc::new(AtomicU8::new(manner));
    let own = Arc::clone(&manner);
    let server = Server::new(move |path| {
        while own.load(Ordering::SeqCst) == SILENT {
            thread::sleep(PAUSE);
        }
        let file = RESOURCES.iter().find(|(_, resource)| *resource == path);
        match file.filter(|_| own.load(Ordering::SeqCst) == GOOD) {
            Some((name, _)) => response("200 OK", &fs::read_to_string(fixture("states").join(name)).unwrap()),
            None => response("500 Internal Server Error", "{}"),
        }
    });
    (server, manner)
}

/// A server that stops when it is dropped.
struct Exporter {
    child: Child,
    address: String,
    said: Arc<Mutex<String>>,
}

impl Exporter {
    fn start(words: &[&str]) -> Exporter {
        Exporter::configured("", words)
    }

    /// An exporter with a configuration file; without one if the name is empty.
    fn configured(file: &str, words: &[&str]) -> Exporter {
        let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
        command.env_remove("HTOOLS").env("NO_PROXY", "*").env("HTOOLS_CONFIG", file);
        command.args(["exporter", "--listen", "127.0.0.1:0"]);
        let mut child = command.args(words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut first = String::new();
        lines.read_line(&mut first).unwrap();
        let address = first.strip_prefix("Listening on http://").unwrap_or_else(|| panic!("{first}"));
        let address = address.trim_end().strip_suffix("/metrics").unwrap().to_owned();
        let said = Arc::new(Mutex::new(String::new()));
        let heard = Arc::clone(&said);
        thread::spawn(move || {
            for line in lines.lines() {
                heard.lock().unwrap().push_str(&(line.unwrap() + "\n"));
            }
        });
        Exporter { child, address, said }
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).unwrap()
    }

    /// Head and body of the answer to a request.
    fn ask(&self, bytes: &[u8]) -> (String, String) {
        let mut stream = self.connect();
        // A client that is refused early may be unable to send everything.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8(answer).unwrap();
        answer.split_once("\r\n\r\n").map_or_else(Default::default, |(h, b)| (h.to_owned(), b.to_owned()))
    }

    fn get(&self, path: &str) -> (String, String) {
        self.ask(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())
    }

    fn scrape(&self) -> Vec<Series> {
        let (head, body) = self.get("/metrics");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(head.contains("content-type: text/plain; version=0.0.4; charset=utf-8"), "{head}");
        parse(&body).unwrap()
    }

    /// Requests the figures until they satisfy the condition.
    fn wait_for(&self, what: &str, is_there: impl Fn(&[Series]) -> bool) -> Vec<Series> {
        for _ in 0..ATTEMPTS {
            let found = self.scrape();
            if is_there(&found) {
                return found;
            }
            thread::sleep(PAUSE);
        }
        panic!("{what} never happens: {}", self.said.lock().unwrap());
    }

    /// Exit status after a signal.
    fn end(mut self, signal: Signal) -> Option<i32> {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn values(found: &[Series], name: &str, cluster: &str) -> Vec<f64> {
    let name = format!("htools_{name}");
    let fits = |series: &&Series| series.name == name && series.label("cluster") == Some(cluster);
    found.iter().filter(fits).map(|series| series.value).collect()
}

fn is_up(found: &[Series], cluster: &str) -> bool {
    values(found, "up", cluster) == [1.0]
}

/// A file with a password.
fn credentials(directory: &Path, name: &str) -> String {
    let path = directory.join(name);
    fs::write(&path, format!("{name}:s3cr3t-{name}\n")).unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_cluster_that_hangs_holds_nobody_up_and_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let ((one, first), (two, second)) = (cluster(GOOD), cluster(SILENT));
    let files = ["one", "two"].map(|name| credentials(dir.path(), name));
    let (one_url, two_url) = (one.url(), two.url());
    let access =
        ["-m", &one_url, "--rapi-credentials", &files[0], "-m", &two_url, "--rapi-credentials", &files[1]];
    let exporter = Exporter::start(&[&access[..], &["--every", "0.1", "--timeout", "2"]].concat());

    // The second one is silent all the time.
    let found = exporter.wait_for("the first is up", |found| is_up(found, &one_url));
    assert!(!is_up(&found, &two_url));
    assert_eq!(values(&found, "group_score", &one_url).len(), 1);
    assert_eq!(values(&found, "balance_moves", &one_url).len(), 1);
    assert_eq!(values(&found, "space_instances", &one_url).len(), 2);
    assert_eq!(values(&found, "check_healthy", &one_url).len(), 1);
    assert!(values(&found, "group_score", &two_url).is_empty());
    assert!(values(&found, "reading_age_seconds", &two_url).is_empty());
    exporter.wait_for("a failure", |found| values(found, "reading_failures_total", &two_url) > vec![0.0]);

    second.store(GOOD, Ordering::SeqCst);
    exporter.wait_for("the second is up", |found| is_up(found, &two_url));

    // The last figures of a failing cluster are kept for a while.
    first.store(BROKEN, Ordering::SeqCst);
    let found = exporter.wait_for("the first is down", |found| !is_up(found, &one_url));
    assert_eq!(values(&found, "group_score", &one_url).len(), 1);
    assert_eq!(values(&found, "last_reading_timestamp_seconds", &one_url).len(), 1);
    first.store(GOOD, Ordering::SeqCst);
    let found = exporter.wait_for("the first is up again", |found| is_up(found, &one_url));
    assert!(values(&found, "readings_total", &one_url) > values(&found, "reading_failures_total", &one_url));

    // Each cluster got its own password, and nobody else got one.
    for (server, login) in [(&one, "b25lOnMzY3IzdC1vbmU="), (&two, "dHdvOnMzY3IzdC10d28=")] {
        let requests = server.requests.lock().unwrap().concat().to_lowercase();
        assert!(requests.contains(&format!("authorization: basic {}", login.to_lowercase())), "{requests}");
    }
    let (head, body) = exporter.get("/metrics");
    let process = fs::read_to_string(format!("/proc/{}/cmdline", exporter.child.id())).unwrap();
    let said = exporter.said.lock().unwrap().clone();
    assert!(said.contains("500 Internal Server Error") && said.contains("reading succeeds again"), "{said}");
    for text in [&head, &body, &process, &said] {
        assert!(!text.contains("s3cr3t"), "{text}");
    }
    assert_eq!(exporter.end(Signal::TERM), Some(0));
}

/// Clusters of a configuration file, each with its own credentials and under its configured name.
#[test]
fn named_clusters() {
    let dir = tempfile::tempdir().unwrap();
    let (server, _) = cluster(GOOD);
    credentials(dir.path(), "prod");
    let sample = fs::canonicalize("data/balanced.data").unwrap();
    let text = format!(
        "[clusters.prod]\naddress = {:?}\ncredentials = \"prod\"\n[clusters.lab]\nfile = {sample:?}\n",
        server.url()
    );
    let file = dir.path().join("htools.toml");
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    let exporter = Exporter::configured(file.to_str().unwrap(), &["-m", "@prod", "-m", "@lab"]);
    let found = exporter.wait_for("both", |found| is_up(found, "prod") && is_up(found, "lab"));
    assert_eq!(values(&found, "group_score", "lab").len(), 1);
    let requests = server.requests.lock().unwrap().concat().to_lowercase();
    assert!(requests.contains("authorization: basic chjvzdpzm2nym3qtchjvza=="), "{requests}");
    assert_eq!(exporter.end(Signal::TERM), Some(0));
}

#[test]
fn figures_that_are_too_old_are_dropped() {
    let (server, manner) = cluster(GOOD);
    let url = server.url();
    let exporter = Exporter::start(&["-m", &url, "--every", "0.1", "--keep", "3"]);
    let shown = |found: &[Series]| !values(found, "group_score", &url).is_empty();
    exporter.wait_for("the first reading", shown);
    manner.store(BROKEN, Ordering::SeqCst);
    // A slow reading may let the figures grow too old before the first broken one.
    let ended = |found: &[Series]| !shown(found) && !is_up(found, &url);
    let found = exporter.wait_for("the end of its figures", ended);
    assert!(values(&found, "reading_age_seconds", &url) > vec![3.0]);
}

/// A changing text file, a missing one, and two with the same name.
#[test]
fn files_are_read_again() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("other")).unwrap();
    let place = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (file, other, absent) = (place("c.data"), place("other/c.data"), place("absent.data"));
    fs::copy("data/balanced.data", &file).unwrap();
    fs::copy("data/balanced.data", &other).unwrap();
    let exporter =
        Exporter::start(&["-t", &file, "-t", &other, "-t", &absent, "--every", "0.1", "--time-limit", "5"]);
    let clusters = ["c", "c (2)", "absent"];
    let found = exporter.wait_for("both", |found| clusters[..2].iter().all(|name| is_up(found, name)));
    assert!(!is_up(&found, "absent"));
    let moves = |found: &[Series]| values(found, "balance_moves", "c");
    let before = moves(&found);
    fs::copy("data/unbalanced-drbd.data", &file).unwrap();
    let found =
        exporter.wait_for("the new cluster", |found| !moves(found).is_empty() && moves(found) != before);
    assert_eq!(moves(&found), [15.0]);
    // A pipe may never end.
    fs::remove_file(&other).unwrap();
    mknodat(CWD, &*other, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    exporter.wait_for("the pipe", |found| !is_up(found, "c (2)") && is_up(found, "c"));
    assert!(exporter.said.lock().unwrap().contains("c (2): failed to load data, aborting: "));
    assert_eq!(exporter.end(Signal::INT), Some(0));
}

#[test]
fn clients_that_mean_no_good() {
    let exporter = Exporter::start(&["-t", "data/balanced.data"]);
    exporter.wait_for("a reading", |found| is_up(found, "balanced"));
    // These are more connections than allowed; they send nothing, or only a part.
    let mut idle: Vec<TcpStream> = (0..200).map(|_| exporter.connect()).collect();
    for (at, stream) in idle.iter_mut().enumerate().filter(|(at, _)| at % 2 == 0) {
        let _ = stream.write_all(&b"GET /metrics HTTP/1.1\r\nHost: x\r\nX: "[..at % 35]);
    }
    assert!(is_up(&exporter.scrape(), "balanced"));

    let status = |(head, _): (String, String)| head.split(' ').nth(1).unwrap_or_default().to_owned();
    let huge = format!("GET /metrics HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(1 << 20));
    assert!(["431", "400", ""].contains(&status(exporter.ask(huge.as_bytes())).as_str()));
    let many = format!("GET /metrics HTTP/1.1\r\n{}\r\n", "X: x\r\n".repeat(1000));
    assert!(["431", "400", ""].contains(&status(exporter.ask(many.as_bytes())).as_str()));
    assert!(["400", ""].contains(&status(exporter.ask(b"\0\xff\r\n\r\n")).as_str()));
    assert!(["400", ""].contains(&status(exporter.ask(&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3])).as_str()));
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "ODD"] {
        let (head, _) = exporter.ask(format!("{method} /metrics HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes());
        assert!(head.starts_with("HTTP/1.1 405 ") && head.contains("allow: GET, HEAD"), "{method}: {head}");
    }
    let body = "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000000\r\n\r\nx";
    assert_eq!(status(exporter.ask(body.as_bytes())), "405");
    for path in ["/metrics/../etc/passwd", "/nothing", "//", "/metrics/", "/%2e"] {
        assert_eq!(status(exporter.get(path)), "404", "{path}");
    }
    let (head, body) = exporter.ask(b"HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200 ") && body.is_empty(), "{head}");
    assert!(exporter.get("/").1.contains("<a href=\"/metrics\">"));
    assert_eq!(exporter.get("/-/healthy").1, "healthy\n");
    assert!(is_up(&exporter.scrape(), "balanced"));
    drop(idle);
    assert_eq!(exporter.end(Signal::TERM), Some(0));
}

#[test]
fn what_is_refused_at_once() {
    let run = |words: &[&str], environment: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
        command.env_remove("HTOOLS").arg("exporter").args(words).envs(environment.iter().copied());
        let output = command.output().unwrap();
        assert!(output.stdout.is_empty());
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let secret = "https://user:s3cr3t@127.0.0.1:5080";
    let user = [("GANETI_RAPI_USER", "u"), ("GANETI_RAPI_PASSWORD", "s3cr3t")];
    for (words, environment, why) in [
        (&[][..], &[][..], "no cluster is named\nHint: name at least one"),
        (&["-t", "-"], &[], "standard input can be read only once"),
        (&["-L", "--listen", &taken], &[], "cannot listen at"),
        (&["-L", "--listen", "nowhere"], &[], "cannot listen at 'nowhere'"),
        (&["-m", secret], &[], "use --rapi-credentials FILE"),
        (&["-m", "127.0.0.1"], &user, "does not take credentials from GANETI_RAPI_USER"),
    ] {
        let (status, said) = run(words, environment);
        assert_eq!(status, Some(1), "{words:?}: {said}");
        assert!(said.starts_with("Error: ") && said.contains(why), "{said}");
        assert!(!said.contains("s3cr3t"), "{said}");
    }
    assert_eq!(run(&["-L", "--every=often"], &[]).0, Some(1));
    assert_eq!(run(&["-X"], &[]).0, Some(2));
}
