//! What the tags of an instance say about its repairs.

use super::{RepairResult, RepairTag};

/// How an instance is, as far as repairs go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepairState {
    /// Nothing is under way, and nothing has failed; perhaps the last that is known.
    Healthy(Option<RepairTag>),
    /// A repair is under way, or was when harep last looked.
    Pending(RepairTag),
    /// A repair has failed.
    Failure(RepairTag),
}

/// Two repairs of which the older one has not ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("found tag \"{newer}\", but the older tag \"{older}\" says that a repair is under way")]
pub struct Contradiction {
    /// Of the one that is under way.
    pub older: RepairTag,
    /// Of the other one.
    pub newer: RepairTag,
}

/// What the tags of an instance say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairHistory {
    /// How it is.
    pub state: RepairState,
    /// Tags that tell nothing any more: of earlier repairs, and those of the last one that another one has replaced.
    pub outdated: Vec<RepairTag>,
}

/// The tags of one repair.
struct TaggedRepair {
    earliest: i64,
    /// The one that counts.
    said: RepairTag,
    /// The others.
    older: Vec<RepairTag>,
}

impl TaggedRepair {
    fn take(&mut self, tag: RepairTag) {
        self.earliest = self.earliest.min(tag.time);
        // of two that are written at the same time the one that names its jobs tells more
        let weight = |tag: &RepairTag| (tag.attempt(), tag.result, tag.time, tag.jobs.len());
        let counts = weight(&self.said) < weight(&tag);
        self.older.push(if counts { std::mem::replace(&mut self.said, tag) } else { tag });
    }
}

impl RepairHistory {
    /// Whether a tag still says that a repair is under way of which another one says that it is over: as one does that was
    /// written late.
    pub fn is_behind(&self) -> bool {
        self.outdated.iter().any(|tag| tag.result.is_none())
    }

    /// Reads the tags of an instance. Of each repair the last attempt counts, and of its tags the one that says most of its result, then the last one; repairs
    /// follow each other by their earliest tags. After one that has failed nothing counts.
    ///
    /// # Errors
    /// If a repair was begun before another one had ended.
    pub fn of(tags: &[String]) -> Result<RepairHistory, Box<Contradiction>> {
        let mut repairs: Vec<TaggedRepair> = Vec::new();
        for tag in tags.iter().filter_map(|tag| RepairTag::parse(tag)) {
            match repairs.iter_mut().find(|known| known.said.case() == tag.case()) {
                None => repairs.push(TaggedRepair { earliest: tag.time, said: tag, older: Vec::new() }),
                Some(known) => known.take(tag),
            }
        }
        repairs.sort_by(|a, b| a.earliest.cmp(&b.earliest).then_with(|| a.said.id.cmp(&b.said.id)));
        let mut history = RepairHistory { state: RepairState::Healthy(None), outdated: Vec::new() };
        for TaggedRepair { said, older, .. } in repairs {
            match history.state {
                RepairState::Failure(_) => break,
                RepairState::Pending(before) => {
                    return Err(Box::new(Contradiction { older: before, newer: said }));
                }
                RepairState::Healthy(last) => {
                    history.outdated.extend(last);
                    history.outdated.extend(older);
                    history.state = match said.result {
                        None => RepairState::Pending(said),
                        Some(RepairResult::Failure) => RepairState::Failure(said),
                        Some(RepairResult::Success | RepairResult::NoPermission) => {
                            RepairState::Healthy(Some(said))
                        }
                    };
                }
            }
        }
        Ok(history)
    }
}
