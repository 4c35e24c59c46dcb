//! The program's answers equal those of the reference when `tests/recorded/record` was run. They are in the `.trycmd`
//! files beside that script, which do not need the reference.

use std::fs;

use trycmd::TestCases;

#[test]
fn recorded_answers() {
    assert!(std::env::var_os("HTOOLS").is_none(), "HTOOLS would choose the tool: unset it");
    TestCases::new()
        .register_bin("htools", trycmd::cargo::cargo_bin!("htools"))
        .env("LC_ALL", "C.UTF-8")
        .case("tests/recorded/*.trycmd");
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
