//! Expands the command line to a list of files: directories, globs, `@` lists.

use globset::GlobBuilder;
use skep::Error;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// A file to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Its path.
    pub path: PathBuf,
    /// Whether it was named by the user; otherwise it was found in a directory, where other files
    /// are skipped.
    pub named: bool,
}

/// The files named by the arguments.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// Files, in the order of the arguments; those of a folder by name.
    pub files: Vec<Input>,
    /// Files in directories that are not BPF objects.
    pub passed_over: Vec<PathBuf>,
    /// Arguments that match nothing, one line each.
    pub errors: Vec<String>,
}

/// Expands the arguments; `any_file` accepts every file of a directory, not only BPF objects.
pub fn expand(args: &[OsString], any_file: bool) -> Inputs {
    let mut inputs = Inputs::default();
    for arg in args {
        match arg.as_encoded_bytes().strip_prefix(b"@") {
            Some(list) => {
                let list = os_string(list);
                match read_bytes(Path::new(&list), TEXT_BYTES_MAX) {
                    Ok(bytes) => {
                        paths_of(&bytes).for_each(|path| inputs.add(&path, any_file));
                    }
                    Err(e) => {
                        let error = Error::io(Path::new(&list), "reading the list", e);
                        inputs.errors.push(error.to_string());
                    }
                }
            }
            None => inputs.add(arg, any_file),
        }
    }
    inputs
}

/// A name in the system's representation: arbitrary bytes where names are bytes.
#[cfg(unix)]
pub(crate) fn os_string(bytes: &[u8]) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec())
}

/// A name in the system's representation.
#[cfg(not(unix))]
pub(crate) fn os_string(bytes: &[u8]) -> OsString {
    String::from_utf8_lossy(bytes).into_owned().into()
}

/// The paths in a list, one per line; otherwise as in [`read_list`].
fn paths_of(list: &[u8]) -> impl Iterator<Item = OsString> {
    let lines = list.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.filter(|line| !line.is_empty() && !line.starts_with(b"#")).map(os_string)
}

/// Maximum size of a text that is read completely: a list, results to compare with.
const TEXT_BYTES_MAX: u64 = 256 << 20;

/// A text file, or a pipe that ends.
///
/// # Errors
///
/// It cannot be read, is too long for a list, or is not UTF-8.
pub fn read_text(path: &Path) -> std::io::Result<String> {
    read_text_of(path, TEXT_BYTES_MAX)
}

/// The same, of at most this many bytes.
pub(crate) fn read_text_of(path: &Path, bytes_max: u64) -> std::io::Result<String> {
    String::from_utf8(read_bytes(path, bytes_max)?).map_err(|_| {
        std::io::Error::new(std::io::ErrorKind::InvalidData, "stream did not contain valid UTF-8")
    })
}

