//! `-G "name = value"`: a variable of a data section, set before the programs load.
//!
//! A name may go into structs and arrays (`limits[2].high`); a value is a number (decimal, `0x`,
//! `0`, negative), `true`, `false`, or an enumerator of the variable's type.

use crate::Error;
use skep::object::{Object, Value, Variable};

/// One assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Preset {
    variable: Variable,
    value: Value,
    text: String,
}

impl Preset {
    /// Reads `name = value`.
    ///
    /// # Errors
    ///
    /// One line that says what is missing.
    pub(crate) fn parse(text: &str) -> Result<Preset, Error> {
        let (name, value) =
            text.split_once('=').ok_or_else(|| format!("'{text}': expected NAME = VALUE"))?;
        let (name, value) = (name.trim(), value.trim());
        if value.is_empty() {
            return Err(format!("'{text}': missing value").into());
        }
        let variable = name.parse().map_err(|e| Error::at(format!("'{text}'"), e))?;
        Ok(Preset { variable, value: value.into(), text: text.trim().to_owned() })
    }

    /// As the user wrote it.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Writes the value into the object's maps.
    ///
    /// # Errors
    ///
    /// No such variable in a data section, a value that does not fit its type.
    pub(crate) fn apply(&self, object: &mut Object) -> Result<(), Error> {
        object.set_variable(&self.variable, &self.value).map_err(Error::caused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_assignment_has_a_name_and_a_value() {
        assert_eq!(Preset::parse(" a[1].b = 0x10 ").map(|p| p.text), Ok("a[1].b = 0x10".into()));
        for bad in ["a", "a =", "= 1", "a[x] = 1", "a..b = 1", "a[1 = 2", "a b = 1"] {
            assert!(Preset::parse(bad).is_err(), "{bad}");
        }
        let named = Preset::parse("a b = 1").unwrap_err();
        assert_eq!(named, "'a b = 1': 'a b' is not a valid name".into());
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_an_assignment_or_an_error(text in "[a-z.\\[\\]0-9=x \\-]{0,24}|\\PC*") {
            let mut object = Object::default();
            let set = Preset::parse(&text).and_then(|preset| preset.apply(&mut object));
            assert!(set.is_err());
        }
    }
}
