//! What an API call throws and what a record's future fails with
//! (`org.apache.kafka.common.errors`, `KafkaException`).

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

    /// The error code nearest to it, looking through wrappers; what the checker is told.
    #[must_use]
    pub fn error_code(&self) -> ErrorCode {
        match (self.class, &self.cause) {
            (ExceptionClass::Kafka, Some(cause)) => cause.error_code(),
            (ExceptionClass::Api(error), _) => error,
            (ExceptionClass::TransactionAborted, _) => ErrorCode::TransactionAbortable,
            (ExceptionClass::IllegalState, _) => ErrorCode::InvalidTxnState,
            (ExceptionClass::CommitFailed, _) => ErrorCode::IllegalGeneration,
            (ExceptionClass::Authentication, _) => ErrorCode::SaslAuthenticationFailed,
            (ExceptionClass::Kafka, None) => ErrorCode::UnknownServerError,
        }
    }
}
