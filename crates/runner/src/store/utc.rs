//! Instants as they stand at the beginning of a run's name, and back.

use std::time::Duration;

/// Letters of an instant.
const LENGTH: usize = 16;

/// `20260131T235959Z`, so long after 1970-01-01.
pub(super) fn name(since_epoch: Duration) -> String {
    let seconds = since_epoch.as_secs();
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

/// Year, month and day of the `days`-th day after 1970-01-01, in the Gregorian calendar.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let of_era = shifted % 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

/// The instant that `name` begins with, seconds after 1970-01-01; nothing if it is no run's name.
pub(super) fn seconds(name: &str) -> Option<u64> {
    let (instant, rest) = name.split_at_checked(LENGTH)?;
    let is_form = rest.starts_with('-') && instant.is_ascii() && instant.ends_with('Z');
    let part = |from: usize, to: usize| {
        let digits = &instant[from..to];
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u64>().ok())?
    };
    if !is_form || &instant[8..9] != "T" {
        return None;
    }
    let (year, month, day) = (part(0, 4)?, part(4, 6)?, part(6, 8)?);
    let (hour, minute, second) = (part(9, 11)?, part(11, 13)?, part(13, 15)?);
    // Of the few days that come into question, the one that is called so.
    let about = year.checked_sub(1970)? * 365 + (month * 30).saturating_sub(31) + day;
    let days =
        (about.saturating_sub(10)..about + 60).find(|days| civil(*days) == (year, month, day));
    Some(days? * 86_400 + hour * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_named_in_utc_and_read_again() {
        let rows = [
            (0, "19700101T000000Z"),
            (951_782_399, "20000228T235959Z"),
            (951_782_400, "20000229T000000Z"),
            (1_798_761_599, "20261231T235959Z"),
            (4_107_542_400, "21000301T000000Z"),
        ];
        for (at, text) in rows {
            assert_eq!(name(Duration::from_secs(at)), text);
            assert_eq!(seconds(&format!("{text}-mixed-00ff00")), Some(at), "{text}");
        }
        for text in ["latest", "20261231T235959Z", "20261331T235959Z-a", "2026123äT235959Z-a"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }
}
