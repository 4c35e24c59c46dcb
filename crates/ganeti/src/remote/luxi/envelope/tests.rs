use super::*;

fn refused(result: &str) -> String {
    match result_of(&format!(r#"{{"success":false,"result":{result}}}"#)) {
        Err(CallError::Refused(text)) => text,
        other => panic!("{other:?}"),
    }
}

fn result_of(text: &str) -> Result<Json, CallError> {
    part(text, WantedParts::Whole, &Budget::new(Budget::ANSWER))
}

fn nonsense(text: &str) -> String {
    match result_of(text) {
        Err(CallError::Nonsense(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn results_are_taken_out() {
    assert_eq!(result_of(r#"{"success":true,"result":7}"#), Ok(Json::Int(7)));
    // The first of each key counts; unknown ones are ignored.
    let repeated = r#"{"x":[],"result":null,"success":true,"success":false,"result":1}"#;
    assert_eq!(result_of(repeated), Ok(Json::Null));
}

#[test]
fn envelopes_that_are_none() {
    for (text, problem) in [
        ("", "the answer, line 1, column 0: Invalid JSON: EOF while parsing a value"),
        ("{\"success\":tr", "the answer, line 1, column 13: Invalid JSON: EOF while parsing a value"),
        ("[1]", "the answer: Unable to read JSObject: expected an object, found a list"),
        ("7", "the answer: expected a list or an object, found 7"),
        (r#"{"result":1}"#, r#"the answer: key 'success' not found, object contains only ["result"]"#),
        (r#"{"success":true}"#, r#"the answer: key 'result' not found, object contains only ["success"]"#),
        (r#"{"success":null,"result":1}"#, "the answer: key 'success': expected true or false, found null"),
        (r#"{"success":false,"result":7}"#, "the answer is an error of unknown form: 7"),
        (r#"{"success":false,"result":["A"]}"#, r#"the answer is an error of unknown form: ["A"]"#),
        (r#"{"success":false,"result":[1,[]]}"#, "the answer is an error of unknown form: [1,[]]"),
    ] {
        assert_eq!(nonsense(text), problem);
    }
}

#[test]
fn every_class_of_error() {
    for (result, text) in [
        (r#""Failed to parse request: x""#, "Failed to parse request: x"),
        (r#"["ConfigurationError",["m"]]"#, "Corrupt configuration file: m Aborting."),
        (r#"["ConfigVerifyError",["m",["a","b"]]]"#, "Corrupt configuration file: m Aborting. Details: a b"),
        (
            r#"["HooksAbort",[[["n","s","o"],["n2","s2",""]]]]"#,
            "Failure: hooks execution failed:   node: n, script: s, output: o   node: n2, script: s2 (no output)",
        ),
        (r#"["HooksFailure",["m"]]"#, "Failure: hooks general failure: m"),
        (r#"["ResolverError",["h"]]"#, "Failure: can't resolve hostname h"),
        (
            r#"["OpPrereqError",["m","wrong_state"]]"#,
            "Failure: prerequisites not met for this operation: error type: ECodeState, error details: m",
        ),
        (
            r#"["OpPrereqError",["m","zz"]]"#,
            "Failure: prerequisites not met for this operation: error type: zz, error details: m",
        ),
        (r#"["OpExecError",["m"]]"#, "Failure: command execution error: m"),
        (r#"["TagError",["m"]]"#, "Failure: invalid tag(s) given: m"),
        (
            r#"["JobQueueDrainError",["m"]]"#,
            "Failure: the job queue is marked for drain and doesn't accept new requests",
        ),
        (
            r#"["JobQueueFull",[]]"#,
            "Failure: the job queue is full and doesn't accept new job submissions until old jobs are archived",
        ),
        (r#"["TypeEnforcementError",["m"]]"#, "Parameter Error: m"),
        (r#"["ParameterError",["m"]]"#, "Failure: unknown/wrong parameter name 'm'"),
        (r#"["JobLost",["m"]]"#, "Error checking job status: m"),
        (r#"["GenericError",["Queue drained"]]"#, "Unhandled Ganeti error: Queue drained"),
        (r#"["LuxiError",["a\"\\é"]]"#, r#"Unhandled exception: LuxiError "a\"\\é""#),
        (r#"["NewError",[]]"#, "Unhandled exception: NewError"),
        (r#"["OpExecError",[["x",1]]]"#, r#"Failure: command execution error: ["x",1]"#),
    ] {
        assert_eq!(refused(result), text);
    }
}

#[test]
fn reasons_are_one_short_line() {
    let text = refused(&format!(r#"["OpExecError",["a\n\u001b[31m{}"]]"#, "x".repeat(2000)));
    assert!(text.starts_with(r"Failure: command execution error: a \u{1b}[31mxx"), "{text}");
    assert!(text.len() <= SHOWN && text.ends_with("..."));
}
