//! What the journal's files say after a start: which commits sled has not got yet, and where the next one goes. A commit that was
//! never whole is dropped; one that was whole once and is not any more is damage.
//!
//! Commits are written one at a time, each synced before the next begins. So only the last frame can be torn: a frame that
//! follows a bad one proves that the bad one was acknowledged.

use std::path::PathBuf;

use super::{
    frame::{self, ALIGNMENT, Head, decode},
    integrity::Tally,
    overlay::Records,
    seal::{HEAD, Seal},
};
use crate::store::Error;

/// What a file was filled with when it was made. Where it is blank, there is no frame: looked at in pieces of this length, 16 MiB
/// of it take a few milliseconds, not half a second in a build for tests.
const BLANK: [u8; 4_096] = [0; 4_096];

/// A journal file as read.
#[derive(Debug)]
pub(super) struct Image {
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
}

/// A place in the journal: which of the images, and the byte in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) image: usize,
    pub(super) offset: usize,
}

/// What came of a replay.
#[derive(Debug, Default)]
pub(super) struct Replay {
    /// The commits after the checkpoint, oldest first, each with the tally of the globals after it.
    pub(super) commits: Vec<(Tally, Records)>,
    /// The last commit that is stored.
    pub(super) lsn: u64,
    /// Its frame: where it begins, and where it ends. None before the first commit.
    pub(super) last_frame: Option<(Place, usize)>,
    /// The last commit in each image.
    pub(super) last_lsns: Vec<u64>,
    /// The highest generation seen.
    pub(super) generation: u64,
    /// The bytes of the replayed frames.
    pub(super) bytes: usize,
}

#[derive(Clone, Copy, Debug)]
struct Found {
    place: Place,
    head: Head,
    whole: bool,
}

/// Puts the journal together from its files, of which there is at least one. `checkpoint` is the last commit that sled has, `acked` the last one known to be acknowledged.
pub(super) fn replay(images: &[Image], seal: Seal, checkpoint: u64, acked: u64) -> Result<Replay, Error> {
    let mut found: Vec<Found> = images.iter().enumerate().flat_map(|(at, image)| frames(at, image, seal)).collect();
    let mut replay = Replay { lsn: checkpoint, last_lsns: vec![0; images.len()], ..Replay::default() };
    for frame in &found {
        replay.generation = replay.generation.max(frame.head.generation);
        if frame.whole {
            let last = &mut replay.last_lsns[frame.place.image];
            *last = frame.head.lsn.max(*last);
        }
    }
    let newest = found.iter().filter(|frame| frame.whole).max_by_key(|frame| frame.head.lsn);
    let end = newest.map(|frame| (frame.place, frame.place.offset + frame.head.frame_length()));
    let newest = newest.map_or(0, |frame| frame.head.lsn);
    if newest < checkpoint {
        return Err(lost_end(images, end, newest, &format!("sled has commit {checkpoint}")));
    }
    found.retain(|frame| frame.head.lsn >= checkpoint);
    drop_superseded(&mut found);
    for frame in found.iter().filter(|frame| frame.whole) {
        if frame.head.lsn == replay.lsn + 1 {
            replay.commits.push(content(images, frame, seal)?);
            replay.bytes += frame.head.frame_length();
            replay.lsn += 1;
        }
        if frame.head.lsn == replay.lsn {
            replay.last_frame = Some((frame.place, frame.place.offset + frame.head.frame_length()));
        }
    }
    if let Some(beyond) = found.iter().find(|frame| frame.head.lsn > replay.lsn + 1) {
        return Err(damaged_middle(images, &found, &replay, beyond));
    }
    if acked > replay.lsn {
        let known = format!("commit {acked} was acknowledged (journal/acked)");
        return Err(lost_end(images, replay.last_frame, replay.lsn, &known));
    }
    Ok(replay)
}

/// All frames of a file in the order of their places, old ones too.
fn frames(at: usize, image: &Image, seal: Seal) -> Vec<Found> {
    let mut found = Vec::new();
    let mut offset = HEAD;
    while offset < image.bytes.len() {
        if image.bytes[offset..].starts_with(&BLANK) {
            // A head that begins in the blank's last bytes is still to be seen.
            offset += BLANK.len() - frame::HEAD;
            continue;
        }
        let mut step = ALIGNMENT;
        if let Some(head) = Head::at(&image.bytes, offset, seal) {
            let whole = head.payload(&image.bytes, offset, seal).is_some();
            found.push(Found { place: Place { image: at, offset }, head, whole });
            if whole {
                step = head.frame_length();
            }
        }
        offset += step;
    }
    found
}

