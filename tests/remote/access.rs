//! Authentication at RAPI, trust in its certificate, and errors of failed calls. The tests use servers of their own
//! on the loopback interface, with TLS.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use assert_cmd::Command;
use htools::remote::CallError;
use htools::remote::rapi::{Access, Address, FetchLimits, Session, Verb};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::version::{TLS12, TLS13};
use rustls::{DEFAULT_VERSIONS, ServerConfig, ServerConnection, StreamOwned, SupportedProtocolVersion};
use serde_json::json;

const PASSWORD: &str = "s3cr3t";

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// A server with its port and the requests so far.
struct Server {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

/// TLS settings of a server with a certificate and a key, which need not match.
fn tls(certificate: &str, key: &str, versions: &[&'static SupportedProtocolVersion]) -> Arc<ServerConfig> {
    let read = |name: &str, end: &str| fs::read(fixture(&format!("tls/{name}.{end}"))).unwrap();
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(certificate, "pem")).collect();
    let key = PrivateKeyDer::from_pem_slice(&read(key, "key")).unwrap();
    let library = Arc::new(rustls::crypto::ring::default_provider());
    let key = library.key_provider.load_private_key(key).unwrap();
    let shown = SingleCertAndKey::from(CertifiedKey::new(chain.unwrap(), key));
    let builder = ServerConfig::builder_with_provider(library).with_protocol_versions(versions).unwrap();
    Arc::new(builder.with_no_client_auth().with_cert_resolver(Arc::new(shown)))
}

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

impl Server {
    /// A server with these answers, over TLS if there is a certificate.
    fn new(certificate: Option<&str>, answer: impl Fn(&str) -> Vec<u8> + Send + 'static) -> Server {
        Server::with_tls(certificate.map(|name| tls(name, name, DEFAULT_VERSIONS)), answer)
    }

    fn with_tls(tls: Option<Arc<ServerConfig>>, answer: impl Fn(&str) -> Vec<u8> + Send + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                let mut stream: Box<dyn Stream> = match &tls {
                    None => Box::new(stream),
                    Some(tls) => {
                        let server = ServerConnection::new(Arc::clone(tls)).unwrap();
                        Box::new(StreamOwned::new(server, stream))
                    }
                };
                let Some(request) = read_request(&mut stream) else { continue };
                let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
                seen.lock().unwrap().push(request);
                let _ = stream.write_all(&answer(&path)).and_then(|()| stream.flush());
            }
        });
        Server { port, requests }
    }

    /// A server of a whole cluster.
    fn cluster(certificate: Option<&str>) -> Server {
        Server::cluster_with_tls(certificate.map(|name| tls(name, name, DEFAULT_VERSIONS)))
    }

    fn cluster_with_tls(tls: Option<Arc<ServerConfig>>) -> Server {
        Server::with_tls(tls, |path| {
            let name = path.trim_start_matches("/2/").trim_end_matches("?bulk=1");
            match fs::read_to_string(fixture(&format!("rapi/states/{name}.json"))) {
                Ok(body) => response("200 OK", &body),
                Err(_) => response("404 Not Found", "{}"),
            }
        })
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    fn session(&self) -> Session {
        session(&format!("http://127.0.0.1:{}", self.port))
    }
}

fn session(address: &str) -> Session {
    let manner = FetchLimits {
        proxies: false,
        transfer: Duration::from_millis(500),
        size: 1000,
        ..FetchLimits::default()
    };
    Session::new(&Address::new(OsStr::new(address)), &Access::default(), manner).unwrap()
}

/// Reads a request; none if the client rejects the certificate.
fn read_request(stream: &mut impl Read) -> Option<String> {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
        bytes.push(byte[0]);
    }
    if bytes.is_empty() {
        return None;
    }
    let head = String::from_utf8(bytes).unwrap().to_lowercase();
    let length =
        head.lines().find_map(|line| line.strip_prefix("content-length: ")).map_or(0, |n| n.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    Some(head + &String::from_utf8(body).unwrap())
}

fn response(status: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
        .into_bytes()
}

