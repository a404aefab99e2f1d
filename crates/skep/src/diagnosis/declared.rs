//! Load errors whose cause is a declaration: BTF only has lines of insns.

use crate::diagnosis::note::Note;
use crate::program::SourcePlace;
use crate::{LoadClass, Refusal};

/// Where the declaration is that a load error is about, if `at`, the line that is shown, is not it.
pub(crate) fn note(refusal: &Refusal, prog: &str, at: Option<&SourcePlace>) -> Option<Note> {
    /// The only one of its class that is about a function.
    const OF_FUNCTION: &str = "functions in .text";
    let is_of_name = |c: char| c == '_' || c.is_alphanumeric();
    let is_named =
        |spot: &SourcePlace| spot.text.split(|c| !is_of_name(c)).any(|word| word == prog);
    let of_declaration = match refusal.load? {
        LoadClass::Open => refusal.message.contains(OF_FUNCTION),
        class => matches!(class, LoadClass::Section | LoadClass::Attach),
    };
    let text = match (refusal.load?, at) {
        (LoadClass::StructOps, None) => {
            "the line to change has no entry in BTF: it is the declaration of that map".to_owned()
        }
        (LoadClass::Map, Some(_)) => {
            "the map is used here; its declaration has no line in BTF".to_owned()
        }
        (_, Some(spot)) if of_declaration && !is_named(spot) => return Some(body_of(prog)),
        _ => return None,
    };
    Some(Note { text, at: None })
}

/// That the line shown is not that of the function's name.
pub(crate) fn body_of(prog: &str) -> Note {
    let text =
        format!("this is the start of its body: the declaration of `{prog}` has no line in BTF");
    Note { text, at: None }
}
