//! Finalized features.
//!
//! Kafka counterpart: `FeatureControlManager`. Of all features only `transaction.version` matters
//! here; a broker of 3.9 supports level 0 alone. Invariant: the level stands in the
//! metadata image, so each node follows it when its own metadata do (C-TV-1).

use alloc::sync::Arc;

use eosim_types::message::{UpdateFeaturesRequest, UpdateFeaturesResponse};
use eosim_types::metadata::MetadataImage;
use eosim_types::version::TransactionVersion;
use eosim_types::{Env, ErrorCode, rule};

/// `updateFeatures`: both directions are allowed, but no level above `supported`, what every registered
/// broker supports; a level that is there already is no change.
pub(super) fn update_features(
    image: &mut Arc<MetadataImage>,
    request: UpdateFeaturesRequest,
    supported: TransactionVersion,
    env: &mut Env<'_>,
) -> UpdateFeaturesResponse {
    rule!(env, "C-TV-1");
    if request.transaction_version > supported {
        return UpdateFeaturesResponse { error: ErrorCode::InvalidUpdateVersion };
    }
    if image.transaction_version != request.transaction_version {
        let image = Arc::make_mut(image);
        image.version += 1;
        image.transaction_version = request.transaction_version;
    }
    UpdateFeaturesResponse { error: ErrorCode::None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::fixture::{cluster, with_env};
    use eosim_types::version::TransactionVersion::{Tv0, Tv1, Tv2};

    #[test]
    fn transaction_version_goes_up_and_down_as_one_record_each_c_tv_1() {
        let mut image = Arc::new(cluster(&[1], &[&[1]]).initial_image());
        let first = image.version;
        let mut update = |transaction_version, supported| {
            let request = UpdateFeaturesRequest { transaction_version };
            let response = with_env(|env| update_features(&mut image, request, supported, env));
            (response.error, image.transaction_version, image.version - first)
        };
        assert_eq!(update(Tv2, Tv2), (ErrorCode::None, Tv2, 0));
        assert_eq!(update(Tv1, Tv2), (ErrorCode::None, Tv1, 1));
        assert_eq!(update(Tv2, Tv2), (ErrorCode::None, Tv2, 2));
        assert_eq!(update(Tv1, Tv0), (ErrorCode::InvalidUpdateVersion, Tv2, 2));
        assert_eq!(update(Tv0, Tv0), (ErrorCode::None, Tv0, 3));
    }
}