/// Exit status and both outputs. Neither they nor any file may contain the password.
fn run(tool: &str, args: &[&str], environment: &[(&str, &str)], dir: &Path) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_htools"));
    command.env("HTOOLS", tool).env("NO_PROXY", "*").args(args).current_dir(dir);
    command.env_remove("GANETI_RAPI_USER").env_remove("GANETI_RAPI_PASSWORD");
    let output = command.envs(environment.iter().copied()).output().unwrap();
    let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(!stdout.contains(PASSWORD) && !stderr.contains(PASSWORD), "{args:?}: {stdout}{stderr}");
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        assert!(!name.contains(PASSWORD), "{name}");
        if name.contains(".data") {
            assert!(!fs::read_to_string(entry.path()).unwrap().contains(PASSWORD));
        }
    }
    (output.status.code().unwrap(), stdout, stderr)
}

/// The error of a failing run: one line, and perhaps a hint.
fn refused(args: &[&str], environment: &[(&str, &str)], dir: &Path) -> String {
    let (status, stdout, stderr) = run("hinfo", args, environment, dir);
    assert_eq!((status, stdout.as_str()), (1, ""), "{stderr}");
    assert_eq!(stderr.lines().filter(|line| !line.starts_with("Hint: ")).count(), 1, "{stderr}");
    stderr
        .strip_prefix("Error: failed to load data, aborting: ")
        .unwrap_or_else(|| panic!("{stderr}"))
        .trim_end()
        .into()
}

fn private(path: &Path, content: &str) {
    fs::write(path, content).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}

// Base64 of user:s3cr3t and reader:s3cr3t, in lower case.
const USER: &str = "authorization: basic dxnlcjpzm2nym3q=";
const READER: &str = "authorization: basic cmvhzgvyonmzy3izda==";

#[test]
fn where_user_and_password_come_from() {
    let server = Server::cluster(None);
    let dir = tempfile::tempdir().unwrap();
    private(&dir.path().join("users"), "# x\nuser {HA1}abc\nreader {cleartext}s3cr3t read\nuser:s3cr3t\n");
    let host = format!("127.0.0.1:{}", server.port);
    let [plain, named, whole] = ["", "user@", "user:s3cr3t@"].map(|login| format!("http://{login}{host}"));
    let both = [("GANETI_RAPI_USER", "user"), ("GANETI_RAPI_PASSWORD", PASSWORD)];
    let other = [("GANETI_RAPI_USER", "other"), ("GANETI_RAPI_PASSWORD", "x")];
    let half = [("GANETI_RAPI_USER", "other")];
    let file = ["--rapi-credentials", "users"];
    type Options<'a> = &'a [&'a str];
    type Environment<'a> = &'a [(&'a str, &'a str)];
    let cases: [(&str, Options, Environment, &str); 6] = [
        (&whole, &["--rapi-credentials", "missing"], &half, USER),
        (&plain, &file, &half, READER),
        (&named, &file, &other, USER),
        (&plain, &[], &both, USER),
        (&named, &[], &both, USER),
        // The password of another user is not sent.
        (&named, &[], &other, "authorization: basic dxnlcjo="),
    ];
    for (url, options, environment, wanted) in cases {
        for tool in ["hinfo", "hscan"] {
            let address: &[&str] = if tool == "hscan" { &[url] } else { &["-m", url] };
            let before = server.requests().len();
            let (status, _, stderr) = run(tool, &[address, options].concat(), environment, dir.path());
            assert_eq!(status, 0, "{stderr}");
            assert_eq!(stderr.lines().count(), usize::from(url == whole), "{stderr}");
            let requests = server.requests();
            assert_eq!(requests.len(), before + 4);
            for request in &requests[before..] {
                let found = request.lines().find(|line| line.starts_with("authorization"));
                let found = found.filter(|_| wanted != "authorization: basic dxnlcjo=");
                assert!(found.is_none_or(|found| found == wanted), "{request}");
            }
        }
    }
    let directory = format!("file://{}", fixture("rapi/states").display());
    let unused = ["-m", &directory, "--rapi-credentials", "missing", "--rapi-cacert", "missing"];
    assert_eq!(run("hinfo", &unused, &half, dir.path()).0, 0);
}

#[test]
fn users_that_cannot_be_used() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("users");
    let with = |content: &str| {
        private(&path, content);
        refused(&["-m", "127.0.0.1:1", "--rapi-credentials", "users"], &[], dir.path())
    };
    assert_eq!(with("user s3cr3t\n").split(": ").last(), Some("connection refused"));
    assert_eq!(
        with("user {HA1}s3cr3t"),
        "users, line 1: the password is only a hash ({HA1}), which cannot be used to log in"
    );
    assert_eq!(with(":s3cr3t"), "users, line 1: no user before the password");
    assert_eq!(with(""), "users: no line with a user");
    private(&path, "user:s3cr3t");
    let named = refused(&["-m", "http://x@h", "--rapi-credentials", "users"], &[], dir.path());
    assert_eq!(named, "users: no password for the user 'x'");
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    let open = refused(&["-m", "h", "--rapi-credentials", "users"], &[], dir.path());
    assert_eq!(
        open,
        "users: other users can read or change it (mode 0644)\nHint: chmod 600 makes the file private"
    );
    let half = refused(&["-m", "h"], &[("GANETI_RAPI_PASSWORD", PASSWORD)], dir.path());
    assert_eq!(half, "environment: GANETI_RAPI_PASSWORD is set, GANETI_RAPI_USER is not");
    let (status, stdout, stderr) = run("hscan", &["h", "--rapi-credentials", "users"], &[], dir.path());
    assert_eq!((status, stdout.as_str()), (1, ""));
    assert_eq!(
        stderr,
        "Error: users: other users can read or change it (mode 0644)\nHint: chmod 600 makes the file private\n"
    );
}

