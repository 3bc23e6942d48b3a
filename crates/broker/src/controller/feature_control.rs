//! Finalized features.
//!
//! Kafka counterpart: `FeatureControlManager`. Of all features only `transaction.version` matters
//! here; every broker of the model supports all its levels. Invariant: the level stands in the
//! metadata image, so each node follows it when its own metadata do (C-TV-1).

use alloc::sync::Arc;

use eosim_types::message::{UpdateFeaturesRequest, UpdateFeaturesResponse};
use eosim_types::metadata::MetadataImage;
use eosim_types::{Env, ErrorCode, rule};

/// `updateFeatures`: both directions are allowed; a level that is there already is no change.
pub(super) fn update_features(
    image: &mut Arc<MetadataImage>,
    request: UpdateFeaturesRequest,
    env: &mut Env<'_>,
) -> UpdateFeaturesResponse {
    rule!(env, "C-TV-1");
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
    use eosim_types::version::TransactionVersion::{Tv1, Tv2};

    #[test]
    fn transaction_version_goes_up_and_down_as_one_record_each_c_tv_1() {
        let mut image = Arc::new(cluster(&[1], &[&[1]]).initial_image());
        let first = image.version;
        let mut update = |transaction_version| {
            let request = UpdateFeaturesRequest { transaction_version };
            let response = with_env(|env| update_features(&mut image, request, env));
            (response.error, image.transaction_version, image.version - first)
        };
        assert_eq!(update(Tv2), (ErrorCode::None, Tv2, 0));
        assert_eq!(update(Tv1), (ErrorCode::None, Tv1, 1));
        assert_eq!(update(Tv2), (ErrorCode::None, Tv2, 2));
    }
}
