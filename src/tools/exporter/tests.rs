use super::*;
use crate::tools::cli::testing::*;
use crate::tools::hint::Complaint;

fn asked(line: &[&str]) -> ExporterOptions {
    parsed(&SPEC, line)
}

#[test]
fn defaults_and_values() {
    assert_eq!(asked(&[]), ExporterOptions::default());
    let options = asked(&[
        "-t",
        "a",
        "--every=0.5",
        "--timeout=1",
        "--time-limit=2",
        "--keep=0",
        "--listen",
        "[::1]:1",
    ]);
    assert_eq!(options.every, Duration::from_millis(500));
    assert_eq!((options.timeout, options.search), (Duration::from_secs(1), Duration::from_secs(2)));
    assert_eq!((options.keep, options.listen.as_str()), (Duration::ZERO, "[::1]:1"));
    assert_eq!(asked(&["--keep=1e300"]).keep, Duration::MAX);
    assert!(refused(&SPEC, &["--every=0"]).contains("above 0"));
}

#[test]
fn access_is_that_of_the_cluster_before_it_or_of_all() {
    let line = [
        "--rapi-credentials=all",
        "-ma",
        "-mb",
        "--rapi-credentials=b",
        "-L",
        "--rapi-cacert=b.pem",
        "-tc",
        "-md",
        "--insecure-http",
    ];
    let clusters = asked(&line).clusters;
    let access_of = |at: usize| {
        let AccessOptions { credentials, certificates, insecure_http } = &clusters[at].rapi_access;
        let shown = |path: &Option<std::path::PathBuf>| path.as_ref().map(|path| path.display().to_string());
        (shown(credentials).unwrap_or_default(), shown(certificates).unwrap_or_default(), *insecure_http)
    };
    assert_eq!(clusters.len(), 5);
    let text = |a: &str, b: &str, c| (a.to_owned(), b.to_owned(), c);
    assert_eq!(access_of(0), text("all", "", false));
    assert_eq!(access_of(1), text("b", "b.pem", false));
    assert_eq!((access_of(2), access_of(3)), (text("", "", false), text("", "", false)));
    assert_eq!(access_of(4), text("all", "", true));
}

#[test]
fn what_cannot_be_watched_is_refused() {
    let problem = |line: &[&str]| check(&asked(line)).unwrap_err().to_string();
    assert_eq!(problem(&[]), "no cluster is named");
    assert!(problem(&["-t-"]).starts_with("standard input"));
    let error = check(&asked(&["-mhttps://u:s3cr3t@host"])).unwrap_err();
    let text = Complaint::of(&error).to_string();
    assert!(text.ends_with("\nHint: use --rapi-credentials FILE\n") && !text.contains("s3cr3t"), "{text}");
    check(&asked(&["-mhost", "-L", "-tx"])).unwrap();
}
