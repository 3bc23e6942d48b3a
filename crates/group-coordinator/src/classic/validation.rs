//! Who is a member, of which generation.
//!
//! Counterpart: `ClassicGroup#validateMember`, `#validateOffsetCommit`.

use eosim_types::machine::GroupEvent;
use eosim_types::message::GroupMember;
use eosim_types::{Env, ErrorCode, rule};

use super::{ClassicGroup, ClassicGroupState};

impl ClassicGroup {
    /// The id of the member that asks.
    ///
    /// # Errors
    ///
    /// UNKNOWN_MEMBER_ID; FENCED_INSTANCE_ID if another member has taken the instance id over.
    pub(super) fn validate_member(
        &self,
        member: Option<u32>,
        instance: Option<u32>,
    ) -> Result<u32, ErrorCode> {
        if let Some(instance) = instance {
            let owner = self.static_member(instance).ok_or(ErrorCode::UnknownMemberId)?;
            if Some(owner) != member {
                return Err(ErrorCode::FencedInstanceId);
            }
        }
        let known = member.filter(|id| self.members.contains_key(id));
        known.ok_or(ErrorCode::UnknownMemberId)
    }

    /// The same, and the generation is the group's.
    ///
    /// # Errors
    ///
    /// Besides, ILLEGAL_GENERATION.
    pub(super) fn validate_generation(&self, who: GroupMember) -> Result<u32, ErrorCode> {
        let member = self.validate_member(who.member, who.instance)?;
        if who.generation_or_epoch == self.generation {
            Ok(member)
        } else {
            Err(ErrorCode::IllegalGeneration)
        }
    }

    /// May `who` commit offsets (G-OFF-2)?
    ///
    /// # Errors
    ///
    /// UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS.
    pub(crate) fn validate_offset_commit(
        &self,
        env: &mut Env<'_>,
        who: GroupMember,
        is_transactional: bool,
    ) -> Result<(), ErrorCode> {
        let event =
            if is_transactional { GroupEvent::TxnOffsetCommit } else { GroupEvent::OffsetCommit };
        env.takes(self.state, event);
        rule!(env, "G-OFF-2");
        let is_empty = self.is_in_state(ClassicGroupState::Empty);
        if who.generation_or_epoch < 0 && is_empty {
            return Ok(());
        }
        let says_who =
            who.generation_or_epoch >= 0 || who.member.is_some() || who.instance.is_some();
        if says_who {
            self.validate_generation(who)?;
        } else if !is_transactional && !is_empty {
            return Err(ErrorCode::UnknownMemberId);
        }
        if !is_transactional && self.is_in_state(ClassicGroupState::CompletingRebalance) {
            return Err(ErrorCode::RebalanceInProgress);
        }
        Ok(())
    }
}