#[test]
fn certificates() {
    let dir = tempfile::tempdir().unwrap();
    private(&dir.path().join("users"), "user:s3cr3t");
    let pem = |name: &str| fixture(&format!("tls/{name}.pem")).display().to_string();
    let both = dir.path().join("both.pem");
    fs::write(&both, ["v1", "ca"].map(|name| fs::read_to_string(pem(name)).unwrap()).concat()).unwrap();
    let both = both.display().to_string();
    let (stranger, other_host) =
        ("it is not in the file, and no certificate in the file signed it", "it is not for this host");
    let versions: [&[_]; 2] = [&[&TLS12], &[&TLS13]];
    // Certificate of the server, trusted authority, and the expected problem.
    for (server, trusted, problem) in [
        ("v1", pem("v1"), None),
        ("v3", pem("v3"), None),
        ("other", pem("other"), None),
        ("chain", pem("chain"), None),
        ("good", pem("ca"), None),
        ("chain", pem("ca"), None),
        ("chain", pem("middle"), None),
        ("v1", both.clone(), None),
        ("good", both.clone(), None),
        ("other", pem("ca"), Some(other_host)),
        ("other", both, Some(other_host)),
        ("v1", pem("v3"), Some(stranger)),
        ("v1", pem("ca"), Some(stranger)),
        ("v3", pem("v1"), Some(stranger)),
        ("good", pem("v1"), Some(stranger)),
        // Another authority with the same name; a pinned certificate that is not an authority.
        ("good", pem("other_ca"), Some(stranger)),
        ("below_v3", pem("v3"), Some(stranger)),
        ("over", pem("ca"), Some("it has expired")),
        ("early", pem("ca"), Some("it is not valid yet")),
        ("v1_over", pem("v1_over"), Some("it has expired")),
        ("early", pem("early"), Some("it is not valid yet")),
    ] {
        for versions in versions {
            let running = Server::cluster_with_tls(Some(tls(server, server, versions)));
            let url = format!("https://127.0.0.1:{}", running.port);
            let args = ["-m", &url, "--rapi-credentials", "users", "--rapi-cacert", &trusted];
            let Some(problem) = problem else {
                let (status, _, stderr) = run("hinfo", &args, &[], dir.path());
                assert_eq!((status, stderr.as_str()), (0, ""), "{server} {trusted}");
                let requests = running.requests();
                assert!(requests.len() == 4 && requests.iter().all(|request| request.contains(USER)));
                continue;
            };
            let error = refused(&args, &[], dir.path());
            assert!(
                error.contains("/2/groups?bulk=1: the server's certificate is not trusted by '"),
                "{error}"
            );
            assert!(error.ends_with(problem) || error.contains("..."), "{server} {trusted}: {error}");
            // Nothing is sent to a server that is not trusted.
            assert!(running.requests().is_empty());
        }
    }
}

