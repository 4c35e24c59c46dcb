//! Writing and reading of journals, damaged ones included.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use proptest::prelude::*;

use super::*;
use crate::execute::job::{JobMark, JobStatus};
use crate::execute::state::JobPart;
use htools_plan::graph::StepIdx;

const HEADER: &str = r#"{"journal":"htools.journal-1","cluster":{"name":"c","uuid":"u"},"run":{"tool":"hbal","began":17,"comment":"c","reason":"r","priority":0},"after":3,"joins_opcodes":true,"group":"g","ignore_soft_errors":false,"work":{"steps":[{"subject":"i","task":{"move":{"way":"replace_secondary","target":"n3","from":{"primary":"n1","secondary":"n2"},"to":{"primary":"n1","secondary":"n3"}}},"opcodes":[{"OP_ID":"OP_INSTANCE_REPLACE_DISKS","instance_name":"i","early_release":false,"ignore_ipolicy":false,"mode":"replace_new_secondary","disks":[],"remote_node":"n3"}]}],"jobsets":[[0]]}}"#;

fn records() -> Vec<Record> {
    let mark = JobMark { step: StepIdx::new(0), part: 0 };
    let job = JobId(17);
    vec![
        Record::Submitting { jobs: vec![mark] },
        Record::Absent { jobs: vec![mark] },
        Record::Resumed { at: 5 },
        Record::Submitting { jobs: vec![mark] },
        Record::Submitted { mark, job },
        Record::Ended {
            mark,
            job,
            status: JobStatus::Error,
            message: Some("no \"room\"\nleft".into()),
            took: None,
            failed_opcode: Some(0),
        },
        Record::Closed { at: 6, ending: "failed".into() },
    ]
}

/// A journal of these records, as stored on disk.
fn written(records: &[Record]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let header: Header = serde_json::from_str(HEADER).unwrap();
    let mut journal = Journal::create(&path, &header).unwrap();
    records.iter().for_each(|record| journal.write(record).unwrap());
    fs::read(path).unwrap()
}

#[test]
fn what_was_written_is_read() {
    let bytes = written(&records());
    let read = parse::<Read>(&bytes).map_err(|e| e.1).unwrap();
    assert_eq!(serde_json::to_string(&read.header).unwrap(), HEADER);
    assert_eq!(read.lines, 8);
    let message = Some("no \"room\"\nleft".to_owned());
    let (job, status) = (JobId(17), JobStatus::Error);
    let ended = JobPart::Ended { job, status, message, failed_opcode: Some(0) };
    assert_eq!(read.state.step(StepIdx::new(0)), [ended]);
}

#[test]
fn a_journal_that_was_opened_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    fs::write(&path, written(&records()[..4])).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let (read, mut journal) = open::<Read>(&path).unwrap();
    assert_eq!(read.state.step(StepIdx::new(0)), [JobPart::Submitting]);
    // Only one program can use it at a time.
    assert!(matches!(open::<Read>(&path), Err(JournalError::InUse { .. })));
    records()[4..].iter().for_each(|record| journal.write(record).unwrap());
    assert_eq!(fs::read(&path).unwrap(), written(&records()));
}

/// A line that is cut off counts as never written, and is removed before the next one.
#[test]
fn a_last_line_that_is_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let (whole, before) = (written(&records()), written(&records()[..6]));
    for end in before.len()..whole.len() {
        fs::write(&path, &whole[..end]).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let (read, mut journal) = open::<Read>(&path).unwrap();
        assert_eq!((read.lines, journal.is_cut_off()), (7, end > before.len()));
        journal.write(&records()[6]).unwrap();
        assert_eq!(fs::read(&path).unwrap(), whole);
    }
}

/// A journal without a plan would be in the way, so none is left.
#[test]
fn no_empty_journal_is_left() {
    struct Unwritable;
    impl Serialize for Unwritable {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("full"))
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    assert!(Journal::create(&path, &Unwritable).is_err());
    assert!(!path.exists());
}

#[test]
fn an_existing_file_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    fs::write(&path, "mine").unwrap();
    let header: Header = serde_json::from_str(HEADER).unwrap();
    assert!(Journal::create(&path, &header).is_err());
    assert_eq!(fs::read(&path).unwrap(), b"mine");
}

#[test]
fn records_that_cannot_follow_are_refused_with_their_line() {
    let wrong = |records: &[Record]| {
        let (line, problem) = parse::<Read>(&written(records)).map(|_| ()).unwrap_err();
        (line, problem.to_string())
    };
    let all = records();
    assert_eq!(
        wrong(&[all[4].clone()]),
        (2, "the record says that job 1.1 is in the queue, which contradicts earlier records".to_owned())
    );
    assert_eq!(wrong(&[all[0].clone(), all[0].clone()]).0, 3);
    let far = Record::Submitting { jobs: vec![JobMark { step: StepIdx::new(usize::MAX), part: 0 }] };
    assert_eq!(wrong(&[far]).0, 2);
    let ended = Record::Ended {
        mark: JobMark { step: StepIdx::new(0), part: 0 },
        job: JobId(17),
        status: JobStatus::Running,
        message: None,
        took: None,
        failed_opcode: None,
    };
    assert_eq!(wrong(&[ended]).0, 2);
}

#[test]
fn plans_that_make_no_sense_are_refused() {
    for (old, new, problem) in [
        (
            r#""jobsets":[[0]]"#,
            r#""jobsets":[[0]],"edges":[{"before":0,"after":0,"strength":"must","why":"instance"}]"#,
            "step 1 waits for step 1",
        ),
        (r#""jobsets":[[0]]"#, r#""jobsets":[[0],[0]]"#, "the jobsets do not list"),
        ("htools.journal-1", "htools.journal-9", "it is a 'htools.journal-9'"),
        (r#""priority":0"#, r#""priority":1000"#, "not a record"),
    ] {
        let text = HEADER.replacen(old, new, 1);
        let sum = Chain::default().next(&text);
        let (line, found) = parse::<Read>(format!("{text} {sum}\n").as_bytes()).map(|_| ()).unwrap_err();
        assert_eq!(line, 1);
        assert!(found.to_string().contains(problem), "{found}");
    }
}

proptest! {
    /// Damage is reported with its line, unless only the last line has lost its end. Then the whole lines are read, and
    /// only Ganeti's queue can tell the rest.
    #[test]
    fn damage_is_noticed(at in any::<prop::sample::Index>(), what in 0..3, byte: u8) {
        let whole = written(&records());
        let at = at.index(whole.len());
        let mut bytes = whole.clone();
        match what {
            0 => bytes[at] = byte,
            1 => drop(bytes.remove(at)),
            _ => bytes.truncate(at),
        }
        let line = 1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count();
        match parse::<Read>(&bytes) {
            Ok(read) => {
                let ends = whole.split_inclusive(|byte| *byte == b'\n').count() - 1;
                prop_assert!(bytes == whole || what == 2 || read.lines == ends && !bytes.ends_with(b"\n"));
            }
            Err((found, problem)) => {
                prop_assert!(found <= line + 1, "{found} {line} {problem}");
                prop_assert!(found + 1 >= line, "{found} {line} {problem}");
            }
        }
    }
}
