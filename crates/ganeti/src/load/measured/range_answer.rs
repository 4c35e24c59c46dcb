//! Reads the history of a quantity from a server's answer while it arrives.

use std::collections::BTreeMap;
use std::fmt;

use htools_model::shown::printable;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::SHOWN;
use super::range::{MeasuredRange, RangeQuestion};
use crate::input::json::Budget;

/// Most warnings that are kept.
const WARNINGS: usize = 20;

/// What has been read of a history.
pub(super) struct RangeSink<'q> {
    question: &'q RangeQuestion,
    budget: &'q Budget,
    series: BTreeMap<String, StoredSeries>,
    warnings: Vec<String>,
    /// Place of the first time of the present answer.
    from: usize,
    /// Values of one series in the present answer, NaN if missing.
    part: Vec<f64>,
    /// Name of that series, if its label has one.
    name: Option<String>,
    /// True if the present answer has histories.
    is_matrix: bool,
    /// Fault of the content.
    fault: Option<String>,
}

/// Values of a series at all times.
struct StoredSeries {
    values: Vec<f64>,
    /// Place of the first time of the last answer that had values.
    last: usize,
}

impl<'q> RangeSink<'q> {
    pub(super) fn new(question: &'q RangeQuestion, budget: &'q Budget) -> RangeSink<'q> {
        RangeSink {
            question,
            budget,
            series: BTreeMap::new(),
            warnings: Vec::new(),
            from: 0,
            part: Vec::new(),
            name: None,
            is_matrix: false,
            fault: None,
        }
    }

    /// Prepares for the answer with `count` times from place `from` on.
    pub(super) fn begin(&mut self, from: usize, count: usize) {
        self.from = from;
        self.part = vec![f64::NAN; count];
        self.is_matrix = false;
    }

    /// Tells if the present answer has histories.
    pub(super) fn is_matrix(&self) -> bool {
        self.is_matrix
    }

    /// The fault of the content, if there is one.
    pub(super) fn take_fault(&mut self) -> Option<String> {
        self.fault.take()
    }

    /// The whole history.
    pub(super) fn done(mut self) -> MeasuredRange {
        self.warnings.sort_unstable();
        self.warnings.dedup();
        let series = self.series.into_iter().map(|(name, stored)| (name, stored.values));
        MeasuredRange { times: self.question.times, series: series.collect(), warnings: self.warnings }
    }

    /// Keeps a value of the present series. Others than numbers from 0 on are missing.
    fn put(&mut self, time: f64, value: f64) {
        let times = self.question.times;
        let place = ((time - times.at(self.from) as f64) / f64::from(times.step)).round();
        if place >= 0.0 && place < self.part.len() as f64 && value.is_finite() && value >= 0.0 {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the list")]
            let place = place as usize;
            self.part[place] = value;
        }
    }

    /// Stores the present series, and prepares for the next one.
    fn store<E: Error>(&mut self) -> Result<(), E> {
        let label = self.name.take();
        let pattern = self.question.pattern.as_ref();
        let name = label.as_deref().and_then(|label| pattern.map_or(Some(label), |p| p.name(label)));
        if let Some(name) = name.filter(|_| self.part.iter().any(|value| !value.is_nan())) {
            let count = self.question.times.count;
            let known = self.series.get_mut(name);
            let stored = match known {
                Some(stored) if stored.last == self.from => {
                    let name = printable(name, SHOWN);
                    let label = &self.question.label;
                    self.fault = Some(format!("several values of the label {label} mean '{name}'"));
                    return Err(E::custom("two series with one name"));
                }
                Some(stored) => stored,
                None => {
                    self.budget.take(count.saturating_mul(size_of::<f64>())).map_err(E::custom)?;
                    self.budget.take_text(name).map_err(E::custom)?;
                    let values = vec![f64::NAN; count];
                    let stored = StoredSeries { values, last: self.from };
                    self.series.entry(name.to_owned()).or_insert(stored)
                }
            };
            stored.last = self.from;
            stored.values[self.from..self.from + self.part.len()].copy_from_slice(&self.part);
        }
        self.part.fill(f64::NAN);
        Ok(())
    }
}