/// Certificates are public, so presenting one is not enough.
#[test]
fn certificates_of_others() {
    let dir = tempfile::tempdir().unwrap();
    for versions in [[&TLS12], [&TLS13]] {
        for (shown, key, trusted) in [("v1", "v3", "v1"), ("good", "v3", "ca"), ("chain", "below_v3", "ca")] {
            let running = Server::cluster_with_tls(Some(tls(shown, key, &versions)));
            let url = format!("https://127.0.0.1:{}", running.port);
            let trusted = fixture(&format!("tls/{trusted}.pem")).display().to_string();
            let error = refused(&["-m", &url, "--rapi-cacert", &trusted], &[], dir.path());
            assert!(
                error.contains("certificate is not trusted by") || error.contains("no TLS connection"),
                "{error}"
            );
            assert!(running.requests().is_empty());
        }
    }
}

/// Without verification, any certificate is accepted.
#[test]
fn certificates_that_are_not_looked_at() {
    let dir = tempfile::tempdir().unwrap();
    for (server, versions) in [("v1", &TLS12), ("v1", &TLS13), ("other", &TLS12), ("v1_over", &TLS13)] {
        let running = Server::cluster_with_tls(Some(tls(server, server, &[versions])));
        let url = format!("https://127.0.0.1:{}", running.port);
        let (status, _, stderr) = run("hinfo", &["-m", &url, "-q"], &[], dir.path());
        assert_eq!((status, stderr.as_str()), (0, ""), "{server}");
    }
}

#[test]
fn certificates_that_nobody_checks() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::cluster(Some("v1"));
    let url = format!("https://127.0.0.1:{}", server.port);
    let warning = "Warning: the certificate of 127.0.0.1 is not verified; --rapi-cacert FILE pins it\n";
    assert_eq!(run("hinfo", &["-m", &url], &[], dir.path()).2, warning);
    assert_eq!(run("hinfo", &["-m", &url, "-q"], &[], dir.path()).2, "");
    assert_eq!(run("hscan", &[&url], &[], dir.path()).2, warning);
    for (content, problem) in [("", "no certificate in PEM form"), ("x", "no certificate in PEM form")] {
        fs::write(dir.path().join("c.pem"), content).unwrap();
        let error = refused(&["-m", &url, "--rapi-cacert", "c.pem"], &[], dir.path());
        assert_eq!(error, format!("c.pem: {problem}"));
    }
    // Plain HTTP has no certificate.
    let plain = Server::cluster(None);
    let url = format!("http://127.0.0.1:{}", plain.port);
    assert_eq!(run("hinfo", &["-m", &url, "--rapi-cacert", "missing"], &[], dir.path()).2, "");
}

/// `run` checks the output and all files for the password.
#[test]
fn passwords_in_odd_addresses() {
    let dir = tempfile::tempdir().unwrap();
    for address in [
        "user:s3cr3t",
        "user:s3cr3t@",
        "user%3As3cr3t",
        "user%3as3cr3t@127.0.0.1:1",
        "user%253As3cr3t@127.0.0.1:1",
        "user:p://s3cr3t@127.0.0.1:1",
        "https://user:5080s3cr3t/x",
        "foo://user:s3cr3t@h",
    ] {
        for (tool, words) in [("hinfo", &["-m", address][..]), ("hscan", &[address])] {
            assert_ne!(run(tool, words, &[], dir.path()).0, 0, "{address}");
        }
    }
    let server = Server::cluster(None);
    let address = format!("user%3As3cr3t@127.0.0.1:{}", server.port);
    assert_eq!(run("hscan", &[&address], &[], dir.path()).0, 0);
    assert!(server.requests().iter().all(|request| request.contains(USER)));
}

