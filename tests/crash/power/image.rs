//! What a disk holds after the power went: rebuilt from the record, with what was not synced dropped, torn, reordered or zeroed.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    os::unix::fs::FileExt as _,
    path::Path,
};

use super::record::Record;
use crate::dice::Dice;

/// What happens to what was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    /// Nothing happens to it: what the system itself shows, or a killed process leaves. To test the record itself.
    Kept,
    /// All of it is gone.
    Strict,
    /// A random half of it is there, in pieces of 512 to 4,096 bytes.
    Reordered,
    /// The last write to each file is cut at a random sector; what came before it is there.
    Torn,
    /// As `Reordered`, and names in folders are only there where the folder was synced.
    Posix,
    /// Names and lengths are there, and what was not synced reads as zeros.
    Zeroed,
}

pub(crate) const POWER_CUTS: [Model; 5] = [Model::Strict, Model::Reordered, Model::Torn, Model::Posix, Model::Zeroed];

/// The smallest piece that a disk writes at once.
const SECTOR: u64 = 512;
const SECTORS_PER_PIECE: u64 = 8;

/// A change of a file that may not have reached the disk.
#[derive(Clone, Debug)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Truncate(usize),
}

#[derive(Clone, Debug, Default)]
struct File {
    synced: Vec<u8>,
    unsynced: Vec<Change>,
    /// Syncs under way: how many of the changes each covers.
    syncs: HashMap<i64, usize>,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    Folder,
    File(usize),
}

/// The folder as the system shows it, and as the disk has it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk {
    files: Vec<File>,
    names: BTreeMap<String, Entry>,
    synced_names: BTreeMap<String, Entry>,
    /// Syncs of folders under way: the names that each covers.
    folder_syncs: HashMap<i64, (String, BTreeMap<String, Entry>)>,
    open: HashMap<i64, String>,
    /// By descriptor, as the file may have another name by now.
    open_files: HashMap<i64, usize>,
}

impl Disk {
    /// Takes the next record in.
    pub(crate) fn apply(&mut self, record: &Record) {
        match record {
            Record::Process => {
                self.open.clear();
                self.open_files.clear();
                self.folder_syncs.clear();
                self.files.iter_mut().for_each(|file| file.syncs.clear());
            }
            Record::Open { fd, path, truncates, creates } => self.open(*fd, path, *truncates, *creates),
            Record::Close { fd } => {
                self.open.remove(fd);
                self.open_files.remove(fd);
            }
            Record::Write { fd, offset, bytes } => {
                let offset = usize::try_from(*offset).expect("files are small");
                self.change(*fd, Change::Write { offset, bytes: bytes.clone() });
            }
            Record::Truncate { fd, length } => {
                self.change(*fd, Change::Truncate(usize::try_from(*length).expect("files are small")));
            }
            Record::Sync { fd, id } => self.sync(*fd, *id),
            Record::Synced { fd, id } => self.synced(*fd, *id),
            Record::Rename { from, to } => {
                let entry = self.names.remove(from).expect("what is renamed is there");
                self.names.insert(to.clone(), entry);
            }
            Record::Unlink { path } => {
                self.names.remove(path);
            }
            Record::Mkdir { path } => {
                self.names.insert(path.clone(), Entry::Folder);
            }
            Record::Send { .. } => {}
        }
    }

    fn open(&mut self, fd: i64, path: &str, truncates: bool, creates: bool) {
        self.open.insert(fd, path.to_owned());
        if creates {
            self.names.insert(path.to_owned(), Entry::File(self.files.len()));
            self.files.push(File::default());
        }
        if let Some(Entry::File(file)) = self.names.get(path) {
            self.open_files.insert(fd, *file);
            if truncates {
                self.change(fd, Change::Truncate(0));
            }
        }
    }

    fn change(&mut self, fd: i64, change: Change) {
        self.files[self.open_files[&fd]].unsynced.push(change);
    }

    fn sync(&mut self, fd: i64, id: i64) {
        if let Some(file) = self.open_files.get(&fd).map(|file| &mut self.files[*file]) {
            file.syncs.insert(id, file.unsynced.len());
        } else {
            let folder = self.open[&fd].clone();
            let names = children(&self.names, &folder);
            self.folder_syncs.insert(id, (folder, names));
        }
    }

    fn synced(&mut self, fd: i64, id: i64) {
        if let Some((folder, names)) = self.folder_syncs.remove(&id) {
            for name in children(&self.synced_names, &folder).into_keys() {
                self.synced_names.remove(&name);
            }
            self.synced_names.extend(names);
            // One that began earlier and ends later knows of fewer names, and takes none back.
            self.folder_syncs.retain(|other, (of, _)| *other > id || *of != folder);
            return;
        }
        let Some(file) = self.open_files.get(&fd).map(|file| &mut self.files[*file]) else { return };
        let covers = file.syncs.remove(&id).expect("its begin was recorded");
        for change in file.unsynced.drain(..covers) {
            apply(&mut file.synced, &change);
        }
        file.syncs.values_mut().for_each(|other| *other = other.saturating_sub(covers));
    }

