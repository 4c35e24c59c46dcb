//! Runs that change roles, on a DRBD pair.

use super::*;

const PAIR: &str = include_str!("../../../../../tests/fixtures/pacemaker/promoted/drbd-pair.xml");
const EVACUATED: &str =
    include_str!("../../../../../tests/fixtures/pacemaker/promoted/drbd-pair-after-evacuation.xml");

/// A pair whose promoted role leaves a node that goes to standby.
struct FakePair {
    text: String,
    /// The document once the cluster is at rest.
    rested: String,
    calls: usize,
    /// Number of the call that is answered by an error, after it was done.
    lost: usize,
}

impl FakePair {
    fn new(rested: &str, lost: usize) -> FakePair {
        FakePair { text: PAIR.to_owned(), rested: rested.to_owned(), calls: 0, lost }
    }

    fn answer<T>(&mut self, answer: T) -> Result<T, CibCallError> {
        self.calls += 1;
        match self.calls == self.lost {
            true => Err(CibCallError::Nonsense("no answer".to_owned())),
            false => Ok(answer),
        }
    }
}

impl CibClient for FakePair {
    fn document(&mut self) -> Result<String, CibCallError> {
        let text = self.text.clone();
        self.answer(text)
    }

    fn make(&mut self, change: &CibChange) -> Result<(), CibCallError> {
        self.text = change.made_in(&self.text, "t").unwrap();
        self.answer(())
    }

    fn await_rest(&mut self, _: Duration) -> Result<bool, CibCallError> {
        self.text.clone_from(&self.rested);
        self.answer(true)
    }
}

fn evacuation() -> CibHeader {
    let change = CibChange::Standby("alice".to_owned());
    let outlook = Foresight::of(&change.made_in(PAIR, "t").unwrap(), "t").unwrap();
    CibHeader {
        journal: SCHEMA.to_owned(),
        cluster: "alice,bob".to_owned(),
        began: 17,
        change,
        was: current(&parse(PAIR, "t").unwrap()),
        expected: outlook.expected().unwrap(),
        then: None,
        limit: 600,
    }
}

#[test]
fn a_role_moves_whatever_answer_is_lost() {
    let promoted: Vec<ExpectedPlace> =
        evacuation().expected.into_iter().filter(|place| place.promoted).collect();
    let on_bob = ExpectedPlace { resource: "drbd".to_owned(), node: Some("bob".to_owned()), promoted: true };
    assert_eq!(promoted, [on_bob]);
    for lost in 0..8 {
        let (mut pair, sheet) = (FakePair::new(EVACUATED, lost), Paper::default());
        let (ending, _) = walk(&mut pair, evacuation(), &sheet, &mut Onlooker::default());
        assert_eq!(ending, Ending::Done, "{lost}");
    }
}

#[test]
fn a_role_that_is_not_as_planned_is_told() {
    let demoted = EVACUATED.replace(r#"operation="promote""#, r#"operation="start""#);
    let (mut pair, sheet) = (FakePair::new(&demoted, 0), Paper::default());
    let (ending, read) = walk(&mut pair, evacuation(), &sheet, &mut Onlooker::default());
    let why = "drbd is on bob, not on bob (promoted)".to_owned();
    assert_eq!((ending, &read.tasks[2]), (Ending::Failed, &TaskState::Failed(why)));
    // The run goes on once the instance is promoted.
    pair.text = EVACUATED.to_owned();
    pair.rested = EVACUATED.to_owned();
    assert_eq!(resume(&mut pair, &sheet).0, Ending::Done);
}

#[test]
fn a_role_that_has_moved_since_is_noticed() {
    let (mut pair, sheet) = (FakePair::new(EVACUATED, 0), Paper::default());
    pair.text = PAIR
        .replace(r#"drbd_start_0" operation="start""#, r#"drbd_promote_0" operation="promoted""#)
        .replace(r#"drbd_promote_0" operation="promote""#, r#"drbd_demote_0" operation="demote""#)
        .replace(r#"operation="promoted""#, r#"operation="promote""#);
    let (ending, read) = walk(&mut pair, evacuation(), &sheet, &mut Onlooker::default());
    let why = "the cluster has changed since this was planned: drbd is on alice, bob (promoted), not on alice (promoted), bob";
    assert_eq!((ending, &read.tasks[0]), (Ending::Failed, &TaskState::Failed(why.to_owned())));
}
