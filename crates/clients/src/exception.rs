//! What an API call throws and what a record's future fails with
//! (`org.apache.kafka.common.errors`, `KafkaException`).

use alloc::string::String;
use alloc::sync::Arc;

use eosim_types::ErrorCode;

/// The class of an exception.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ExceptionClass {
    /// The `ApiException` that stands for an error code; `REQUEST_TIMED_OUT` is
    /// `TimeoutException`.
    Api(ErrorCode),
    /// `TransactionAbortedException`, an `ApiException` of the client alone.
    TransactionAborted,
    /// `CommitFailedException`.
    CommitFailed,
    /// `AuthenticationException`.
    Authentication,
    /// `KafkaException` itself.
    Kafka,
    /// `IllegalStateException`.
    IllegalState,
    /// `IllegalArgumentException`.
    IllegalArgument,
    /// `NoOffsetForPartitionException`.
    NoOffsetForPartition,
    /// `LogTruncationException`: what was read is not in the log any more.
    LogTruncation,
    /// `ConfigException`: settings that no producer is made with.
    Config,
}

/// Names that do not follow from the spelling of their code.
const IRREGULAR_NAMES: &[(ErrorCode, &str)] = &[
    (ErrorCode::UnknownServerError, "UnknownServerException"),
    (ErrorCode::CorruptMessage, "CorruptRecordException"),
    (ErrorCode::RequestTimedOut, "TimeoutException"),
    (ErrorCode::MessageTooLarge, "RecordTooLargeException"),
    (ErrorCode::OffsetMetadataTooLarge, "OffsetMetadataTooLarge"),
    (ErrorCode::NetworkException, "NetworkException"),
    (ErrorCode::InvalidTopicException, "InvalidTopicException"),
    (ErrorCode::RecordListTooLarge, "RecordBatchTooLargeException"),
    (ErrorCode::OutOfOrderSequenceNumber, "OutOfOrderSequenceException"),
    (ErrorCode::DuplicateSequenceNumber, "DuplicateSequenceException"),
    (ErrorCode::InvalidProducerIdMapping, "InvalidPidMappingException"),
    (ErrorCode::InvalidTransactionTimeout, "InvalidTxnTimeoutException"),
    (ErrorCode::KafkaStorageError, "KafkaStorageException"),
    (ErrorCode::StaleControllerEpoch, "ControllerMovedException"),
    (ErrorCode::TopicAlreadyExists, "TopicExistsException"),
    (ErrorCode::InvalidConfig, "InvalidConfigurationException"),
    (ErrorCode::NonEmptyGroup, "GroupNotEmptyException"),
    (ErrorCode::SaslAuthenticationFailed, "SaslAuthenticationException"),
    (ErrorCode::DelegationTokenAuthDisabled, "DelegationTokenDisabledException"),
    (ErrorCode::DelegationTokenRequestNotAllowed, "UnsupportedByAuthenticationException"),
    (ErrorCode::PrincipalDeserializationFailure, "PrincipalDeserializationException"),
    (ErrorCode::InvalidRegularExpression, "InvalidRegularExpression"),
];

/// The class that stands for `error`: its code in camel case, without the word "failed" of the
/// authorization errors.
fn api_exception_name(error: ErrorCode) -> String {
    let irregular = IRREGULAR_NAMES.iter().find(|(code, _)| *code == error);
    if let Some((_, name)) = irregular {
        return (*name).into();
    }
    let authorization = error.name().strip_suffix("AUTHORIZATION_FAILED").is_some();
    let words = error.name().split('_').filter(|word| !(authorization && *word == "FAILED"));
    let mut name = String::new();
    for word in words {
        name.push_str(&word[..1]);
        name.push_str(&word[1..].to_ascii_lowercase());
    }
    name + "Exception"
}

impl ExceptionClass {
    /// The class's name in Java, without its package.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Api(error) => api_exception_name(error),
            Self::TransactionAborted => "TransactionAbortedException".into(),
            Self::CommitFailed => "CommitFailedException".into(),
            Self::Authentication => "AuthenticationException".into(),
            Self::Kafka => "KafkaException".into(),
            Self::IllegalState => "IllegalStateException".into(),
            Self::IllegalArgument => "IllegalArgumentException".into(),
            Self::NoOffsetForPartition => "NoOffsetForPartitionException".into(),
            Self::LogTruncation => "LogTruncationException".into(),
            Self::Config => "ConfigException".into(),
        }
    }
}

