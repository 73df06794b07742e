//! Stored records of any bytes: read, or refused in words.

use proptest::{collection::vec, prelude::*};

use super::{tests, *};
use crate::{
    batch::event::StepId,
    fuzz::{at_least, bytes_like},
};

/// A refusal says what a record is or lacks.
fn is_told<T>(read: Result<T, Error>) -> Result<Option<T>, TestCaseError> {
    match read {
        Ok(record) => Ok(Some(record)),
        Err(Error::Damaged(message) | Error::Newer(message)) => {
            let names_it = message.contains("record") || message.contains("outline");
            prop_assert!(names_it && message.len() < 400, "{}", message);
            Ok(None)
        }
        Err(other) => Err(TestCaseError::fail(format!("{other:?}"))),
    }
}

/// What is read can be written, and is the same when it is read again. Numbers are compared by their text, as NaN is not itself.
macro_rules! goes_around {
    ($record:expr, $write:expr, $read:expr) => {
        if let Some(record) = is_told($record)? {
            let again = $read(&$write(&record)).expect("it was written");
            prop_assert_eq!(format!("{record:?}"), format!("{again:?}"));
        }
    };
}

proptest! {
    #![proptest_config(at_least(20_000))]

    #[test]
    fn any_bytes_are_a_record_or_refused(bytes in bytes_like(tests::one_of_each())) {
        let value = Bytes::from(bytes);
        goes_around!(decode_entry(1, &value), encode_entry, |value| decode_entry(1, value));
        goes_around!(decode_batch(&value), encode_batch, decode_batch);
        goes_around!(decode_variable(&value), encode_variable, decode_variable);
        goes_around!(decode_key(&value), |(name, key): &(String, _)| encode_key(name, key), decode_key);
        let id = StepId(uuid::Uuid::nil());
        goes_around!(decode_step(id, &value), |(batch, step): &(_, _)| encode_step(*batch, step), |value| decode_step(id, value));
        goes_around!(decode::<Counters>(&value), encode, decode::<Counters>);
        goes_around!(decode::<Locator>(&value), encode, decode::<Locator>);
        goes_around!(decode::<OpenBatch>(&value), encode, decode::<OpenBatch>);
        goes_around!(decode::<Task>(&value), encode, decode::<Task>);
    }

    #[test]
    fn any_bytes_are_a_batchs_content_or_refused(
        bytes in bytes_like(vec![tests::content().0]), split in prop_oneof![3 => Just(tests::content().1), 1 => 0_usize..64],
        lengths in vec(prop_oneof![0_u64..30, Just(u64::MAX)], 0..3),
    ) {
        let content = Bytes::from(bytes);
        let split = split.min(content.len());
        if let Some(mut outline) = is_told(Outline::read(content.slice(..split)))? {
            // Within its message a length that is damaged in bytes seldom stays a length.
            for (call, length) in outline.calls.iter_mut().zip(lengths) {
                call.args_bytes = length;
            }
            for index in [0, 1, 2, u32::MAX] {
                let _ = outline.args_range(index);
            }
            is_told(outline.spec("b", [0; 32], &content.slice(split..)))?;
        }
    }
}
