//! The passes: each lists changes of the best run that would make it smaller, the boldest first.

mod aim;
mod left_out;
mod numbers;
mod patience;
mod quiet;
mod script;
mod spelled_out;

pub(super) use aim::aimed;
pub(crate) use aim::rules;
pub(super) use left_out::left_out;
pub(super) use numbers::lowered;
pub(super) use patience::less_patience;
pub(super) use quiet::{fewer_strikes, lower_picks, quiet};
pub(super) use script::scripted;
pub(super) use spelled_out::spelled_out;

use serde_json::Value;

/// Ranges that cover `length` places: all, the halves, the quarters and so on, no finer than
/// `finest` to the whole.
pub(crate) fn blocks(length: usize, finest: usize) -> Vec<std::ops::Range<usize>> {
    let mut all = Vec::new();
    let mut size = length;
    while size > 0 {
        let starts = (0..length).step_by(size);
        all.extend(starts.map(|start| start..length.min(start + size)));
        size = if size == 1 || size <= length / finest.max(1) { 0 } else { size.div_ceil(2) };
    }
    all
}

/// Every value below `value` with its place as a JSON pointer and its key, parents first.
fn walk(value: &Value, place: &str, key: &str, visit: &mut dyn FnMut(&str, &str, &Value)) {
    visit(place, key, value);
    match value {
        Value::Object(object) => {
            for (key, inner) in object {
                let escaped = key.replace('~', "~0").replace('/', "~1");
                walk(inner, &format!("{place}/{escaped}"), key, visit);
            }
        }
        Value::Array(list) => {
            for (index, inner) in list.iter().enumerate() {
                walk(inner, &format!("{place}/{index}"), key, visit);
            }
        }
        _ => {}
    }
}

/// `value`, with what is at `place` changed.
fn changed(value: &Value, place: &str, change: impl FnOnce(&mut Value)) -> Value {
    let mut value = value.clone();
    change(value.pointer_mut(place).expect("a place that was visited"));
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_halved_down_to_the_finest() {
        assert_eq!(blocks(0, 9), []);
        assert_eq!(blocks(3, usize::MAX), [0..3, 0..2, 2..3, 0..1, 1..2, 2..3]);
        assert_eq!(blocks(8, 2), [0..8, 0..4, 4..8]);
    }
}