/// Puts frames in order, and drops those that an opening decided against: from the first commit of a generation on, nothing of
/// an older generation counts.
fn drop_superseded(found: &mut Vec<Found>) {
    // Of one commit's frames the newest generation comes first, and a whole one before one that is not.
    found.sort_by_key(|frame| (frame.head.lsn, u64::MAX - frame.head.generation, !frame.whole));
    let mut generation = 0;
    found.retain(|frame| {
        if frame.whole {
            generation = generation.max(frame.head.generation);
        }
        frame.head.generation >= generation
    });
}

fn content(images: &[Image], frame: &Found, seal: Seal) -> Result<(Tally, Records), Error> {
    let image = &images[frame.place.image];
    let payload = frame.head.payload(&image.bytes, frame.place.offset, seal);
    payload.and_then(decode).ok_or_else(|| {
        let lsn = frame.head.lsn;
        damage(image, frame.place.offset, &format!("commit {lsn} has a right checksum but no readable content"))
    })
}

fn damaged_middle(images: &[Image], found: &[Found], replay: &Replay, beyond: &Found) -> Error {
    let missing = replay.lsn + 1;
    // The damaged frame itself if its head is still there, else where it must have begun.
    let torn = found.iter().find(|frame| frame.head.lsn == missing).map(|frame| frame.place);
    let after_last = replay.last_frame.map(|(place, end)| Place { offset: end, ..place });
    let place = torn.or(after_last.filter(|place| place.image == beyond.place.image)).unwrap_or(beyond.place);
    let what = format!("commit {missing} is damaged or missing, though commit {} follows it", beyond.head.lsn);
    damage(&images[place.image], place.offset, &what)
}

fn lost_end(images: &[Image], end: Option<(Place, usize)>, last: u64, known: &str) -> Error {
    let (image, offset) = end.map_or((0, HEAD), |(place, end)| (place.image, end));
    damage(&images[image], offset, &format!("the journal ends here with commit {last}, but {known}: its end is lost"))
}

fn damage(image: &Image, offset: usize, what: &str) -> Error {
    Error::Damaged(format!("{} at byte {offset}: {what}; restore the whole folder from a backup", image.path.display()))
}

#[cfg(test)]
mod tests {
    use super::{super::frame::encode, *};

    const SEAL_ID: [u8; 16] = [8; 16];

    fn seal() -> Seal {
        Seal::of(&SEAL_ID)
    }

    fn frame(lsn: u64, generation: u64) -> Vec<u8> {
        let ops = [(format!("key{lsn}").into(), Some(format!("value of {lsn} in {generation}").into()))].into();
        let mut buffer = Vec::new();
        encode(&mut buffer, seal(), lsn, generation, Tally { count: lsn, digest: 0 }, &ops);
        buffer
    }

    fn image(name: &str, parts: &[Vec<u8>]) -> Image {
        let mut bytes = vec![0; HEAD];
        bytes.extend(parts.concat());
        bytes.extend_from_slice(&[0; 512]);
        Image { path: name.into(), bytes }
    }

    fn garbled(mut frame: Vec<u8>, at: usize) -> Vec<u8> {
        frame[at] ^= 1;
        frame
    }

    fn lsns(replay: &Replay) -> Vec<u64> {
        replay.commits.iter().map(|(globals, _)| globals.count).collect()
    }

    fn damage_text(images: &[Image], checkpoint: u64, acked: u64) -> String {
        let Err(Error::Damaged(text)) = replay(images, seal(), checkpoint, acked) else { panic!("no damage found") };
        text
    }