/// The same for arbitrary bytes.
fn read_bytes(path: &Path, bytes_max: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(bytes_max + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > bytes_max {
        true => Err(std::io::Error::other(format!("more than {bytes_max} bytes"))),
        false => Ok(bytes),
    }
}

/// The lines of a list, without blank ones and those that begin with `#`.
pub fn read_list(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

impl Inputs {
    fn add(&mut self, arg: &OsStr, any_file: bool) {
        let path = Path::new(arg);
        if path.is_dir() {
            self.add_folder(path, any_file);
        } else if !path.exists() && arg.as_encoded_bytes().iter().any(|c| b"*?[{".contains(c)) {
            self.add_glob(&arg.to_string_lossy());
        } else if !path.exists() && is_plain_name(arg) {
            let name = arg.to_string_lossy();
            let error =
                format!("{name}: no such file; a program is chosen with its name: -f {name}");
            self.errors.push(error);
        } else {
            self.files.push(Input { path: path.to_owned(), named: true });
        }
    }

    fn add_folder(&mut self, folder: &Path, any_file: bool) {
        let before = (self.files.len(), self.errors.len());
        for entry in WalkDir::new(folder).sort_by_file_name() {
            match entry {
                // Links to folders could lead anywhere, also back here.
                Ok(entry) if entry.path_is_symlink() && !entry.path().is_file() => {
                    self.passed_over.push(entry.into_path());
                }
                Ok(entry) if !entry.path().is_file() => {}
                Ok(entry) if any_file || is_bpf_object(entry.path()) => {
                    self.files.push(Input { path: entry.into_path(), named: false });
                }
                Ok(entry) => self.passed_over.push(entry.into_path()),
                Err(e) => {
                    let path = e.path().unwrap_or(folder).display();
                    let cause = e.io_error().map_or_else(|| e.to_string(), skep::io_text);
                    self.errors.push(format!("{path}: while reading the directory: {cause}"));
                }
            }
        }
        if (self.files.len(), self.errors.len()) == before {
            self.errors.push(format!("{}: no BPF object inside", folder.display()));
        }
    }

    fn add_glob(&mut self, pattern: &str) {
        // As in a shell, a star stays in its directory; two stars descend.
        let matcher = match GlobBuilder::new(pattern).literal_separator(true).build() {
            Ok(glob) => glob.compile_matcher(),
            Err(e) => return self.errors.push(format!("{pattern}: while reading the glob: {e}")),
        };
        let root = glob_root(pattern);
        let before = self.files.len();
        // Paths below "." come with "./" in front, which the pattern does not have.
        let named = |path: &Path| path.strip_prefix("./").unwrap_or(path).to_owned();
        let entries = WalkDir::new(&root).sort_by_file_name().into_iter().flatten();
        for entry in entries.filter(|e| e.path().is_file()) {
            let path = named(entry.path());
            if matcher.is_match(&path) || matcher.is_match(entry.path()) {
                self.files.push(Input { path, named: true });
            }
        }
        if self.files.len() == before {
            self.errors.push(format!("{pattern}: no file matches"));
        }
    }
}

/// Whether it could be the name of a program: C identifiers are.
fn is_plain_name(arg: &OsStr) -> bool {
    let is_of_name = |c: &u8| c.is_ascii_alphanumeric() || *c == b'_';
    !arg.is_empty() && arg.as_encoded_bytes().iter().all(is_of_name)
}

/// The directory above the first component with a wildcard.
fn glob_root(pattern: &str) -> PathBuf {
    let plain = |part: &std::path::Component<'_>| {
        !part.as_os_str().to_string_lossy().contains(['*', '?', '[', '{'])
    };
    let root: PathBuf = Path::new(pattern).components().take_while(plain).collect();
    if root.as_os_str().is_empty() { PathBuf::from(".") } else { root }
}

/// Whether a file begins like a BPF object (checks the ELF header only; false if unreadable).
fn is_bpf_object(path: &Path) -> bool {
    let mut head = [0u8; 20];
    // Files in /proc have no size; reading some of them blocks for ever.
    if fs::metadata(path).is_ok_and(|file| file.len() == 0) {
        return false;
    }
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && is_bpf_header(&head)
}

/// Whether `head` begins a relocatable 64-bit ELF file for BPF, in either byte order. Old compilers
/// left the machine 0.
pub fn is_bpf_header(head: &[u8]) -> bool {
    let [0x7f, b'E', b'L', b'F', 2, order, ..] = head else { return false };
    let (Some(kind), Some(machine)) = (head.get(16..18), head.get(18..20)) else {
        return false;
    };
    match order {
        1 => kind == [1, 0] && matches!(machine, [247 | 0, 0]),
        2 => kind == [0, 1] && matches!(machine, [0, 247 | 0]),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object_head() -> Vec<u8> {
        let mut head = b"\x7fELF\x02\x01\x01".to_vec();
        head.resize(64, 0);
        head[16] = 1;
        head[18] = 247;
        head
    }

    #[test]
    fn folders_globs_and_lists() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("sub")).unwrap();
        for name in ["b.o", "a.o", "sub/c.o"] {
            fs::write(at(name), object_head()).unwrap();
        }
        fs::write(at("notes.txt"), "text").unwrap();
        fs::write(at("list"), format!("# list\n\n{}\n", at("a.o").display())).unwrap();

        let names = |args: &[OsString], any| {
            let inputs = expand(args, any);
            assert_eq!(inputs.errors, [] as [String; 0]);
            let name = |input: &Input| input.path.strip_prefix(dir.path()).unwrap().to_owned();
            let names: Vec<PathBuf> = inputs.files.iter().map(name).collect();
            (names, inputs.passed_over.len())
        };
        let arg = |text: &str| [at(text).into_os_string()];
        let paths = |list: &[&str]| list.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(names(&arg(""), false), (paths(&["a.o", "b.o", "sub/c.o"]), 2));
        assert_eq!(names(&arg(""), true).0.len(), 5);
        assert_eq!(names(&arg("[ab].o"), false), (paths(&["a.o", "b.o"]), 0));
        assert_eq!(names(&arg("*.o"), false), (paths(&["a.o", "b.o"]), 0));
        assert_eq!(names(&arg("**/*.o"), false).0, paths(&["a.o", "b.o", "sub/c.o"]));
        assert_eq!(names(&[format!("@{}", at("list").display()).into()], false).0, paths(&["a.o"]));
    }

    #[cfg(unix)]
    #[test]
    fn links_to_files_are_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (objects, links) = (dir.path().join("objects"), dir.path().join("links"));
        let link = |to: &str, name| std::os::unix::fs::symlink(to, links.join(name)).unwrap();
        fs::create_dir(&objects).unwrap();
        fs::create_dir(&links).unwrap();
        fs::write(objects.join("a.o"), object_head()).unwrap();
        link("../objects/a.o", "b.o");
        link("../objects", "folder.o");
        link("nothing", "dangling.o");
        let found = expand(&[links.clone().into()], false);
        let b = Input { path: links.join("b.o"), named: false };
        let passed_over = ["dangling.o", "folder.o"].map(|name| links.join(name)).to_vec();
        assert_eq!(found, Inputs { files: vec![b], passed_over, errors: Vec::new() });
        let found = expand(&[links.join("*.o").into()], false);
        let b = Input { path: links.join("b.o"), named: true };
        assert_eq!(found, Inputs { files: vec![b], ..Inputs::default() });
    }

    #[test]
    fn what_names_nothing_is_an_error_line() {
        let errors = |arg: &str| expand(&[arg.into()], false).errors;
        assert_eq!(errors("no/such/*.o"), ["no/such/*.o: no file matches"]);
        let named = "loop_range: no such file; a program is chosen with its name: -f loop_range";
        assert_eq!(errors("loop_range"), [named]);
        assert_eq!(errors("@no/list").len(), 1);
        // A plain name is kept: reading it gives the error.
        assert!(errors("no/such.o").is_empty());
    }
}
