//! A kept run as one file: an archive in the form that POSIX calls ustar, which every `tar` opens.
//!
//! It says nothing of the machine: no owner, no times, names in order; the same run is the same
//! archive, byte for byte.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use super::{StoreError, part_of};

/// Everything in an archive is padded to a multiple of this.
const BLOCK: usize = 512;

/// Writes the run in the folder `run` to the archive `out`, below the folder's name.
///
/// # Errors
/// If one of its files cannot be read, or the archive cannot be written.
pub fn export(run: &Path, out: &Path) -> Result<(), StoreError> {
    // `.` and `latest` are no names.
    let run = &fs::canonicalize(run).map_err(StoreError::at(run))?;
    let mut files = Vec::new();
    collect(run, &mut files)?;
    files.sort();
    let root = run.file_name().map_or("run".into(), |name| name.to_string_lossy().into_owned());
    let part = part_of(out);
    let mut archive = BufWriter::new(File::create(&part).map_err(StoreError::at(out))?);
    for file in &files {
        let inside = file.strip_prefix(run).unwrap_or(file).to_string_lossy().replace('\\', "/");
        add(&mut archive, &format!("{root}/{inside}"), file).map_err(StoreError::at(file))?;
    }
    let ended = archive.write_all(&[0; 2 * BLOCK]).and_then(|()| archive.flush());
    ended.and_then(|()| fs::rename(&part, out)).map_err(StoreError::at(out))
}

/// All files below `folder` but those that are not whole, or for the sweep itself alone.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), StoreError> {
    for entry in fs::read_dir(folder).map_err(StoreError::at(folder))? {
        let entry = entry.map_err(StoreError::at(folder))?;
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_none_or(|extension| extension != "part") {
            files.push(path);
        }
    }
    Ok(())
}

fn add(archive: &mut impl Write, name: &str, file: &Path) -> io::Result<()> {
    let mut file = File::open(file)?;
    let size = file.metadata()?.len();
    archive.write_all(&header(name, size)?)?;
    let copied = io::copy(&mut (&mut file).take(size), archive)?;
    if copied != size {
        return Err(io::Error::other("it has become shorter meanwhile"));
    }
    let over = usize::try_from(size % BLOCK as u64).expect("less than a block");
    archive.write_all(&[0; BLOCK][..(BLOCK - over) % BLOCK])
}

/// Name, mode, owner, group, size, time, checksum, kind, name of the form, first part of the name.
fn header(name: &str, size: u64) -> io::Result<[u8; BLOCK]> {
    let (prefix, name) = split(name)?;
    if size >= 1 << 33 {
        return Err(io::Error::other("larger than 8 GiB, which the archive cannot hold"));
    }
    let mut header = [0; BLOCK];
    let mut put = |at: usize, text: &str| {
        header[at..at + text.len()].copy_from_slice(text.as_bytes());
    };
    put(0, name);
    put(100, "0000644");
    put(108, "0000000");
    put(116, "0000000");
    put(124, &format!("{size:011o}"));
    put(136, "00000000000");
    put(148, "        ");
    put(156, "0");
    put(257, "ustar");
    put(263, "00");
    put(345, prefix);
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Ok(header)
}

/// A name that is too long for its field has its first folders in another.
fn split(name: &str) -> io::Result<(&str, &str)> {
    if name.len() <= 100 {
        return Ok(("", name));
    }
    let places = name.match_indices('/').map(|(at, _)| (&name[..at], &name[at + 1..]));
    let mut fitting = places.filter(|(prefix, rest)| prefix.len() <= 155 && rest.len() <= 100);
    fitting.next().ok_or_else(|| io::Error::other("a name that is too long for the archive"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_split_at_a_folder() {
        let long = format!("{}/{}", "a".repeat(80), "b".repeat(80));
        let (prefix, name) = split(&long).expect("fits");
        assert_eq!((prefix.len(), name.len()), (80, 80));
        assert!(split(&"a".repeat(101)).is_err());
        assert_eq!(split("run/file").expect("fits"), ("", "run/file"));
    }
}
