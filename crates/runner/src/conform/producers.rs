//! Producers under the names of the recordings: aliases in the steps, `P0`, `P1` … in answers.

use std::collections::BTreeMap;

use eosim_types::{ProducerEpoch, ProducerId};
use serde_json::Value;

use super::fields::{Fields, Unsupported};

/// An id that nobody ever handed out.
const UNKNOWN: ProducerId = ProducerId(1 << 40);

/// What the aliases of a case stand for.
#[derive(Default)]
pub(crate) struct Aliases {
    bound: BTreeMap<String, (ProducerId, ProducerEpoch)>,
}

impl Aliases {
    pub(crate) fn bind(&mut self, alias: &str, producer: (ProducerId, ProducerEpoch)) {
        self.bound.insert(alias.to_string(), producer);
    }

    /// The id and epoch that a step's `producer` stands for, moved by `epoch` or `epoch_delta`.
    pub(crate) fn resolve(
        &self,
        fields: &Fields<'_>,
    ) -> Result<(ProducerId, ProducerEpoch), Unsupported> {
        let alias = fields.text("producer")?;
        let (id, epoch) = match alias {
            "none" => (ProducerId::NONE, ProducerEpoch::NONE),
            "unknown" => (UNKNOWN, ProducerEpoch(0)),
            _ => *self
                .bound
                .get(alias)
                .ok_or_else(|| Unsupported(format!("producer {alias} was never initialised")))?,
        };
        let delta: i16 = fields.number_or("epoch_delta", 0)?;
        let epoch = fields.number_or("epoch", epoch.0)?;
        Ok((id, ProducerEpoch(epoch.wrapping_add(delta))))
    }
}

/// A producer id as an answer carries it until [`Renamer`] gives it its name.
pub(crate) fn raw(id: ProducerId) -> Value {
    Value::String(format!("#{}", id.0))
}

/// Gives producer ids their names in the order in which they appear.
#[derive(Default)]
pub(crate) struct Renamer {
    names: BTreeMap<String, String>,
}

impl Renamer {
    /// Renames every producer in `value`.
    pub(crate) fn rename(&mut self, value: &mut Value) {
        match value {
            Value::String(text) if text.starts_with('#') => *text = self.name(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.rename(item)),
            Value::Object(map) => map.iter_mut().for_each(|(_, item)| self.rename(item)),
            _ => {}
        }
    }

    fn name(&mut self, raw: &str) -> String {
        if raw == "#-1" {
            return "-1".to_string();
        }
        let next = self.names.len();
        self.names.entry(raw.to_string()).or_insert_with(|| format!("P{next}")).clone()
    }
}
