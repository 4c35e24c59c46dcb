use super::*;
use htools_model::DiskTemplate;

fn with<T>(text: &str, read: impl Fn(Object<'_, '_>) -> Result<T>) -> Result<T> {
    let value = parse(text, "x.json")?;
    read(Object::new(&value, JsonPath::source("x.json"))?)
}

fn int(number: &str) -> Result<i64> {
    with(&format!(r#"{{"a":{number}}}"#), |o| o.int("a"))
}

#[test]
fn order_and_repeated_keys_are_kept() {
    let text = r#"{"z":1,"a":2,"z":3}"#;
    let keys = with(text, |o| Ok(o.members().iter().map(|(k, _)| k.clone()).collect::<Vec<_>>()));
    assert_eq!(keys.unwrap(), ["z", "a", "z"]);
    assert_eq!(with(text, |o| o.int("z")), Ok(1));
}

#[test]
fn whole_numbers_are_rounded_half_to_even() {
    for (text, value) in [
        ("10.5", 10),
        ("2.5", 2),
        ("3.5", 4),
        ("1.5e1", 15),
        ("1e3", 1000),
        ("-0.5", 0),
        ("-0", 0),
        ("9223372036854775807", i64::MAX),
        ("-9223372036854775808", i64::MIN),
    ] {
        assert_eq!(int(text), Ok(value), "{text}");
    }
    for text in ["9223372036854775808", "-9223372036854775809", "1e30", "-1e300", "18446744073709551616"] {
        assert!(int(text).unwrap_err().problem.contains("does not fit into 64 bits"), "{text}");
    }
}

#[test]
fn errors_name_object_and_key() {
    for (text, problem) in [
        (r#"{"b":1,"c":2}"#, r#"key 'a' not found, object contains only ["b","c"]"#),
        (r#"{"a":null}"#, "key 'a': expected a number, found null"),
        (r#"{"a":"12"}"#, "key 'a': expected a number, found \"12\""),
        (r#"{"a":[]}"#, "key 'a': expected a number, found a list"),
    ] {
        assert_eq!(with(text, |o| o.int("a")).unwrap_err().to_string(), format!("x.json: {problem}"));
    }
    let text = r#"{"a":{"b":[{"c":1}]}}"#;
    let nested = with(text, |o| o.object("a")?.each_object("b", |item| item.bool("c"))).unwrap_err();
    assert_eq!(nested.to_string(), "x.json, a, b, item 1: key 'c': expected true or false, found 1");
    let text = r#"{"nodes":{"n1":{"x":[1]}}}"#;
    let named = with(text, |o| o.each_named("nodes", "node", |_, n| n.strings("x"))).unwrap_err();
    assert_eq!(
        named.to_string(),
        "x.json, node 'n1': key 'x': item 1: Unable to read String: expected a string, found 1"
    );
}

#[test]
fn optional_values_may_be_null_but_not_of_another_type() {
    for text in ["{}", r#"{"a":null}"#] {
        assert_eq!(with(text, |o| o.optional_int("a")), Ok(None));
        assert_eq!(with(text, |o| o.optional_strings("a")), Ok(None));
    }
    assert_eq!(with(r#"{"a":"x"}"#, |o| o.optional_string("a").map(|v| v.map(str::len))), Ok(Some(1)));
    assert!(with(r#"{"a":"x"}"#, |o| o.optional_int("a")).is_err());
}

#[test]
fn enumerations_name_the_choices() {
    let text = r#"{"a":"drbd","b":["plain","x"]}"#;
    assert_eq!(with(text, |o| o.enumeration("a")), Ok(DiskTemplate::Drbd));
    let error = with(text, |o| o.enumerations::<DiskTemplate>("b")).unwrap_err();
    assert!(error.problem.starts_with("key 'b': item 2: \"x\" is not one of diskless, file"), "{error}");
}

#[test]
fn refused_documents() {
    for text in [
        "",
        "1",
        "\"x\"",
        "null",
        "[1,]",
        "{'a':1}",
        "[01]",
        "[.5]",
        "[+1]",
        "[NaN]",
        "[0x1]",
        "[1]x",
        "[{",
        "[\"\u{1}\"]",
        "\u{feff}[]",
        "// c\n[]",
        r#"["\x"]"#,
        "[1e400]",
    ] {
        let error = parse(text, "x.json").expect_err(text).to_string();
        assert!(error.starts_with("x.json") && !error.contains('\n'), "{error}");
    }
    assert_eq!(
        parse("[1,\n x]", "x.json").unwrap_err().to_string(),
        "x.json, line 2, column 2: Invalid JSON: expected value"
    );
}

#[test]
fn accepted_documents() {
    assert_eq!(parse("[] \n", "x"), Ok(Json::Array(vec![])));
    assert_eq!(parse(r#"["\ud83d\ude00"]"#, "x"), Ok(Json::Array(vec![Json::String("😀".into())])));
    // The nearest double to the text, not a neighbour of it.
    assert_eq!(parse("[0.8115420325205372]", "x"), Ok(Json::Array(vec![Json::Float(0.8115420325205372)])));
}

#[test]
fn deep_nesting_is_refused_without_overflow() {
    for open in ["[", "{\"a\":"] {
        assert!(parse(&open.repeat(1_000_000), "x").unwrap_err().problem.contains("recursion limit"));
    }
}
