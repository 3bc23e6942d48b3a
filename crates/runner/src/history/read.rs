//! Reads a history: strictly, with limits, every complaint with line, place, what was found and
//! what was expected.

mod batch;
mod client;
mod dump;
mod group;
mod known;

use std::path::Path;

use eosim_checker::Stuck;
use eosim_scenario::{InputError, conform, json};
use eosim_types::Instant;
use eosim_types::observation::Observation;
use eosim_types::rules::RULES;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::event::{Event, Stamp};
use super::{Entry, History, schema};
use client::Clients;
use dump::Dumps;
use known::Known;

/// A complaint about one line, whose file and number are added later.
type Complaint = InputError;

/// `found` at `path` of a line, where `expected` should be.
fn complaint(
    path: impl Into<String>,
    found: impl Into<String>,
    expected: impl Into<String>,
) -> Complaint {
    InputError::new("", path, found, expected)
}

impl History {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// If it cannot be read, or is no history: the first thing that is wrong, and where.
    pub fn read(path: &Path) -> Result<Self, InputError> {
        let text = json::read_text(path, json::FILE_MAX, "a history that can be read")?;
        Self::parse(&path.display().to_string(), &text)
    }

    /// Reads `text`, the contents of `file`.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn parse(file: &str, text: &str) -> Result<Self, InputError> {
        let lines = (1..).zip(text.lines());
        let mut lines = lines.filter(|(_, line)| !line.trim().is_empty());
        let Some((number, first)) = lines.next() else {
            return Err(InputError::new(file, "", "nothing", "a first line with \"format\": 1"));
        };
        let at_line = |number| move |complaint| placed(file, number, complaint);
        let header = value(first).and_then(|value| typed(schema::header(), value));
        let header = header.map_err(at_line(number))?;
        let mut reader = Reader::new(Known::new(header).map_err(at_line(number))?);
        for (number, line) in lines {
            reader.line(number, line).map_err(at_line(number))?;
        }
        Ok(reader.finish())
    }
}

/// `complaint` about line `number` of `file`.
fn placed(file: &str, number: u64, complaint: Complaint) -> InputError {
    let path = match complaint.path.as_str() {
        "" => format!("line {number}"),
        path => format!("line {number}: {path}"),
    };
    InputError { file: file.to_string(), path, ..complaint }
}

/// The JSON of a line.
fn value(line: &str) -> Result<Value, Complaint> {
    json::parse("", line).map_err(|error| {
        let path = error.path.replace("line 1 column", "column");
        InputError { path, ..error }
    })
}

/// `value` as `schema` wants it.
fn typed<T: DeserializeOwned>(schema: &Value, value: Value) -> Result<T, Complaint> {
    conform("", schema, &value)?;
    plain(value)
}

/// A value that was compared with its schema.
fn plain<T: DeserializeOwned>(value: Value) -> Result<T, Complaint> {
    serde_json::from_value(value)
        .map_err(|error| complaint("", error.to_string(), "a line of a history"))
}

/// What was read so far.
struct Reader {
    known: Known,
    clients: Clients,
    dumps: Dumps,
    entries: Vec<Entry>,
    /// Time of the line before, microseconds.
    at_us: i64,
}

impl Reader {
    fn new(known: Known) -> Self {
        Self {
            known,
            clients: Clients::default(),
            dumps: Dumps::default(),
            entries: Vec::new(),
            at_us: 0,
        }
    }

    fn line(&mut self, number: u64, line: &str) -> Result<(), Complaint> {
        let mut value = value(line)?;
        conform("", schema::line(), &value)?;
        let mut stamp = serde_json::Map::new();
        if let Value::Object(object) = &mut value {
            for key in ["at_us", "at_ms", "step"] {
                stamp.extend(object.remove_entry(key));
            }
        }
        let stamp: Stamp = plain(Value::Object(stamp))?;
        let event: Event = plain(value)?;
        let at = self.time(&event, &stamp)?;
        let step = stamp.step.and_then(|step| u64::try_from(step).ok()).unwrap_or(number);
        self.event(at, step, event)
    }

    fn time(&mut self, event: &Event, stamp: &Stamp) -> Result<Instant, Complaint> {
        let (key, at_us) = match (stamp.at_us, stamp.at_ms) {
            (Some(us), None) => ("at_us", us),
            (None, Some(ms)) => ("at_ms", ms.saturating_mul(1000)),
            (Some(_), Some(_)) => {
                return Err(complaint("at_ms", "\"at_ms\" beside \"at_us\"", "one of the two"));
            }
            (None, None) if is_untimed(event) => ("at_us", self.at_us),
            (None, None) => return Err(complaint("", "no time", "\"at_us\" or \"at_ms\"")),
        };
        if at_us < self.at_us {
            let expected = format!("at least {} µs, the time of the line before", self.at_us);
            return Err(complaint(key, format!("{at_us} µs"), expected));
        }
        self.at_us = at_us;
        Ok(Instant(at_us.unsigned_abs()))
    }

    fn event(&mut self, at: Instant, step: u64, event: Event) -> Result<(), Complaint> {
        if Dumps::is_part(&event) {
            return self.dumps.add(&mut self.known, event);
        }
        self.entries.extend(self.dumps.close().map(Entry::Dump));
        match event {
            Event::Dump { healed } => self.dumps.open(at, healed),
            Event::Stuck { what, waiting_for, since_us, rule } => {
                let since = Instant(since_us.unsigned_abs());
                let (what, waiting_for) = (what.0, waiting_for.0);
                let rule = rule.map_or("", |rule| known_rule(&rule.0));
                self.entries.push(Entry::Stuck(Stuck { what, waiting_for, since, rule }));
            }
            Event::GaveUp { why } => self.entries.push(Entry::GaveUp(why.0)),
            Event::BrokeOff { how } => {
                self.entries.push(Entry::BrokeOff { at, step, how: how.0 });
            }
            event => {
                let (actor, observed) = self.clients.observed(&mut self.known, event)?;
                let observation = |what| Entry::Observed(Observation { at, step, actor, what });
                self.entries.extend(observed.into_iter().map(observation));
            }
        }
        Ok(())
    }

    fn finish(mut self) -> History {
        self.entries.extend(self.dumps.close().map(Entry::Dump));
        let (setup, topics) = self.known.finish();
        let (about, run) = (self.known.about, self.known.run);
        History { about, run, setup, topics, entries: self.entries }
    }
}

/// Parts of a dump, and words about the whole, may do without a time.
fn is_untimed(event: &Event) -> bool {
    let is_about_all =
        matches!(event, Event::Stuck { .. } | Event::GaveUp { .. } | Event::BrokeOff { .. });
    is_about_all || Dumps::is_part(event)
}

/// A name that is none of `known`.
fn unknown<'a>(
    path: &str,
    name: &str,
    what: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Complaint {
    let expected = format!("{what} of the first line");
    complaint(path, format!("\"{name}\""), expected).with_nearest(name, known)
}

/// The rule `id`, or nothing if this build knows none of that name.
fn known_rule(id: &str) -> &'static str {
    RULES.iter().find(|rule| **rule == id).copied().unwrap_or_default()
}
