//! Switches that put one known historical bug, or one flaw of Kafka as released, back into the
//! model.
//!
//! A switch is read at the one branch that it spoils: `if env.on(Defect::…)`.

/// Where a defect comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DefectClass {
    /// A bug of a broker that was repaired.
    Broker,
    /// A bug of a client library that was repaired.
    Client,
    /// A flaw of Kafka as released: on in `conform` and under `--as-released`, repaired otherwise.
    Upstream,
}

macro_rules! defects {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $class:ident, [$($invariant:literal),*], $about:literal;)+) => {
        /// One switch.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Defect {
            $(#[doc = $about] $variant),+
        }

        impl Defect {
            /// Every switch.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The name that users write.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// Where it comes from.
            #[must_use]
            pub const fn class(self) -> DefectClass {
                match self { $(Self::$variant => DefectClass::$class),+ }
            }

            /// What it does, in one sentence.
            #[must_use]
            pub const fn about(self) -> &'static str {
                match self { $(Self::$variant => $about),+ }
            }

            /// The invariants of which one must break while it is on, or "stuck"; empty for those that
            /// break none or are not reached.
            #[must_use]
            pub const fn invariants(self) -> &'static [&'static str] {
                match self { $(Self::$variant => &[$($invariant),*]),+ }
            }
        }
    };
}

