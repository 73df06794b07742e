//! What becomes of a folder's files.

use bytes::Bytes;

use super::original::Files;
use crate::dice::Dice;

/// A kind of damage. The last five are those of C40.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Harm {
    Bit,
    ZeroedSector,
    Truncated,
    Deleted,
    Appended,
    Added,
    SnapshotEmptied,
    SnapshotGenerating,
    DbHalved,
    DbDeleted,
    DbOverwritten,
}

pub(super) const BY_CHANCE: [Harm; 6] =
    [Harm::Bit, Harm::ZeroedSector, Harm::Truncated, Harm::Deleted, Harm::Appended, Harm::Added];

pub(super) const OF_C40: [Harm; 5] =
    [Harm::SnapshotEmptied, Harm::SnapshotGenerating, Harm::DbHalved, Harm::DbDeleted, Harm::DbOverwritten];

const SECTOR: usize = 512;
/// A file that is as likely to be hit as three smaller ones.
const LONG: usize = 10_000;
/// The longest piece of junk, and the junk in C40's `db`.
const JUNK: u64 = 5_000;
const OVERWRITTEN: usize = 64;

/// Where junk is added: beside the store's own files, under names that it could take for its own.
const ADDED: [&str; 13] = [
    "junk",
    "STORE.new",
    "sled.draft",
    "sled.whole",
    "sled.old",
    "journal/1",
    "journal/9.new",
    "journal/junk",
    "sled/snap.00000000FFFFFFFF",
    "sled/snap.00000000FFFFFFFF.generating",
    "sled/blobs/7",
    "blobs/0000000099",
    "blobs/junk",
];

impl Harm {
    /// Does it to a file by chance; says what was done. `None` where the folder has nothing of the kind.
    pub(super) fn strike(self, files: &mut Files, dice: &mut Dice) -> Option<String> {
        match self {
            Self::Added => {
                let name = dice.one_of(&ADDED);
                files.insert(name.to_owned(), junk(dice));
                Some(format!("junk added as {name}"))
            }
            Self::SnapshotGenerating => {
                files.insert("sled/snap.0000000000000ABC.generating".to_owned(), junk(dice));
                Some("junk in a snapshot that is being made".to_owned())
            }
            Self::Bit | Self::ZeroedSector | Self::Truncated | Self::Deleted | Self::Appended => {
                let long = |(_, content): &(&String, &Bytes)| content.len() > LONG;
                let all: Vec<(&String, &Bytes)> = files.iter().filter(|(name, _)| !name.ends_with('/')).collect();
                let weighted: Vec<&String> =
                    [&all[..], &all.iter().copied().filter(long).collect::<Vec<_>>().repeat(2)]
                        .concat()
                        .into_iter()
                        .map(|(name, _)| name)
                        .collect();
                let name = dice.one_of(&weighted).clone();
                self.change(files, name, dice)
            }
            Self::SnapshotEmptied => {
                let name = files.keys().find(|name| name.starts_with("sled/snap."))?.clone();
                self.change(files, name, dice)
            }
            Self::DbHalved | Self::DbDeleted | Self::DbOverwritten => self.change(files, "sled/db".to_owned(), dice),
        }
    }

    fn change(self, files: &mut Files, name: String, dice: &mut Dice) -> Option<String> {
        let mut content = files.remove(&name)?.to_vec();
        // Mostly where something stands: a journal file is blank to its end.
        let used = content.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let bound = if dice.chance(90) { used } else { content.len() };
        let at = usize::try_from(dice.below(bound.max(1) as u64)).expect("it is a place");
        match self {
            Self::Bit => {
                let bit = dice.below(8);
                content.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << bit);
            }
            Self::ZeroedSector => content.iter_mut().skip(at / SECTOR * SECTOR).take(SECTOR).for_each(|byte| *byte = 0),
            Self::Truncated => content.truncate(at),
            Self::Appended => content.extend_from_slice(&junk(dice)),
            Self::SnapshotEmptied => content.clear(),
            Self::DbHalved => content.truncate(content.len() / 2),
            Self::DbOverwritten => content.iter_mut().skip(at).take(OVERWRITTEN).for_each(|byte| *byte = random(dice)),
            Self::Deleted | Self::DbDeleted => return Some(format!("{name} deleted")),
            Self::Added | Self::SnapshotGenerating => unreachable!("they change no file that is there"),
        }
        let said = format!("{name}: {self:?} at byte {at}, {} bytes now", content.len());
        files.insert(name, content.into());
        Some(said)
    }
}

fn random(dice: &mut Dice) -> u8 {
    u8::try_from(dice.below(256)).expect("it is a byte")
}

fn junk(dice: &mut Dice) -> Bytes {
    (0..=dice.below(JUNK)).map(|_| random(dice)).collect()
}