/// Declares the reader of a list or an object of the answer.
macro_rules! reader {
    (
        $(#[$doc:meta])* $visible:vis $reader:ident, $expected:literal, $deserialize:ident, $visit:ident, $access:ident,
        |$sink:ident, $from:ident| $body:block
    ) => {
        $(#[$doc])*
        $visible struct $reader<'s, 'q>($visible &'s mut RangeSink<'q>);

        impl<'de> DeserializeSeed<'de> for $reader<'_, '_> {
            type Value = ();

            fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
                from.$deserialize(self)
            }
        }

        impl<'de> Visitor<'de> for $reader<'_, '_> {
            type Value = ();

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($expected)
            }

            fn $visit<A: $access<'de>>(self, mut $from: A) -> Result<(), A::Error> {
                let $sink = self.0;
                $body
                Ok(())
            }
        }
    };
}

reader!(
    /// Reads an answer.
    pub(super) AnswerReader, "an object with data", deserialize_map, visit_map, MapAccess,
    |sink, members| {
        while let Some(key) = members.next_key::<String>()? {
            match key.as_str() {
                "data" => members.next_value_seed(DataReader(sink))?,
                "warnings" => members.next_value_seed(WarningsReader(sink))?,
                _ => members.next_value::<IgnoredAny>().map(|_| ())?,
            }
        }
    }
);

reader!(WarningsReader, "a list of warnings", deserialize_seq, visit_seq, SeqAccess, |sink, items| {
    while let Some(text) = items.next_element::<String>()? {
        if sink.warnings.len() < WARNINGS {
            sink.warnings.push(printable(&text, SHOWN));
        }
    }
});

reader!(DataReader, "an object with series", deserialize_map, visit_map, MapAccess, |sink, members| {
    while let Some(key) = members.next_key::<String>()? {
        match key.as_str() {
            "resultType" => sink.is_matrix = members.next_value::<String>()? == "matrix",
            // The kind comes first. The values of other kinds have another form.
            "result" if sink.is_matrix => members.next_value_seed(ResultReader(sink))?,
            _ => members.next_value::<IgnoredAny>().map(|_| ())?,
        }
    }
});

reader!(ResultReader, "a list of series", deserialize_seq, visit_seq, SeqAccess, |sink, items| {
    while items.next_element_seed(OneReader(sink))?.is_some() {}
});

reader!(
    OneReader,
    "a series with labels and values",
    deserialize_map,
    visit_map,
    MapAccess,
    |sink, members| {
        while let Some(key) = members.next_key::<String>()? {
            match key.as_str() {
                "metric" => members.next_value_seed(LabelReader(sink))?,
                "values" => members.next_value_seed(ValuesReader(sink))?,
                _ => members.next_value::<IgnoredAny>().map(|_| ())?,
            }
        }
        sink.store()?;
    }
);

reader!(LabelReader, "labels", deserialize_map, visit_map, MapAccess, |sink, labels| {
    while let Some(key) = labels.next_key::<String>()? {
        if key == sink.question.label {
            sink.name = Some(labels.next_value::<String>()?);
        } else {
            labels.next_value::<IgnoredAny>()?;
        }
    }
});

reader!(ValuesReader, "a list of values", deserialize_seq, visit_seq, SeqAccess, |sink, items| {
    while items.next_element_seed(PointReader(sink))?.is_some() {}
});

reader!(PointReader, "a time and a value", deserialize_seq, visit_seq, SeqAccess, |sink, items| {
    let time: f64 = items.next_element()?.ok_or_else(|| A::Error::invalid_length(0, &"two items"))?;
    let value = items.next_element_seed(NumberText)?;
    let value = value.ok_or_else(|| A::Error::invalid_length(1, &"two items"))?;
    sink.put(time, value);
    while items.next_element::<IgnoredAny>()?.is_some() {}
});

