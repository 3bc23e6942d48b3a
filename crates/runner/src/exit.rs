//! Exit codes, which are an interface: scripts rely on them.

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum ExitCode {
    /// Everything ran, nothing is broken.
    Fine = 0,
    /// The testbed itself failed.
    Internal = 1,
    /// Wrong usage or input.
    Usage = 2,
    /// The same seed gave two different runs.
    Nondeterminism = 3,
    /// Nothing was selected.
    Nothing = 4,
    /// A safety violation.
    Safety = 10,
    /// A liveness violation.
    Liveness = 11,
    /// A budget was used up, or a fault that is required never took effect.
    Inconclusive = 12,
    /// A defect survived, or an expected violation did not appear.
    Survived = 13,
    /// An artefact that this build cannot replay.
    NotReplayable = 14,
    /// The model differs from a recording.
    Conformance = 15,
    /// Ctrl-C.
    Interrupted = 130,
}

impl ExitCode {
    /// Which of several codes a command ends with.
    const ORDER: [Self; 12] = [
        Self::Internal,
        Self::Usage,
        Self::Nothing,
        Self::NotReplayable,
        Self::Nondeterminism,
        Self::Safety,
        Self::Liveness,
        Self::Conformance,
        Self::Survived,
        Self::Inconclusive,
        Self::Interrupted,
        Self::Fine,
    ];

    /// The most serious of `codes`; [`Self::Fine`] if there is none.
    #[must_use]
    pub fn worst(codes: impl IntoIterator<Item = Self>) -> Self {
        let rank = |code: &Self| Self::ORDER.iter().position(|known| known == code);
        codes.into_iter().min_by_key(rank).unwrap_or(Self::Fine)
    }

    /// The number.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_at_once_end_with_the_most_serious() {
        use ExitCode as E;
        let rows = [
            (vec![], E::Fine),
            (vec![E::Fine, E::Inconclusive], E::Inconclusive),
            (vec![E::Survived, E::Conformance, E::Liveness], E::Liveness),
            (vec![E::Safety, E::Nondeterminism], E::Nondeterminism),
            (vec![E::Safety, E::Internal], E::Internal),
        ];
        for (codes, worst) in rows {
            assert_eq!(ExitCode::worst(codes.clone()), worst, "{codes:?}");
        }
    }
}
