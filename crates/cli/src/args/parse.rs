//! Values of flags: seeds, ranges, lengths of time, shares.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use eosim_types::version::KafkaVersion;

/// A seed: decimal, `0x…`, or a commit id of 40 digits, of which the first 16 count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Seed(pub u64);

impl FromStr for Seed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_commit = text.len() == 40 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let number = if is_commit {
            u64::from_str_radix(&text[..16], 16)
        } else if let Some(digits) = text.strip_prefix("0x") {
            u64::from_str_radix(digits, 16)
        } else {
            text.parse()
        };
        let expected = "expected a number below 2^64, 0x…, or a commit id of 40 digits";
        number.map(Self).map_err(|_| expected.to_string())
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Seeds from `first` on and before `end`, written `first..end`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SeedRange {
    /// The first.
    pub first: u64,
    /// The one after the last.
    pub end: u64,
}

impl FromStr for SeedRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let expected = || "expected FIRST..END, with FIRST below END".to_string();
        let (first, end) = text.split_once("..").ok_or_else(expected)?;
        let (first, end) = (first.parse::<Seed>()?.0, end.parse::<Seed>()?.0);
        if first < end { Ok(Self { first, end }) } else { Err(expected()) }
    }
}

/// A length of time by the clock on the wall: `500ms`, `90s`, `10m`, `2h`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WallTime(pub Duration);

impl FromStr for WallTime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const UNITS: [(&str, u64); 5] =
            [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
        let expected = || "expected a number and a unit, such as 500ms, 90s, 10m or 2h".to_string();
        measure(text, &UNITS).map(Duration::from_millis).map(Self).ok_or_else(expected)
    }
}

/// A number and one of `units`, multiplied.
fn measure(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

/// A number of bytes: `500MiB`, `20GiB`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const UNITS: [(&str, u64); 4] =
            [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
        let expected = || "expected a number and a unit, such as 500MiB or 20GiB".to_string();
        measure(text, &UNITS).map(Self).ok_or_else(expected)
    }
}

/// One share of `of` equal ones, written `1/4` to `4/4`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Partition {
    /// Which share, counted from 1.
    pub part: u64,
    /// How many there are.
    pub of: u64,
}

impl Partition {
    /// Everything.
    pub const WHOLE: Self = Self { part: 1, of: 1 };

    /// There are no more shares than this.
    pub const MOST: u64 = 1_000_000;
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.of)
    }
}

impl FromStr for Partition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let expected =
            || format!("expected PART/OF, with PART from 1 to OF, and OF at most {}", Self::MOST);
        let (part, of) = text.split_once('/').ok_or_else(expected)?;
        let (part, of) =
            (part.parse().map_err(|_| expected())?, of.parse().map_err(|_| expected())?);
        let is_share = of <= Self::MOST && (1..=of).contains(&part);
        if is_share { Ok(Self { part, of }) } else { Err(expected()) }
    }
}

/// Reads one of the versions that the model knows.
pub(crate) fn kafka_version() -> impl TypedValueParser<Value = KafkaVersion> {
    let names = KafkaVersion::ALL.iter().map(|version| version.name());
    let parser = PossibleValuesParser::new(names);
    parser.map(|name| KafkaVersion::from_name(&name).expect("one of the possible values"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_decimal_hexadecimal_or_commits() {
        let rows = [
            ("0", Some(0)),
            ("18446744073709551615", Some(u64::MAX)),
            ("0xff", Some(255)),
            ("0123456789abcdef0123456789abcdef01234567", Some(0x0123_4567_89ab_cdef)),
            ("18446744073709551616", None),
            ("-1", None),
            ("ff", None),
            ("", None),
        ];
        for (text, seed) in rows {
            assert_eq!(text.parse::<Seed>().ok().map(|seed| seed.0), seed, "{text}");
        }
    }

    #[test]
    fn ranges_are_not_empty() {
        let range = "5..0x10".parse::<SeedRange>();
        assert_eq!(range, Ok(SeedRange { first: 5, end: 16 }));
        for text in ["5..5", "6..5", "5", "..5", "a..b"] {
            assert!(text.parse::<SeedRange>().is_err(), "{text}");
        }
    }

    #[test]
    fn lengths_of_time_have_a_unit() {
        let rows = [("500ms", 500), ("90s", 90_000), ("10m", 600_000), ("2h", 7_200_000)];
        for (text, millis) in rows {
            assert_eq!(text.parse(), Ok(WallTime(Duration::from_millis(millis))), "{text}");
        }
        for text in ["10", "m", "1.5h", "10 m", "-1s", "99999999999999999999s", ""] {
            assert!(text.parse::<WallTime>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_have_a_unit() {
        for (text, size) in [("0B", 0), ("3KiB", 3072), ("2GiB", 2_147_483_648)] {
            assert_eq!(text.parse(), Ok(Size(size)), "{text}");
        }
        for text in ["3", "3kb", "GiB", "-1B", "99999999999GiB"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }

    #[test]
    fn shares_are_counted_from_one() {
        assert_eq!("2/4".parse(), Ok(Partition { part: 2, of: 4 }));
        assert_eq!("1/1000000".parse(), Ok(Partition { part: 1, of: Partition::MOST }));
        for text in ["0/4", "5/4", "1/0", "1", "a/b", "1/1000001", "1/9223372036854775807"] {
            assert!(text.parse::<Partition>().is_err(), "{text}");
        }
    }
}
