//! A session as a file: what came in and when. Whoever plays it again sees the same.
//!
//! Lines of JSON: the first holds the scenario, seed and switches; each further one a moment, in
//! microseconds of virtual time, with its inputs; the last the fingerprint.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

use bytes::Bytes;
use eosim_runner::{Plan, ScenarioFile, invariants};
use eosim_types::{BrokerId, Defect, DefectSet, Duration, Instant};
use serde_json::{Value, json};

use super::Report;
use super::session::{Input, Session};

/// The version of the form.
const FORMAT: u64 = 1;

/// What a session began with.
pub(super) fn header(
    plan: &Plan,
    seed: u64,
    defects: DefectSet,
    endpoints: &BTreeMap<BrokerId, (String, u16)>,
    clock_ms: i64,
) -> Value {
    let ports: BTreeMap<String, Value> =
        endpoints.iter().map(|(id, (host, port))| (id.to_string(), json!([host, port]))).collect();
    let defects: Vec<&str> = defects.iter().map(Defect::name).collect();
    json!({
        "format": FORMAT, "scenario": plan, "seed": seed, "defects": defects,
        "endpoints": ports, "clock_ms": clock_ms,
    })
}

/// One moment.
pub(super) fn moment(at: Instant, inputs: &[Input]) -> Value {
    let inputs = inputs.iter().map(|input| match input {
        Input::Opened(id, broker) => json!({ "opened": id, "broker": broker.0 }),
        Input::Frame(id, bytes) => json!({ "frame": id, "bytes": hex(bytes) }),
        Input::Closed(id) => json!({ "closed": id }),
        Input::Control(method, path, body) => json!({ "control": [method, path, body] }),
    });
    json!({ "at_us": micros(at), "inputs": inputs.collect::<Vec<_>>() })
}

/// The end.
pub(super) fn end(at: Instant, report: &Report) -> Value {
    json!({ "at_us": micros(at), "end": format!("{:016x}", report.digest) })
}

pub(super) fn write(to: &mut dyn Write, line: &Value) -> io::Result<()> {
    writeln!(to, "{line}")
}

/// Plays a recorded session again.
///
/// # Errors
///
/// If it is no recording of this build, or comes out differently.
pub fn again(from: impl BufRead) -> Result<Report, String> {
    let mut lines = from.lines().zip(1..);
    let mut next = || {
        let (line, number) = lines.next()?;
        let line = line.map_err(|error| error.to_string());
        let value = line.and_then(|line| serde_json::from_str(&line).map_err(|e| e.to_string()));
        Some(value.map_err(|error: String| format!("line {number}: {error}")))
    };
    let header: Value = next().ok_or("an empty file")??;
    let mut session = begin(&header)?;
    while let Some(line) = next() {
        let line = line?;
        session.advance_to(instant(&line));
        if let Some(digest) = line["end"].as_str() {
            let report = session.finish();
            let found = format!("{:016x}", report.digest);
            let parted = || format!("it ends with digest {found}, and was recorded with {digest}");
            return if found == digest { Ok(report) } else { Err(parted()) };
        }
        for input in line["inputs"].as_array().into_iter().flatten() {
            session.take(input_of(input).ok_or("an input that is none")?);
        }
        session.settle();
        session.take_outputs();
    }
    Ok(session.finish())
}

fn begin(header: &Value) -> Result<Session, String> {
    if header["format"] != FORMAT {
        return Err(format!("the first line: expected \"format\": {FORMAT}"));
    }
    let names: Vec<&str> = invariants().iter().map(|invariant| invariant.name).collect();
    let file = ScenarioFile::parse("session", &header["scenario"].to_string(), &[], &names);
    let plan = file.and_then(|file| file.plan(&mut |_, _| 0)).map_err(|error| error.to_string())?;
    let defects = header["defects"].as_array().into_iter().flatten();
    let defects = defects.filter_map(|name| Defect::from_name(name.as_str()?));
    let defects = defects.fold(DefectSet::NONE, DefectSet::with);
    let mut endpoints = BTreeMap::new();
    for (id, at) in header["endpoints"].as_object().into_iter().flatten() {
        let id = id.parse().map_err(|_| format!("the broker {id}"))?;
        let host = at[0].as_str().unwrap_or_default().to_string();
        let port = at[1].as_u64().and_then(|port| u16::try_from(port).ok()).unwrap_or(0);
        endpoints.insert(BrokerId(id), (host, port));
    }
    let seed = header["seed"].as_u64().ok_or("no seed")?;
    let clock_ms = header["clock_ms"].as_i64().ok_or("no clock")?;
    Ok(Session::begin(plan, seed, defects, endpoints, clock_ms))
}

fn input_of(value: &Value) -> Option<Input> {
    if let Some(id) = value["opened"].as_u64() {
        let broker = i32::try_from(value["broker"].as_i64()?).ok()?;
        return Some(Input::Opened(id, BrokerId(broker)));
    }
    if let Some(id) = value["frame"].as_u64() {
        return Some(Input::Frame(id, unhex(value["bytes"].as_str()?)?));
    }
    if let Some(id) = value["closed"].as_u64() {
        return Some(Input::Closed(id));
    }
    let text = |at: usize| value["control"][at].as_str().map(String::from);
    Some(Input::Control(text(0)?, text(1)?, text(2)?))
}

fn micros(at: Instant) -> u64 {
    at.since(Instant::START).0
}

fn instant(line: &Value) -> Instant {
    Instant::START + Duration::from_micros(line["at_us"].as_u64().unwrap_or(0))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Bytes> {
    let pairs = text.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.map(byte).collect::<Option<Vec<u8>>>().map(Bytes::from)
}
