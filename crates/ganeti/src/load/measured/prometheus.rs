//! Asks a Prometheus server.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use htools_model::shown::printable;
use serde_json::Value;

use super::expression::{is_selector, sums};
use super::range::{MeasuredRange, RangeQuestion};
use super::range_answer::{AnswerReader, RangeSink};
use super::{LoadQuestion, MeasuredLoad, SHOWN};
use crate::input::json::{Budget, WantedParts};
use crate::remote::CallError;
use crate::remote::rapi::Session;

/// Most values of a series that are looked at. A server refuses to look at more than 50 million in all.
const POINTS: u64 = 168;
/// Shortest distance between two values of a series, in seconds.
const STEP: u64 = 300;
/// Memory of all series of a question, in bytes: some 70,000 of four weeks, hour by hour.
const MEMORY: usize = Budget::CLUSTER;
/// Maximum number of values of a series that a server gives at once.
const SERVER_LIMIT: usize = 11_000;

/// Asks for the load of all instances. All answers together take at most `limit`.
///
/// # Errors
/// Faults of the connection and of the answers. No text contains a password.
pub fn ask(session: &Session, question: &LoadQuestion, limit: Duration) -> Result<MeasuredLoad, CallError> {
    let end = Instant::now() + limit;
    let mut found = MeasuredLoad::default();
    for (resource, expression) in &question.expressions {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(CallError::Late(format!("no answer within {} s", limit.as_secs())));
        }
        let query = query(question, expression);
        let answer = session.look("query", &[("query", &query)], WantedParts::Whole, left)?;
        let warnings = answer["warnings"].as_array().into_iter().flatten();
        found.warnings.extend(warnings.filter_map(Value::as_str).map(|text| printable(text, SHOWN)));
        let values = values(&answer, question)
            .map_err(|why| CallError::Nonsense(format!("the load of {resource}: {why}")))?;
        found.values.insert(*resource, values);
    }
    found.warnings.sort_unstable();
    found.warnings.dedup();
    Ok(found)
}

/// The quantile of an expression, with one series for each label.
fn query(question: &LoadQuestion, expression: &str) -> String {
    let window = question.window.as_secs().max(1);
    let step = (window / POINTS).max(STEP);
    if is_selector(expression) {
        // The server reads the samples as they are, which is ten times as fast as a subquery.
        let LoadQuestion { label, quantile, .. } = question;
        return format!("sum by ({label}) (quantile_over_time({quantile}, {expression}[{window}s]))");
    }
    let sums = sums(question, expression, step);
    format!("quantile_over_time({}, ({sums})[{window}s:{step}s])", question.quantile)
}

/// Asks for the history of a quantity. All answers together take at most `limit`.
///
/// # Errors
/// Faults of the connection and of the answers, and histories that need too much memory. No text contains a password.
pub fn ask_range(
    session: &Session,
    question: &RangeQuestion,
    limit: Duration,
) -> Result<MeasuredRange, CallError> {
    let (end, times) = (Instant::now() + limit, question.times);
    let budget = Budget::new(MEMORY);
    let mut sink = RangeSink::new(question, &budget);
    let at_once = question.at_once.clamp(1, SERVER_LIMIT);
    for from in (0..times.count).step_by(at_once) {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(CallError::Late(format!("no answer within {} s", limit.as_secs())));
        }
        let count = at_once.min(times.count - from);
        sink.begin(from, count);
        let query = [
            ("query", question.query.as_str()),
            ("start", &times.at(from).to_string()),
            ("end", &times.at(from + count - 1).to_string()),
            ("step", &times.step.to_string()),
        ];
        let read = session.stream("query_range", &query, left, &budget, AnswerReader(&mut sink));
        if let Some(fault) = sink.take_fault() {
            return Err(CallError::Nonsense(fault));
        }
        read?;
        if !sink.is_matrix() {
            let what = "the answer has no history: is this a Prometheus server?";
            return Err(CallError::Nonsense(what.to_owned()));
        }
    }
    Ok(sink.done())
}

/// The values in an answer, by the name of the instance.
fn values(answer: &Value, question: &LoadQuestion) -> Result<BTreeMap<String, f64>, String> {
    let data = &answer["data"];
    let series = data["result"].as_array().filter(|_| data["resultType"] == "vector");
    let series = series.ok_or("the answer has no vector: is this a Prometheus server?")?;
    let mut values = BTreeMap::new();
    for one in series {
        let Some(label) = one["metric"][&question.label].as_str() else { continue };
        let name = question.pattern.as_ref().map_or(Some(label), |pattern| pattern.name(label));
        let Some(name) = name else { continue };
        let value = one["value"][1].as_str().and_then(|text| text.parse::<f64>().ok());
        let Some(value) = value.filter(|value| value.is_finite() && *value >= 0.0) else { continue };
        if values.insert(name.to_owned(), value).is_some() {
            let name = printable(name, SHOWN);
            return Err(format!("several values of the label {} mean '{name}'", question.label));
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::measured::LoadResource;
    use serde_json::json;

    fn question(pattern: Option<&str>) -> LoadQuestion {
        LoadQuestion {
            expressions: [(LoadResource::Cpu, "rate(x[{range}])".to_owned())].into(),
            label: "domain".to_owned(),
            pattern: pattern.map(|pattern| pattern.parse().unwrap()),
            window: Duration::from_secs(7 * 86_400),
            quantile: 0.95,
        }
    }

    fn series(label: &str, value: &str) -> Value {
        json!({"metric": {"domain": label}, "value": [1.5, value]})
    }

    fn answer(series: &[Value]) -> Value {
        json!({"status": "success", "data": {"resultType": "vector", "result": series}})
    }

    #[test]
    fn a_week_is_looked_at_hour_by_hour() {
        assert_eq!(
            query(&question(None), "rate(x[{range}])"),
            "quantile_over_time(0.95, (sum by (domain) (rate(x[3600s])))[604800s:3600s])"
        );
        let plain = "m{kind=\"a\"}";
        let wanted = "sum by (domain) (quantile_over_time(0.95, m{kind=\"a\"}[604800s]))";
        assert_eq!(query(&question(None), plain), wanted);
        let short = LoadQuestion { window: Duration::from_secs(60), ..question(None) };
        assert_eq!(query(&short, "y + z"), "quantile_over_time(0.95, (sum by (domain) (y + z))[60s:300s])");
    }

    #[test]
    fn only_numbers_of_instances_count() {
        let read = |series: &[Value], pattern| values(&answer(series), &question(pattern));
        let some = [series("a", "1.5"), series("b", "NaN"), series("c", "-1"), series("d", "x"), json!({})];
        assert_eq!(read(&some, None), Ok([("a".to_owned(), 1.5)].into()));
        let named = [series("vm-a", "1"), series("host", "2")];
        assert_eq!(read(&named, Some("^vm-(.+)$")), Ok([("a".to_owned(), 1.0)].into()));
        let twice = [series("x-a", "1"), series("y-a", "2")];
        let why = "several values of the label domain mean 'a'".to_owned();
        assert_eq!(read(&twice, Some("-(.+)$")), Err(why));
        for other in [json!({}), json!([]), json!({"data": {"resultType": "matrix", "result": []}})] {
            assert!(values(&other, &question(None)).is_err());
        }
    }
}
