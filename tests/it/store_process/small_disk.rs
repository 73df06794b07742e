//! A small disk.
#![allow(dead_code, reason = "two test binaries share it, and each uses a part")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

/// A disk of its own in memory; unmounted when dropped.
pub(crate) struct SmallDisk {
    dir: TempDir,
}

impl SmallDisk {
    /// None where this machine does not let us mount, which is a failure where nothing may be skipped.
    pub(crate) fn mount(test: &str, megabytes: u32) -> Option<Self> {
        let dir = tempfile::tempdir().expect("a folder");
        let size = format!("size={megabytes}m");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(dir.path()).output();
        let mounted = mount.is_ok_and(|output| output.status.success());
        if !mounted {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "{test}: cannot mount a tmpfs, and CI skips nothing");
            eprintln!("skipped: {test}: mounting a tmpfs needs root");
        }
        mounted.then_some(Self { dir })
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn make_read_only(&self) {
        let status = Command::new("mount").args(["-o", "remount,ro"]).arg(self.dir.path()).status();
        assert!(status.expect("mount runs").success());
    }

    /// Takes all its space.
    pub(crate) fn fill(&self) -> PathBuf {
        let ballast = self.dir.path().join("ballast");
        let mut file = fs::File::create(&ballast).expect("a file");
        let block = vec![1; 64 << 10];
        let full = std::iter::repeat_with(|| std::io::Write::write_all(&mut file, &block)).find_map(Result::err);
        assert_eq!(full.map(|error| error.kind()), Some(std::io::ErrorKind::StorageFull));
        ballast
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A server that a failed test left behind keeps it busy.
        let _ = Command::new("umount").arg("--lazy").arg(self.dir.path()).status();
    }
}
