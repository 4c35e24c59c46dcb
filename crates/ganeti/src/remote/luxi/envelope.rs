//! Content of an answer: a result, or the reason that there is none.

use serde::de::DeserializeSeed;

use crate::input::json::{self, Budget, Json, JsonPath, Member, Object, WantedParts};
use crate::remote::CallError;
use htools_model::shown::printable;

/// Name of an answer in messages.
const ANSWER: &str = "the answer";

/// Maximum memory of a reason, in bytes.
const REASON: usize = 8 << 20;

/// Maximum length of the daemon's own text in a message, in characters.
const SHOWN: usize = 500;

/// Parts that are read first, to see if there is a result.
const HEAD: WantedParts =
    WantedParts::Checked(&[("success", WantedParts::Whole), ("result", WantedParts::Nothing)]);

/// The parts of the result in `shape`.
///
/// # Errors
/// [`CallError::Refused`] with the daemon's reason, or [`CallError::Nonsense`].
pub(crate) fn part(text: &str, shape: WantedParts, budget: &Budget) -> Result<Json, CallError> {
    expect(text)?;
    value(text, shape, budget)
}

/// Checks that an answer is valid and has a result.
///
/// # Errors
/// As [`part`].
pub(crate) fn expect(text: &str) -> Result<(), CallError> {
    let budget = Budget::new(REASON);
    let head = json::parse_in(text, ANSWER, HEAD, &budget).and_then(|document| {
        let answer = Object::new(&document, JsonPath::source(ANSWER))?;
        answer.required("result")?;
        answer.bool("success")
    });
    match head {
        Ok(true) => Ok(()),
        Ok(false) => Err(reason(&value(text, WantedParts::Whole, &budget)?)),
        Err(error) => Err(CallError::Nonsense(error.to_string())),
    }
}

fn value(text: &str, shape: WantedParts, budget: &Budget) -> Result<Json, CallError> {
    inside(text, budget, json::whole(shape, budget)).map(|found| found.unwrap_or(Json::Null))
}

/// Passes the result in an answer to a reader of its own.
///
/// # Errors
/// [`CallError::Nonsense`]
pub(crate) fn inside<'t, S: DeserializeSeed<'t>>(
    text: &'t str,
    budget: &Budget,
    inner: S,
) -> Result<Option<S::Value>, CallError> {
    json::seeded(text, ANSWER, budget, Member { key: "result", inner })
        .map_err(|error| CallError::Nonsense(error.to_string()))
}

/// The daemon's reason: the name of one of Ganeti's errors with its arguments, or a text for requests that it did not
/// understand.
fn reason(result: &Json) -> CallError {
    let text = match result {
        Json::String(text) => Some(text.clone()),
        Json::Array(items) => match items.as_slice() {
            [Json::String(class), Json::Array(args)] => Some(rendered(class, args)),
            _ => None,
        },
        _ => None,
    };
    match text {
        Some(text) => CallError::Refused(one_line(&text)),
        None => CallError::Nonsense(format!("{ANSWER} is an error of unknown form: {}", dump(result))),
    }
}

/// An error as Ganeti's own programs show it.
fn rendered(class: &str, args: &[Json]) -> String {
    let first = args.first().map(shown).unwrap_or_default();
    let second = args.get(1);
    match class {
        "ConfigurationError" => format!("Corrupt configuration file: {first}\nAborting."),
        "ConfigVerifyError" => {
            let details = match second {
                Some(Json::Array(items)) => items.iter().map(shown).collect::<Vec<_>>().join("\n"),
                other => other.map(shown).unwrap_or_default(),
            };
            format!("Corrupt configuration file: {first}\nAborting. Details:\n{details}")
        }
        "HooksAbort" => {
            let hooks = match args.first() {
                Some(Json::Array(hooks)) => hooks.iter().map(hook).collect::<Vec<_>>().join("\n"),
                _ => first,
            };
            format!("Failure: hooks execution failed:\n{hooks}")
        }
        "HooksFailure" => format!("Failure: hooks general failure: {first}"),
        "ResolverError" => format!("Failure: can't resolve hostname {first}"),
        "OpPrereqError" => {
            let code = second.map(shown).unwrap_or_default();
            let code = error_code(&code);
            format!(
                "Failure: prerequisites not met for this operation:\nerror type: {code}, error details:\n{first}"
            )
        }
        "OpExecError" => format!("Failure: command execution error:\n{first}"),
        "TagError" => format!("Failure: invalid tag(s) given:\n{first}"),
        "JobQueueDrainError" => {
            "Failure: the job queue is marked for drain and doesn't accept new requests".to_owned()
        }
        "JobQueueFull" => "Failure: the job queue is full and doesn't accept new job submissions until old jobs are archived"
            .to_owned(),
        "TypeEnforcementError" => format!("Parameter Error: {first}"),
        "ParameterError" => format!("Failure: unknown/wrong parameter name '{first}'"),
        "JobLost" => format!("Error checking job status: {first}"),
        "GenericError" => format!("Unhandled Ganeti error: {first}"),
        // There is no list of known errors: an unknown one is an error, too.
        _ if args.is_empty() => format!("Unhandled exception: {class}"),
        _ => format!("Unhandled exception: {class} \"{}\"", first.replace('\\', r"\\").replace('"', "\\\"")),
    }
}

/// One of the hooks that failed: node, script, output.
fn hook(hook: &Json) -> String {
    match hook {
        Json::Array(parts) if parts.len() == 3 => {
            let [node, script, output] = [0, 1, 2].map(|part| shown(&parts[part]));
            let output =
                if output.is_empty() { " (no output)".to_owned() } else { format!(", output: {output}") };
            format!("  node: {node}, script: {script}{output}")
        }
        other => format!("  {}", dump(other)),
    }
}

/// Ganeti's name for a kind of error.
fn error_code(code: &str) -> &str {
    match code {
        "resolver_error" => "ECodeResolver",
        "insufficient_resources" => "ECodeNoRes",
        "temp_insufficient_resources" => "ECodeTempNoRes",
        "wrong_input" => "ECodeInval",
        "wrong_state" => "ECodeState",
        "unknown_entity" => "ECodeNoEnt",
        "already_exists" => "ECodeExists",
        "resource_not_unique" => "ECodeNotUnique",
        "internal_error" => "ECodeFault",
        "environment_error" => "ECodeEnviron",
        other => other,
    }
}

/// A text as it is; any other value as JSON.
fn shown(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => dump(other),
    }
}

fn dump(value: &Json) -> String {
    printable(&serde_json::Value::from(value.clone()).to_string(), SHOWN)
}

/// Joins several lines into one.
fn one_line(text: &str) -> String {
    let lines: Vec<&str> =
        text.split(['\n', '\r']).map(str::trim_end).filter(|line| !line.is_empty()).collect();
    printable(&lines.join(" "), SHOWN)
}

#[cfg(test)]
mod tests;