    /// Writes the folder `root` as it is after a loss of power to `to`.
    pub(crate) fn write(&self, model: Model, root: &str, to: &Path, dice: &mut Dice) {
        fs::create_dir_all(to).expect("the image's folder can be made");
        let names = if model == Model::Posix { &self.synced_names } else { &self.names };
        // A folder stands before what is in it. What is in one that has no durable name is gone with it.
        for (path, entry) in names.iter().filter(|(path, _)| *path != root) {
            let place = to.join(path.strip_prefix(root).expect("it is below the root").trim_start_matches('/'));
            if !place.parent().is_some_and(Path::is_dir) {
                continue;
            }
            match entry {
                Entry::Folder => fs::create_dir(&place).expect("a folder can be made"),
                Entry::File(file) => write_sparse(&place, &self.files[*file].after(model, dice)),
            }
        }
    }
}

impl File {
    fn after(&self, model: Model, dice: &mut Dice) -> Vec<u8> {
        let mut bytes = self.synced.clone();
        match model {
            Model::Strict => {}
            Model::Kept => self.unsynced.iter().for_each(|change| apply(&mut bytes, change)),
            Model::Torn => {
                for (left, change) in (0..self.unsynced.len()).rev().zip(&self.unsynced) {
                    match change {
                        Change::Write { offset, bytes: written } if left == 0 => {
                            let cut = usize::try_from(dice.below(written.len() as u64 / SECTOR + 1) * SECTOR);
                            put(&mut bytes, *offset, &written[..cut.expect("a write is small")]);
                        }
                        Change::Write { .. } | Change::Truncate(_) => apply(&mut bytes, change),
                    }
                }
            }
            Model::Reordered | Model::Posix => self.unsynced.iter().for_each(|change| some(&mut bytes, change, dice)),
            Model::Zeroed => {
                for change in &self.unsynced {
                    match change {
                        // The length is metadata: what is new has its space, and not its content.
                        Change::Write { offset, bytes: written } if offset + written.len() > bytes.len() => {
                            bytes.resize(offset + written.len(), 0);
                        }
                        Change::Write { .. } => {}
                        Change::Truncate(_) => apply(&mut bytes, change),
                    }
                }
            }
        }
        bytes
    }
}

/// A random half of a change.
fn some(bytes: &mut Vec<u8>, change: &Change, dice: &mut Dice) {
    let Change::Write { offset, bytes: written } = change else {
        if dice.chance(50) {
            apply(bytes, change);
        }
        return;
    };
    let mut done = 0;
    while done < written.len() {
        // Pieces end where the disk's sectors do.
        let sectors = usize::try_from((1 + dice.below(SECTORS_PER_PIECE)) * SECTOR).expect("it is small");
        let sector = usize::try_from(SECTOR).expect("it is small");
        let end = ((offset + done) / sector * sector + sectors - offset).min(written.len());
        if dice.chance(50) {
            put(bytes, offset + done, &written[done..end]);
        }
        done = end;
    }
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write { offset, bytes: written } => put(bytes, *offset, written),
        Change::Truncate(length) => bytes.resize(*length, 0),
    }
}

fn put(bytes: &mut Vec<u8>, offset: usize, written: &[u8]) {
    let end = offset + written.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[offset..end].copy_from_slice(written);
}

fn children(names: &BTreeMap<String, Entry>, folder: &str) -> BTreeMap<String, Entry> {
    let is_child = |path: &str| Path::new(path).parent() == Some(Path::new(folder));
    names.iter().filter(|(path, _)| is_child(path)).map(|(path, entry)| (path.clone(), *entry)).collect()
}

/// Writes a file without its zeros, of which the journal mostly consists.
pub(crate) fn write_sparse(path: &Path, bytes: &[u8]) {
    const PAGE: usize = 4_096;
    let file = fs::File::create(path).expect("a file can be made");
    file.set_len(bytes.len() as u64).expect("it can have its length");
    for (number, page) in bytes.chunks(PAGE).enumerate() {
        if page != &[0; PAGE][..page.len()] {
            file.write_all_at(page, (number * PAGE) as u64).expect("it can be written");
        }
    }
}

#[test]
fn of_two_syncs_of_a_folder_the_one_that_began_later_counts() {
    let mut disk = Disk::default();
    let open = |fd, path: &str, creates| Record::Open { fd, path: path.to_owned(), truncates: false, creates };
    let file = |fd, path| [open(fd, path, true), Record::Sync { fd, id: fd }, Record::Synced { fd, id: fd }];
    let first = [Record::Mkdir { path: "/d".into() }, open(10, "/d", false), open(11, "/d", false)];
    let syncs = [Record::Synced { fd: 11, id: 21 }, Record::Synced { fd: 10, id: 20 }];
    let overlapping = file(1, "/d/a").into_iter().chain([Record::Sync { fd: 10, id: 20 }]);
    let overlapping = overlapping.chain(file(2, "/d/b")).chain([Record::Sync { fd: 11, id: 21 }]).chain(syncs);
    for record in first.into_iter().chain(overlapping) {
        disk.apply(&record);
    }
    let image = tempfile::tempdir().expect("a folder can be made");
    disk.write(Model::Posix, "/d", image.path(), &mut Dice::new(0));
    let kept = ["a", "b"].map(|name| image.path().join(name).is_file());
    assert_eq!(kept, [true, true]);
}