defects! {
    ClientNewSequenceOnRetry = "client.batch.new_sequence_on_retry", Client,
        ["duplicate", "reordering", "acknowledged-lost"],
        "A retried batch gets new sequence numbers, so the leader cannot know it again.";
    LeaderDedupWindowFour = "leader.dedup.window_4", Broker,
        ["healthy-producer-failed", "duplicate", "reordering", "producer-state"],
        "The leader remembers four batches of a producer in place of five (B07, B74).";
    LeaderMarkerAcceptEqualEpoch = "leader.marker.accept_equal_epoch", Broker,
        ["torn-transaction", "aborted-read", "committed-lost"],
        "A version 2 marker whose epoch equals the data's is accepted (B04, KAFKA-19446).";
    LeaderIndexDropAbortEntry = "leader.index.drop_abort_entry", Broker,
        ["aborted-read"],
        "An ABORT marker leaves no entry in the aborted-transaction index (B89).";
    LeaderProduceNoTxnVerification = "leader.produce.no_txn_verification", Broker,
        ["open-transaction", "outcome-contradicted", "aborted-read", "reordering", "stuck"],
        "A leader takes a transactional batch without asking the coordinator (B02, B03, KIP-890).";
    LeaderVerifyNoGuard = "leader.verify.no_guard", Broker,
        ["open-transaction", "outcome-contradicted", "torn-transaction", "stuck"],
        "A verified batch is appended although a marker came in between (B67, KAFKA-14561).";
    LeaderVerifyForgetLowestSequence = "leader.verify.forget_lowest_sequence", Broker,
        [],
        "A verification does not remember the lowest sequence that waits (B68, KAFKA-14920).";
    LeaderProduceGuardBeforeEpoch = "leader.produce.guard_before_epoch", Broker,
        [],
        "The verification is tested before the epoch: a fenced batch gets INVALID_TXN_STATE (B70, KAFKA-19690).";
    LeaderSeqAcceptAnyWhenEmpty = "leader.seq.accept_any_when_empty", Broker,
        ["reordering", "duplicate", "acknowledged-lost", "committed-lost", "sequence-gap"],
        "Without remembered batches any first sequence is taken, in version 2 too (B05, KAFKA-18202).";
    LeaderDedupWindowOne = "leader.dedup.window_1", Broker,
        ["healthy-producer-failed", "producer-state"],
        "The leader remembers one batch of a producer in place of five (B74).";
    LeaderDedupWindowZero = "leader.dedup.window_0", Broker,
        ["healthy-producer-failed", "duplicate", "reordering"],
        "A batch sent again is refused as out of order, never known again (B74).";
    LeaderDedupKeepAfterAbort = "leader.dedup.keep_after_abort", Broker,
        ["committed-lost", "acknowledged-lost", "producer-state", "healthy-producer-failed"],
        "Batches of an aborted transaction are taken for copies of the next one's (B75).";
    LeaderExpireIgnoreMarkerTime = "leader.expire.ignore_marker_time", Broker,
        ["producer-state", "open-transaction"],
        "Producers expire by the time of their data alone, right after a late marker (B58, KAFKA-9144).";
    LeaderStateDropWithLogStart = "leader.state.drop_with_log_start", Broker,
        ["healthy-producer-failed", "duplicate", "producer-state"],
        "A producer is forgotten when its last record is deleted (B59, KAFKA-7190).";
    LeaderOpenAcceptBeforeStateRecovered = "leader.open.accept_before_state_recovered", Broker,
        ["producer-state", "reordering", "duplicate", "sequence-gap"],
        "A new leader begins without producer state (B77).";
    LeaderFetchHighWatermarkReadTwice = "leader.fetch.hw_read_twice", Broker,
        ["early-read", "aborted-read", "last-stable-offset"],
        "Whether a transaction is open is tested against one high watermark, another one is the bound (B64, KAFKA-9807).";
    LeaderLsoIgnoreOpenTxn = "leader.lso.ignore_open_txn", Broker,
        ["early-read", "aborted-read"],
        "A read_committed fetch is not bounded by open transactions (B97).";
    LeaderFetchAbortedRangeRelative = "leader.fetch.aborted_range_relative", Broker,
        ["aborted-read"],
        "The range searched for aborted transactions ends at an offset relative to its segment (B89).";
    LeaderFetchAbortedSnapshotEarly = "leader.fetch.aborted_snapshot_early", Broker,
        ["aborted-read"],
        "A fetch does not see the aborted transaction whose marker was written last (B89).";
    LeaderMarkerWrongErrorWhenNotLeader = "leader.marker.wrong_error_when_not_leader", Broker,
        ["open-transaction", "torn-transaction", "committed-lost"],
        "Who leads no more answers a marker with an error that ends its way (B50, KAFKA-5357).";
    LeaderMarkerDoubleDecrement = "leader.marker.double_decrement", Broker,
        [],
        "A marker with offsets counts twice, and the answer leaves before all is written (B52, KAFKA-17877).";
    SeqWrapNegative = "seq.wrap.negative", Broker,
        ["healthy-producer-failed", "reordering", "producer-state"],
        "The last sequence of a batch across the wrap is negative (B81, KAFKA-7692).";
    LogRecoverSnapshotOffsetWrong = "log.recover.snapshot_offset_wrong", Broker,
        ["producer-state", "duplicate", "healthy-producer-failed"],
        "Recovery replays nothing of what follows a snapshot (B61, KAFKA-5249).";
    LogRecoverDeleteNeededSnapshot = "log.recover.delete_needed_snapshot", Broker,
        [],
        "Recovery deletes the snapshots and rebuilds from what the log still holds (B61, KAFKA-10832).";
    LogRecoverSecondStateInstance = "log.recover.second_state_instance", Broker,
        ["producer-state", "duplicate", "healthy-producer-failed"],
        "Crash recovery fills another producer state than the one that appends use (B61, KAFKA-12520).";
    FollowerTruncateIgnoreResponseEpoch = "follower.truncate.ignore_response_epoch", Broker,
        [],
        "A follower cuts its log by an answer to a question of an older epoch (B82, KAFKA-18991).";
    ControllerElectionUnclean = "k.election.unclean", Broker,
        ["acknowledged-lost", "committed-lost", "open-transaction", "offset-reuse"],
        "Any replica that lives is elected when none in sync does (B12).";
    CleanerDropLastSequence = "cleaner.drop_last_sequence", Broker,
        [],
        "Compaction drops the batch with a producer's last sequence (B85, KAFKA-5490).";
    CleanerDropLastBatch = "cleaner.drop_last_batch", Broker,
        [],
        "Compaction drops the last batch of what it cleans (B84, KAFKA-17076).";
    CleanerBoundBySegmentOnly = "cleaner.bound_by_segment_only", Broker,
        ["committed-lost", "acknowledged-lost", "processed-twice", "offset-regressed", "group-offsets"],
        "Compaction goes beyond the last stable offset (B88, KAFKA-13194).";
    GroupTxnOffsetSkipGenerationCheck = "group.txnoffset.skip_generation_check", Broker,
        ["processed-twice", "offset-regressed"],
        "Offsets in a transaction are taken from whoever sends them (B09, KIP-447).";
    GroupTxnOffsetStrictMemberEpoch = "group.txnoffset.strict_member_epoch", Broker,
        [],
        "A commit with the member epoch before is refused although its partitions are kept (B10, KAFKA-19779).";
    GroupOffsetsMaterialiseInTxnOrder = "group.offsets.materialise_in_txn_order", Broker,
        [],
        "Of two offsets the one whose transaction ends later wins, not the later record (B124, KAFKA-5247).";
    GroupExpireIgnorePendingTxn = "group.expire.ignore_pending_txn", Broker,
        [],
        "Expiry removes offsets that a transaction is about to commit (B128, KAFKA-19163).";
    GroupExpireWhileRebalancing = "group.expire.while_rebalancing", Broker,
        ["processed-twice", "effect-lost"],
        "Expiry removes offsets of topics that members read (B132, KAFKA-13636).";
    GroupLoadFailOnGap = "group.load.fail_on_gap", Broker,
        ["stuck"],
        "A load fails where compaction left a gap (B129, KAFKA-19862).";
    GroupUnloadFails = "group.unload.fails", Broker,
        ["processed-twice", "offset-regressed", "group-offsets"],
        "Who is no coordinator any more keeps the state and answers from it (B129, KAFKA-20115).";
    CoordinatorTimeoutNoEpochBump = "tc.timeout.no_epoch_bump", Broker,
        ["torn-transaction", "committed-lost", "open-transaction"],
        "A transaction that timed out is aborted without raising the epoch (B13, KAFKA-6119).";
    CoordinatorEndTxnBeforeReplicated = "tc.endtxn.answer_before_replicated", Broker,
        ["committed-lost", "torn-transaction", "outcome-contradicted"],
        "EndTxn is answered before Prepare… is replicated.";
    ClientAbortsWithInFlight = "client.abort.with_inflight", Client,
        ["open-transaction", "aborted-read", "early-read"],
        "EndTxn(abort) leaves while batches are in flight (B100, KAFKA-14053).";
    ClientExpiryDoesNotFailTransaction = "client.batch.expiry_does_not_fail_txn", Client,
        ["committed-lost", "torn-transaction"],
        "A batch that expires leaves its transaction as it was (B98, KAFKA-5385).";
    ClientCommitSwallowsBrokerError = "client.commit.swallow_broker_error", Client,
        ["committed-lost"],
        "A commit that the coordinator refused returns as done (B107).";
    ClientSendsEndTxnWhenEmpty = "client.endtxn.send_when_empty", Client,
        ["healthy-producer-failed"],
        "EndTxn is sent for a transaction without records and offsets (B34, KAFKA-18401).";
    ClientNoSequenceWhileRetrying = "client.seq.missing_on_retry_buffer", Client,
        ["reordering", "healthy-producer-failed", "acknowledged-lost"],
        "A batch that is numbered while another is sent again gets sequence 0 (B113, sarama 3354).";
    ControllerHandsOutCurrentBlock = "k.pid.hand_out_current_block", Broker,
        ["producer-identity-shared", "duplicate", "acknowledged-lost"],
        "The controller hands out the current block of producer ids, not the next (B38, KAFKA-15552).";
    MarkerUnknownLeaderMeansDeleted = "marker.unknown_leader_means_deleted", Broker,
        ["open-transaction", "torn-transaction"],
        "A partition whose leader is not known counts as deleted and gets no marker (B51, KAFKA-5202).";
    ReaderSolitaryAbortBreaks = "reader.filter.solitary_abort_breaks", Client,
        ["skipped"],
        "An ABORT marker that ends nothing makes the reader skip what the producer writes next (B92).";
    CoordinatorAddPartitionsBeforeReplicated = "tc.addpart.ack_before_replicated", Broker,
        ["committed-lost", "acknowledged-lost", "torn-transaction"],
        "AddPartitionsToTxn is answered before its record is replicated (B41).";
    CoordinatorChecksIdBeforePending = "tc.addpart.id_check_before_pending", Broker,
        ["healthy-producer-failed"],
        "AddPartitionsToTxn looks at the producer id before it looks for a pending transition (B30, KAFKA-18660).";
    CoordinatorClearsPendingOnRetry = "tc.append.clear_pending_on_retry", Broker,
        ["open-transaction", "transaction-state", "stuck"],
        "The pending state is cleared although the completion is written again (B18, KAFKA-5416).";
    CoordinatorEndTxnAckFromPreviousComplete = "tc.endtxn.ack_from_previous_complete", Broker,
        ["committed-lost", "acknowledged-lost"],
        "A commit is acknowledged because the transaction before was committed (B06).";
    CoordinatorEmptyCommitJudgedFromMemory = "tc.endtxn.empty_commit_judged_from_memory", Broker,
        ["healthy-producer-failed"],
        "A deposed coordinator refuses a commit to which it knows no partitions (B35, KAFKA-21181).";
    CoordinatorEndTxnNoTxnIdentity = "tc.endtxn.no_txn_identity", Broker,
        ["aborted-read", "early-read", "committed-lost", "torn-transaction"],
        "EndTxn with the epoch of the transaction before ends the present one (B01, KAFKA-17754).";
    CoordinatorReturnsCurrentIdentityOnOverflow = "tc.endtxn.return_current_identity_on_overflow", Broker,
        ["healthy-producer-failed"],
        "EndTxn at the last epoch answers with the id that is used up (B30, KAFKA-18660).";
    CoordinatorExpiryKeepsPendingDead = "tc.expire.keep_pending_dead", Broker,
        ["healthy-producer-failed", "stuck"],
        "An expiry whose tombstone is refused leaves the transactional id blocked (B19, KAFKA-7519).";
    CoordinatorInitAbortsWithSameEpoch = "tc.init.abort_with_same_epoch", Broker,
        ["fenced-effect", "torn-transaction"],
        "InitProducerId aborts an open transaction without raising the epoch (B14, KAFKA-5231).";
    CoordinatorLoadOnPartitionEpochChange = "tc.load.on_partition_epoch_change", Broker,
        ["healthy-producer-failed", "stuck", "broken-assumption"],
        "A change of the ISR makes the leader load its coordinator state anew (B26, KAFKA-15468).";
    CoordinatorLoadRefusedIfCached = "tc.load.refuse_if_cached", Broker,
        ["stuck"],
        "A load ends without effect if something of the partition is cached (B25, KAFKA-9307).";
    CoordinatorLoadSkipsPrepared = "tc.load.skip_resume_prepare", Broker,
        ["open-transaction", "torn-transaction", "stuck"],
        "A new coordinator does not go on with what is decided (B24, KAFKA-5131).";
    UpstreamLeaderSnapshotKeepsOneBatch = "upstream.leader.snapshot_keeps_one_batch", Upstream,
        ["producer-state"],
        "A restart leaves one remembered batch per producer in place of five (L-DUP-7).";
    UpstreamLeaderLsoBelowLogStart = "upstream.leader.lso_below_log_start", Upstream, [],
        "DeleteRecords into an open transaction's batch puts the LSO below the log start (L-LSO-4).";
    UpstreamLeaderDeletedRecordsReturn = "upstream.leader.deleted_records_return", Upstream, [],
        "A crash within 60 s of DeleteRecords brings the records back (L-SNP-7).";
    UpstreamLeaderRefusedProduceRegisters = "upstream.leader.refused_produce_registers", Upstream, [],
        "A batch refused for its acks or sequence has joined the transaction already (L-REC-8).";
    UpstreamLeaderMarkerRetryIgnoresResult = "upstream.leader.marker_retry_ignores_result", Upstream, [],
        "An equal-epoch marker with nothing open passes as a retry whatever its result (L-MRK-3).";
    UpstreamLeaderAcks1TransactionalAccepted = "upstream.leader.acks1_transactional_accepted", Upstream, [],
        "Transactional batches with acks=1 are taken (L-REC-8).";
    UpstreamLeaderFollowerIndexLooksAhead = "upstream.leader.follower_index_looks_ahead", Upstream,
        ["aborted-index"],
        "A follower's index entry gets its LSO from transactions that begin after the marker (L-IDX-3).";
    UpstreamLeaderReloadIgnoresHighWatermark = "upstream.leader.reload_ignores_high_watermark", Upstream,
        ["last-stable-offset"],
        "After a truncation above the high watermark, transactions below it hold the LSO again (L-TRC-1, L-SNP-4).";
    UpstreamLeaderOldMarkerClearsGuard = "upstream.leader.old_marker_clears_guard", Upstream,
        ["healthy-producer-failed"],
        "A marker that comes again clears the verification of a later transaction (L-GRD-5).";
    UpstreamControllerLateAlterPartition = "upstream.controller.late_alter_partition", Upstream,
        ["acknowledged-lost"],
        "An AlterPartition that was refused is accepted when its first copy arrives later (L-ISR-1, L-ISR-2).";
    UpstreamCoordinatorMarkerSkippedWithoutLeader = "upstream.coordinator.marker_skipped_without_leader", Upstream, [],
        "A marker for a partition without a leader is skipped for good (C-MRK-5, KAFKA-20734).";
    UpstreamCoordinatorLoadActsAboveHighWatermark = "upstream.coordinator.load_acts_above_high_watermark", Upstream, [],
        "A new coordinator acts on Prepare… records that its replicas have not confirmed to it (H-2, H-1).";
    UpstreamCoordinatorPartialLoadInstalled = "upstream.coordinator.partial_load_installed", Upstream, [],
        "What a coordinator has read before an error is taken for all there is (C-LOAD-4, H-6).";
    UpstreamCoordinatorCompletionWaitsForWakeUp = "upstream.coordinator.completion_waits_for_wake_up", Upstream, [],
        "A refused completion is tried again only when the sender wakes, up to 30 s later (C-MRK-12).";
    UpstreamCoordinatorMarkerRetryWithoutBackoff = "upstream.coordinator.marker_retry_without_backoff", Upstream, [],
        "A refused marker is sent again at once (C-MRK-7).";
    UpstreamCoordinatorStaleAnswerFences = "upstream.coordinator.stale_answer_fences", Upstream, [],
        "A deposed coordinator answers PRODUCER_FENCED from old memory (C-RES-2, H-5).";
    UpstreamCoordinatorInitAbortsWithAnyEpoch = "upstream.coordinator.init_aborts_with_any_epoch", Upstream, [],
        "InitProducerId with the right id and any epoch aborts an open transaction (C-INIT-23).";
    UpstreamCoordinatorAbortAtLastEpochForgotten =
        "upstream.coordinator.abort_at_last_epoch_forgotten", Upstream, [],
        "An ABORT at epoch 32767 that is asked for again is refused (C-END-9, C-END-16).";
    UpstreamCoordinatorFencedEndTakesEpoch = "upstream.coordinator.fenced_end_takes_epoch", Upstream, [],
        "A fenced version 2 producer's EndTxn passes for a retry of its successor's of version 1, and gets its epoch (C-END-9).";
    UpstreamCoordinatorDowngradeWedgesId = "upstream.coordinator.downgrade_wedges_id", Upstream, [],
        "Lowering transaction.version to 0 leaves ids of version 2 unusable until a reload (C-REC-2).";
    UpstreamCoordinatorTimeoutsStopAtLastEpoch =
        "upstream.coordinator.timeouts_stop_at_last_epoch", Upstream, ["stuck"],
        "Up to 4.2 one id left at epoch 32767 ends every pass of the task that aborts what has timed out (C-SM-2, C-TMO-2).";
    UpstreamCoordinatorLastEpochForgotten = "upstream.coordinator.last_epoch_forgotten", Upstream,
        [],
        "Before 4.5 a new coordinator fences the retry of an InitProducerId that bumped (C-INIT-21, KAFKA-20357).";
    UpstreamProducerRefusedRecordStays = "upstream.producer.refused_record_stays", Upstream, [],
        "A record whose send() threw stays buffered and is sent later (P-API-6).";
    UpstreamProducerResendWithoutId = "upstream.producer.resend_without_id", Upstream, [],
        "At epoch 32767 batches in flight are resent without a producer id (P-SEQ-10).";
    UpstreamProducerSequenceReused = "upstream.producer.sequence_reused", Upstream, [],
        "Version 1: a failure while completing leads to reuse of sequences in one epoch (P-SEQ-7).";
    UpstreamProducerBumpRenumbersWritten = "upstream.producer.bump_renumbers_written", Upstream,
        ["duplicate", "reordering"],
        "An epoch bump of an idempotent producer renumbers batches that may be written (P-SEQ-3, P-SEQ-4, P-SEQ-7).";
    UpstreamProducerOvertakenRenumbered = "upstream.producer.overtaken_renumbered", Upstream,
        ["reordering"],
        "An epoch bump renumbers a batch though later ones are written, and it lands behind them (L-SEQ-4, P-SEQ-3).";
    UpstreamProducerFirstAttemptNotMarked = "upstream.producer.first_attempt_not_marked", Upstream,
        ["healed-send-failed"],
        "A batch that expires in its first attempt leaves a gap that holds up the next ones until they expire (P-SEQ-5).";
    UpstreamProducerOffsetsStayPending = "upstream.producer.offsets_stay_pending", Upstream, [],
        "Offsets whose TxnOffsetCommit was dropped stay pending over the end of their transaction (P-REQ-7).";
    UpstreamProducerPartitionMuted = "upstream.producer.partition_muted", Upstream, [],
        "One request in flight: a late success leaves its partition muted for good (P-REQ-11).";
    UpstreamProducerVersionChangesWhileCompleting = "upstream.producer.version_changes_while_completing",
        Upstream, ["healthy-producer-failed"],
        "Batches left at commit are sent in the version of the next transaction, after a downgrade (P-TV-3).";
    UpstreamProducerWrapRetryReorders = "upstream.producer.wrap_retry_reorders", Upstream, [],
        "A retry across the sequence wrap is resent in the wrong order (P-ACC-7).";
    UpstreamConsumerEndOffsetOverwritten = "upstream.consumer.end_offset_overwritten", Upstream, [],
        "beginningOffsets() overwrites the bound that the lag is reckoned by (K-OFF-2).";
    UpstreamGroupAssignmentToldOnce = "upstream.group.assignment_told_once", Upstream, [],
        "A KIP-848 member whose new assignment went with a lost answer may never hear of it (KIP-848).";
}

