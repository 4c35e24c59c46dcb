//! The program answers as the reference did when `tests/recorded/record` was run.
//! The answers are in the `.trycmd` files beside that script, which need no reference.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use trycmd::TestCases;

#[test]
fn recorded_answers() {
    assert!(std::env::var_os("HTOOLS").is_none(), "HTOOLS would choose the tool: unset it");
    TestCases::new()
        .register_bin("htools", trycmd::cargo::cargo_bin!("htools"))
        .env("LC_ALL", "C.UTF-8")
        .case("tests/recorded/*.trycmd")
        .case("README.md")
        .case("docs/guide.md")
        .case("docs/pacemaker.md")
        .case("docs/affinity.md")
        .case("docs/simulation.md")
        .case("docs/tour.md")
        .case("docs/execution.md")
        .case("docs/monitoring.md");
}

/// The examples of docs/configuration.md, in a directory with the files that they name: the sample in the text, and two with a slip.
#[test]
fn examples_of_configuration_files() {
    let directory = tempfile::tempdir().unwrap();
    let document = fs::read_to_string("docs/configuration.md").unwrap();
    let (_, rest) = document.split_once("```toml\n").unwrap();
    let (sample, _) = rest.split_once("```").unwrap();
    // trycmd runs a document in the directory of that name
    let place = directory.path().join("configuration.in");
    fs::create_dir_all(place.join("data")).unwrap();
    let write = |name: &str, text: &str| {
        fs::write(place.join(name), text).unwrap();
        // what others can write to is refused, whatever the umask
        fs::set_permissions(place.join(name), Permissions::from_mode(0o644)).unwrap();
    };
    write("c.toml", sample);
    write("w.toml", "# how much at once\n\n\n[limit]\nmax-parallel = 8\n");
    write("h.toml", "[weights]\nn1_cmt = 0\n");
    fs::copy("data/allocate.json", place.join("data/allocate.json")).unwrap();
    let copy = directory.path().join("configuration.md");
    fs::write(&copy, document).unwrap();
    TestCases::new()
        .register_bin("htools", trycmd::cargo::cargo_bin!("htools"))
        .env("LC_ALL", "C.UTF-8")
        .case(copy);
}

/// Every sample has recorded answers.
#[test]
fn no_sample_is_forgotten() {
    let data = fs::read_dir("data").unwrap().map(|entry| entry.unwrap().path());
    for sample in data.filter(|path| path.extension().is_some_and(|end| end == "data")) {
        let recorded = format!("tests/recorded/{}.trycmd", sample.file_stem().unwrap().to_string_lossy());
        assert!(std::path::Path::new(&recorded).exists(), "{recorded} is missing");
    }
}
