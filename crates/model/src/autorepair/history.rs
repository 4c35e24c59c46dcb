//! The repairs of an instance, read from its tags.

use super::{RepairResult, RepairTag};

/// Repair state of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepairState {
    /// No repair is under way, and none has failed. Holds the tag of the last repair, if one is known.
    Healthy(Option<RepairTag>),
    /// A repair is under way, or was when harep last looked.
    Pending(RepairTag),
    /// A repair has failed.
    Failure(RepairTag),
}

/// Two repairs, of which the older one has not ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("found tag \"{newer}\", but the older tag \"{older}\" says that a repair is under way")]
pub struct Contradiction {
    /// Tag of the repair that is under way.
    pub older: RepairTag,
    /// Tag of the other repair.
    pub newer: RepairTag,
}

/// Repair history of an instance, read from its tags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairHistory {
    /// Present state.
    pub state: RepairState,
    /// Obsolete tags: those of earlier repairs, and those of the last repair that another tag has replaced.
    pub outdated: Vec<RepairTag>,
}

/// The tags of one repair.
struct TaggedRepair {
    earliest: i64,
    /// The tag that counts.
    said: RepairTag,
    /// The others.
    older: Vec<RepairTag>,
}

impl TaggedRepair {
    fn take(&mut self, tag: RepairTag) {
        self.earliest = self.earliest.min(tag.time);
        // Of two tags written in the same second, the one that lists jobs says more.
        let weight = |tag: &RepairTag| (tag.attempt(), tag.result, tag.time, tag.jobs.len());
        let counts = weight(&self.said) < weight(&tag);
        self.older.push(if counts { std::mem::replace(&mut self.said, tag) } else { tag });
    }
}

impl RepairHistory {
    /// Tells if an obsolete tag still says "under way". This happens if it was written late, after the tag of the
    /// result.
    pub fn is_behind(&self) -> bool {
        self.outdated.iter().any(|tag| tag.result.is_none())
    }

    /// Reads the tags of an instance.
    ///
    /// Of each repair the last attempt counts. Of its tags, the one with the most final result counts, then the latest.
    /// Repairs are ordered by their earliest tags. After a failed repair nothing else counts.
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