/// Reads a number in quotes; NaN if it is none.
struct NumberText;

impl<'de> DeserializeSeed<'de> for NumberText {
    type Value = f64;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<f64, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for NumberText {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number in quotes")
    }

    fn visit_str<E>(self, text: &str) -> Result<f64, E> {
        Ok(text.parse().unwrap_or(f64::NAN))
    }
}

#[cfg(test)]
mod tests {
    use super::super::range::RangeTimes;
    use super::*;
    use crate::input::json::seeded_any;

    fn question(pattern: Option<&str>) -> RangeQuestion {
        RangeQuestion {
            query: "x".to_owned(),
            label: "domain".to_owned(),
            pattern: pattern.map(|pattern| pattern.parse().unwrap()),
            times: RangeTimes { start: 3600, step: 3600, count: 4 },
            at_once: 2,
        }
    }

    /// The history in answers about two times each, or the fault.
    fn read(question: &RangeQuestion, memory: usize, answers: &[&str]) -> Result<MeasuredRange, String> {
        let budget = Budget::new(memory);
        let mut sink = RangeSink::new(question, &budget);
        for (at, answer) in answers.iter().enumerate() {
            sink.begin(2 * at, 2);
            let read = seeded_any(answer.as_bytes(), AnswerReader(&mut sink));
            if let Some(fault) = sink.take_fault() {
                return Err(fault);
            }
            read.map_err(|error| error.to_string())?;
        }
        Ok(sink.done())
    }

    fn matrix(series: &str) -> String {
        format!(r#"{{"status":"success","data":{{"resultType":"matrix","result":[{series}]}}}}"#)
    }

    const NONE: f64 = -1.0;

    fn shown(found: &MeasuredRange) -> Vec<(&str, Vec<f64>)> {
        let hole = |value: &f64| if value.is_nan() { NONE } else { *value };
        found.series.iter().map(|(name, values)| (name.as_str(), values.iter().map(hole).collect())).collect()
    }

    #[test]
    fn parts_of_a_history_are_joined() {
        let first = matrix(
            r#"{"metric":{"domain":"a","x":"y"},"values":[[3600,"1.5"],[7200,"NaN"]]},
               {"values":[[3600,"2"],[7200.1,"3e1"],[99999,"7"]],"other":{},"metric":{"domain":"b"}},
               {"metric":{},"values":[[3600,"1"]]}, {"metric":{"domain":"none"},"values":[[3600,"-1"]]}, {}"#,
        );
        let second = matrix(r#"{"metric":{"domain":"a"},"values":[[14400,"4"],[3600,"9"]]}"#);
        let found = read(&question(None), 1 << 20, &[&first, &second]).unwrap();
        assert_eq!(shown(&found), [("a", vec![1.5, NONE, NONE, 4.0]), ("b", vec![2.0, 30.0, NONE, NONE])]);
        let warned = r#"{"warnings":["bad\nluck","bad\nluck"],"data":{"resultType":"matrix","result":[]}}"#;
        assert_eq!(read(&question(None), 0, &[warned]).unwrap().warnings.len(), 1);
    }

    #[test]
    fn other_answers_are_refused() {
        for answer in ["", "[]", "{", r#"{"data":[]}"#, &matrix("1"), &matrix(r#"{"values":[[]]}"#)] {
            assert!(read(&question(None), 1 << 20, &[answer]).is_err(), "{answer}");
        }
        let twice = matrix(
            r#"{"metric":{"domain":"x-a"},"values":[[3600,"1"]]},{"metric":{"domain":"y-a"},"values":[[7200,"1"]]}"#,
        );
        let why = "several values of the label domain mean 'a'".to_owned();
        assert_eq!(read(&question(Some("-(.+)$")), 1 << 20, &[&twice]), Err(why));
        let error = read(&question(None), 40, &[&twice]).unwrap_err();
        assert!(error.contains("needs more than"), "{error}");
    }
}