#[test]
fn what_is_sent() {
    let server = Server::new(None, |_| response("200 OK", "17"));
    let session = server.session();
    let second = Duration::from_secs(1);
    let body = json!({"allow_failover": true});
    let answer =
        session.send(Verb::Put, "instances/a b?é/migrate", &[("dry-run", "1&2")], Some(&body), second);
    assert_eq!(answer, Ok(json!(17)));
    assert_eq!(
        session.send(Verb::Get, "jobs/17/wait", &[], Some(&json!({"fields": []})), second),
        Ok(json!(17))
    );
    assert_eq!(session.send(Verb::Delete, "jobs/17", &[], None, second), Ok(json!(17)));
    let requests = server.requests();
    assert!(
        requests[0].starts_with("put /2/instances/a%20b%3f%c3%a9/migrate?dry-run=1%262 http/1.1\r\n"),
        "{requests:?}"
    );
    assert!(requests[0].ends_with("\r\n\r\n{\"allow_failover\":true}"));
    assert!(requests[..2].iter().all(|request| request.contains("\r\ncontent-type: application/json\r\n")));
    assert!(requests[2].starts_with("delete /2/jobs/17 ") && !requests[2].contains("content-type"));
    for resource in ["", "jobs/../x", "jobs//1", "./jobs"] {
        assert!(matches!(session.get(resource), Err(CallError::NotSent(_))), "{resource}");
    }
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn what_a_failure_means() {
    let sent_once = |answer: &'static [u8]| {
        let server = Server::new(None, move |_| answer.to_vec());
        let error =
            server.session().send(Verb::Post, "x", &[], None, Duration::from_millis(300)).unwrap_err();
        assert_eq!(server.requests().len(), 1, "one call is one request");
        assert!(
            error.to_string().starts_with("http://127.0.0.1:") && !error.to_string().contains('\n'),
            "{error}"
        );
        error
    };
    assert!(matches!(sent_once(b""), CallError::Lost(_)));
    assert!(matches!(sent_once(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1"), CallError::Lost(_)));
    assert!(matches!(sent_once(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{"), CallError::Nonsense(_)));
    assert!(matches!(sent_once(b"SSH-2.0\r\n\r\n"), CallError::Nonsense(_)));
    assert!(matches!(sent_once(b"HTTP/1.1 302 x\r\nContent-Length: 0\r\n\r\n"), CallError::Nonsense(_)));
    let refusal =
        sent_once(b"HTTP/1.1 400 x\r\nContent-Length: 30\r\n\r\n{\"message\": \"Can&#x27;t do it\"}");
    let CallError::Refused(text) = refusal else { panic!("{refusal:?}") };
    assert!(text.ends_with("/2/x: Can't do it (400 Bad Request)") || text.contains("refused"), "{text}");

    // No listener; an invalid name; no TLS.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let plain_port = plain.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in plain.incoming() {
            let _ = stream.unwrap().write_all(&response("400 Bad Request", ""));
        }
    });
    for address in [
        format!("http://127.0.0.1:{port}"),
        "http://nosuch.invalid".into(),
        format!("https://127.0.0.1:{plain_port}"),
    ] {
        let error = session(&address).get("x").unwrap_err();
        assert!(matches!(error, CallError::NotSent(_)), "{error:?}");
    }
    // A silent server.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let error = session(&format!("http://127.0.0.1:{port}")).get("x").unwrap_err();
    assert!(matches!(error, CallError::Late(_)), "{error:?}");
}

#[test]
fn sessions_do_not_show_passwords() {
    let shown = format!("{:?}", session("https://user:s3cr3t@h:1"));
    assert!(shown.contains("user") && !shown.contains(PASSWORD), "{shown}");
}