    #[test]
    fn what_the_checkpoint_lacks_is_replayed_across_files_in_any_order() {
        let images = [image("0", &[frame(4, 1), frame(5, 2)]), image("1", &[frame(1, 1), frame(2, 1), frame(3, 1)])];
        let found = replay(&images, seal(), 2, 5).unwrap();
        assert_eq!((lsns(&found), found.lsn, found.generation), (vec![3, 4, 5], 5, 2));
        assert_eq!(found.last_lsns, [5, 3]);
        let (place, end) = found.last_frame.unwrap();
        assert_eq!((place.image, end), (0, HEAD + 2 * frame(4, 1).len()));
        assert_eq!(lsns(&replay(&images, seal(), 0, 0).unwrap()), [1, 2, 3, 4, 5]);
        let nothing_to_do = replay(&images, seal(), 5, 5).unwrap();
        assert_eq!((nothing_to_do.commits.len(), nothing_to_do.last_frame.unwrap().1), (0, end));
    }

    #[test]
    fn a_torn_end_is_dropped() {
        for at in [0, 9, 25, 40] {
            let images = [image("0", &[frame(1, 1), garbled(frame(2, 1), at)])];
            let found = replay(&images, seal(), 0, 1).unwrap();
            assert_eq!((lsns(&found), found.last_frame.unwrap().1), (vec![1], HEAD + frame(1, 1).len()), "byte {at}");
        }
    }

    #[test]
    fn a_damaged_middle_is_named() {
        for at in [0, 9, 25, 40] {
            let images = [image("journal/0", &[frame(1, 1), garbled(frame(2, 1), at), frame(3, 1)])];
            let text = damage_text(&images, 0, 0);
            let place = format!("journal/0 at byte {}", HEAD + frame(1, 1).len());
            assert!(text.contains(&place) && text.contains("commit 2 is"), "{text}");
        }
        // The head of a damaged end still counts as a frame that follows.
        let images = [image("0", &[garbled(frame(1, 1), 3), garbled(frame(2, 1), 40)])];
        assert!(damage_text(&images, 0, 0).contains("commit 1 is damaged"));
    }

    #[test]
    fn damage_that_sled_has_no_need_of_is_none() {
        let images = [image("0", &[garbled(frame(1, 1), 40), frame(2, 1), frame(3, 1)])];
        assert_eq!(lsns(&replay(&images, seal(), 1, 3).unwrap()), [2, 3]);
    }

    #[test]
    fn an_end_that_sled_or_the_mark_knows_better_is_damage() {
        let images = [image("0", &[frame(1, 1), frame(2, 1)])];
        let end = HEAD + 2 * frame(1, 1).len();
        let lost = format!("0 at byte {end}: the journal ends here with commit 2, but sled has commit 3");
        assert!(damage_text(&images, 3, 0).contains(&lost));
        assert!(damage_text(&images, 0, 3).contains("with commit 2, but commit 3 was acknowledged"));
        assert!(damage_text(&[image("0", &[])], 0, 1).contains("0 at byte 32: the journal ends here with commit 0"));
    }

    #[test]
    fn a_gap_after_the_checkpoint_is_damage() {
        let images = [image("0", &[frame(6, 1), frame(7, 1)])];
        assert!(damage_text(&images, 4, 0).contains("commit 5 is damaged or missing"));
        assert_eq!(lsns(&replay(&images, seal(), 5, 0).unwrap()), [6, 7]);
    }

    #[test]
    fn what_an_earlier_opening_dropped_stays_dropped() {
        // Commit 3 was torn at the beginning of file 1; the next opening wrote another commit 3 behind commit 2.
        let torn = garbled(frame(3, 1), 40);
        let images = [image("0", &[frame(1, 1), frame(2, 1), frame(3, 2), frame(4, 2)]), image("1", &[torn])];
        assert_eq!(lsns(&replay(&images, seal(), 0, 4).unwrap()), [1, 2, 3, 4]);
        // Left over from a longer history that was given up: generation 1 counts for nothing from commit 3 on.
        let images = [image("0", &[frame(1, 1), frame(2, 1), frame(3, 2)]), image("1", &[frame(3, 1), frame(4, 1)])];
        let found = replay(&images, seal(), 0, 3).unwrap();
        assert_eq!(
            (lsns(&found), found.commits[2].1.values().next().unwrap().clone().unwrap()),
            (vec![1, 2, 3], "value of 3 in 2".into())
        );
    }

    #[test]
    fn another_stores_frames_are_none() {
        let images = [image("0", &[frame(1, 1)])];
        let found = replay(&images, Seal::of(&[9; 16]), 0, 0).unwrap();
        assert_eq!((found.lsn, found.last_frame), (0, None));
    }
}
