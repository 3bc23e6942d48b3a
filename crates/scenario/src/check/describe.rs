//! Says in words what a schema asks for and what was found.

use serde_json::Value;

use super::alternative::words;
use crate::number::Probability;

/// Longer texts are cut where they are quoted.
const QUOTED_MAX: usize = 60;
/// More names than this are not listed.
pub(super) const LISTED_MAX: usize = 12;

/// What `value` is, in a few words.
pub(crate) fn found(value: &Value) -> String {
    match value {
        Value::String(text) if text.chars().count() > QUOTED_MAX => {
            let start: String = text.chars().take(QUOTED_MAX).collect();
            format!("{start:?}…")
        }
        Value::Array(list) => format!("a list of {}", list.len()),
        Value::Object(_) => "an object".to_string(),
        plain => plain.to_string(),
    }
}

/// `"a", "b" or "c"`.
pub(super) fn one_of(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    join(&quoted)
}

fn join(parts: &[String]) -> String {
    match parts {
        [] => "nothing".to_string(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// What any of `alternatives` asks for.
pub(super) fn describe_all(alternatives: &[&Value]) -> String {
    let mut parts: Vec<String> = Vec::new();
    for text in alternatives.iter().flat_map(|schema| described(schema)) {
        if !parts.contains(&text) {
            parts.push(text);
        }
    }
    join(&parts)
}

/// The words that `schema` allows, or what it asks for.
fn described(schema: &Value) -> Vec<String> {
    match words(schema) {
        words if (1..=LISTED_MAX).contains(&words.len()) => {
            words.iter().map(|word| format!("\"{word}\"")).collect()
        }
        _ => vec![describe(schema)],
    }
}

/// What `schema` asks for.
pub(super) fn describe(schema: &Value) -> String {
    let words = words(schema);
    if words.len() > LISTED_MAX {
        let kind = schema.get("x-kind").and_then(Value::as_str).unwrap_or("value");
        return format!("the name of a known {kind}");
    }
    if !words.is_empty() {
        return one_of(&words);
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("integer") => integer(schema),
        Some("string") => string(schema),
        Some("boolean") => "true or false".to_string(),
        Some("array") => "a list".to_string(),
        _ => object(schema),
    }
}

fn integer(schema: &Value) -> String {
    match (schema.get("minimum"), schema.get("maximum")) {
        (Some(min), Some(max)) if min == max => min.to_string(),
        (Some(min), Some(max)) => format!("a whole number from {min} to {max}"),
        _ => "a whole number".to_string(),
    }
}

fn object(schema: &Value) -> String {
    let required = schema.get("required").and_then(Value::as_array);
    let required: Vec<String> = required.into_iter().flatten().map(Value::to_string).collect();
    if required.is_empty() {
        return "an object".to_string();
    }
    format!("an object with {}", required.join(" and "))
}

fn string(schema: &Value) -> String {
    match schema.get("format").and_then(Value::as_str) {
        Some("probability") => "a probability such as \"1/100\", not above 1".to_string(),
        Some("partition") => "a partition such as \"topic-0\"".to_string(),
        Some("name") => "a name of letters, digits, '-', '_' and '.'".to_string(),
        _ => match (schema.get("minLength"), schema.get("maxLength")) {
            (Some(min), Some(max)) => format!("a string of {min} to {max} characters"),
            (None, Some(max)) => format!("a string of at most {max} characters"),
            _ => "a string".to_string(),
        },
    }
}

/// Is `text` written as `format` asks?
pub(super) fn has_format(format: &str, text: &str) -> bool {
    match format {
        "probability" => text.parse::<Probability>().is_ok(),
        "partition" => crate::plan::split_partition(text).is_some(),
        "name" => crate::plan::is_name(text),
        _ => true,
    }
}