/// An exception with its cause.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Exception {
    /// Its class.
    pub class: ExceptionClass,
    /// What it wraps.
    pub cause: Option<Arc<Exception>>,
}

impl Exception {
    /// An exception of `class` without a cause.
    #[must_use]
    pub const fn new(class: ExceptionClass) -> Self {
        Self { class, cause: None }
    }

    /// The exception of `error`.
    #[must_use]
    pub const fn of(error: ErrorCode) -> Self {
        Self::new(ExceptionClass::Api(error))
    }

    /// `TimeoutException`.
    #[must_use]
    pub const fn timeout() -> Self {
        Self::of(ErrorCode::RequestTimedOut)
    }

    /// `IllegalStateException`.
    #[must_use]
    pub const fn illegal_state() -> Self {
        Self::new(ExceptionClass::IllegalState)
    }

    /// An exception of `class` caused by `cause`.
    #[must_use]
    pub fn caused_by(class: ExceptionClass, cause: Self) -> Self {
        Self { class, cause: Some(Arc::new(cause)) }
    }

    /// Is it the exception of `error`?
    #[must_use]
    pub fn is(&self, error: ErrorCode) -> bool {
        self.class == ExceptionClass::Api(error)
    }

    /// A subclass of `ApiException`? Those `send()` returns in the future (P-API-6).
    #[must_use]
    pub const fn is_api(&self) -> bool {
        matches!(self.class, ExceptionClass::Api(_) | ExceptionClass::TransactionAborted)
    }

    /// A subclass of `RetriableException` (P-ERR-2)?
    #[must_use]
    pub const fn is_retriable(&self) -> bool {
        matches!(self.class, ExceptionClass::Api(error) if error.is_retriable())
    }

    /// Thrown by a commit that somebody else's offsets may follow: the consumer itself can go on
    /// (K-COM-5).
    #[must_use]
    pub fn is_about_the_commit(&self) -> bool {
        self.class == ExceptionClass::CommitFailed || self.is(ErrorCode::RebalanceInProgress)
    }

    /// What it wraps, and what that wraps, from the outside in.
    pub fn causes(&self) -> impl Iterator<Item = &Self> {
        core::iter::successors(self.cause.as_deref(), |inner| inner.cause.as_deref())
    }

    /// The error code nearest to it, looking through wrappers; what the checker is told.
    #[must_use]
    pub fn error_code(&self) -> ErrorCode {
        match (self.class, &self.cause) {
            (ExceptionClass::Kafka, Some(cause)) => cause.error_code(),
            (ExceptionClass::Api(error), _) => error,
            (ExceptionClass::TransactionAborted, _) => ErrorCode::TransactionAbortable,
            (ExceptionClass::IllegalState, _) => ErrorCode::InvalidTxnState,
            (ExceptionClass::CommitFailed, _) => ErrorCode::IllegalGeneration,
            (ExceptionClass::IllegalArgument | ExceptionClass::Config, _) => {
                ErrorCode::InvalidRequest
            }
            (ExceptionClass::NoOffsetForPartition | ExceptionClass::LogTruncation, _) => {
                ErrorCode::OffsetOutOfRange
            }
            (ExceptionClass::Authentication, _) => ErrorCode::SaslAuthenticationFailed,
            (ExceptionClass::Kafka, None) => ErrorCode::UnknownServerError,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_named_after_their_codes() {
        for (error, name) in [
            (
                ErrorCode::TransactionalIdAuthorizationFailed,
                "TransactionalIdAuthorizationException",
            ),
            (ErrorCode::NotLeaderOrFollower, "NotLeaderOrFollowerException"),
            (ErrorCode::RequestTimedOut, "TimeoutException"),
            (ErrorCode::OffsetMetadataTooLarge, "OffsetMetadataTooLarge"),
            (ErrorCode::InvalidProducerIdMapping, "InvalidPidMappingException"),
        ] {
            assert_eq!(Exception::of(error).class.name(), name);
        }
    }
}