const WORDS: usize = Defect::ALL.len().div_ceil(64);

/// A set of switches that are on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct DefectSet([u64; WORDS]);

impl DefectSet {
    /// Nothing put back: the correct model.
    pub const NONE: Self = Self([0; WORDS]);

    /// Kafka as released: every upstream finding on.
    #[must_use]
    pub fn as_released() -> Self {
        let upstream = |defect: &&Defect| defect.class() == DefectClass::Upstream;
        Defect::ALL.iter().filter(upstream).fold(Self::NONE, |set, &defect| set.with(defect))
    }

    /// The set with `defect` on.
    #[must_use]
    pub fn with(mut self, defect: Defect) -> Self {
        self.0[defect as usize / 64] |= 1 << (defect as usize % 64);
        self
    }

    /// The set with `defect` off.
    #[must_use]
    pub fn without(mut self, defect: Defect) -> Self {
        self.0[defect as usize / 64] &= !(1 << (defect as usize % 64));
        self
    }

    /// What is on in either.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        other.iter().fold(self, Self::with)
    }

    /// Is `defect` on?
    #[inline]
    #[must_use]
    pub const fn contains(self, defect: Defect) -> bool {
        self.0[defect as usize / 64] & (1 << (defect as usize % 64)) != 0
    }

    /// The switches that are on.
    pub fn iter(self) -> impl Iterator<Item = Defect> {
        Defect::ALL.iter().copied().filter(move |&defect| self.contains(defect))
    }
}

impl Defect {
    /// The switch that users call `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|defect| defect.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_released_holds_the_upstream_findings_alone() {
        let set = DefectSet::as_released();
        assert!(set.contains(Defect::UpstreamLeaderLsoBelowLogStart));
        assert!(!set.contains(Defect::LeaderDedupWindowFour));
        assert!(set.iter().all(|defect| defect.name().starts_with("upstream.")));
        let repaired = set.without(Defect::UpstreamLeaderLsoBelowLogStart);
        assert!(!repaired.contains(Defect::UpstreamLeaderLsoBelowLogStart));
        assert_eq!(repaired.iter().count() + 1, set.iter().count());
    }

    #[test]
    fn names_are_unique() {
        for &defect in Defect::ALL {
            assert_eq!(Defect::from_name(defect.name()), Some(defect));
        }
    }
}
