//! `--tuning`, `--a`, `--b`: settings of the verifier's engine as `key=value`.

use crate::Error;
use skep::verifier::{TUNING_KEYS, Tuning};

/// Parses settings; each argument contains one, or several separated by commas.
///
/// # Errors
///
/// An unknown setting, with the list of valid ones; or a key set to two values.
pub fn read(settings: &[String]) -> Result<Tuning, Error> {
    let mut tuning = Tuning::default();
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for setting in settings.iter().flat_map(|text| text.split(',')).map(str::trim) {
        tuning.set(setting).map_err(Error::caused)?;
        let (key, _) = setting.split_once('=').unwrap_or((setting, ""));
        match seen.iter().find(|(known, _)| *known == key) {
            Some((_, other)) if *other != setting => {
                return Err(
                    format!("{other} and {setting} are mutually exclusive; {}", keys()).into()
                );
            }
            _ => seen.push((key, setting)),
        }
    }
    Ok(tuning)
}

/// `known: KEY=VALUE|VALUE, ...`.
pub fn keys() -> String {
    let one = |key: &skep::verifier::TuningKey| format!("{}={}", key.name, key.values.join("|"));
    format!("known: {}", TUNING_KEYS.iter().map(one).collect::<Vec<_>>().join(", "))
}

/// For the help text: the meaning of each key.
pub fn notes() -> String {
    let mut notes = String::from("Settings (the default is the last value):\n");
    for key in &TUNING_KEYS {
        let values = format!("{}={}", key.name, key.values.join("|"));
        notes.push_str(&format!("  {values:<32} {}\n", key.about));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(settings: &[&str]) -> Result<Tuning, Error> {
        read(&settings.iter().map(|&s| s.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn settings_come_one_by_one_or_in_a_list() {
        let apart = read_all(&["idmap_reset=memset", "state_alloc=heap"]).unwrap();
        assert_eq!(read_all(&["idmap_reset=memset, state_alloc=heap"]), Ok(apart));
        assert_eq!(read_all(&[]), Ok(Tuning::default()));
        assert_ne!(apart, Tuning::default());
    }

    #[test]
    fn what_makes_no_sense_is_an_error_with_the_list_of_keys() {
        for wrong in [&["fast"][..], &["state_alloc=stack"], &["idmap_reset=memset,"]] {
            assert!(
                read_all(wrong).unwrap_err().to_string().contains("idmap_reset=memset|counter")
            );
        }
        let twice = read_all(&["state_alloc=heap", "state_alloc=arena"]).unwrap_err().to_string();
        assert!(twice.contains("mutually exclusive") && twice.contains("backtrack_skip=off|on"));
        for key in &TUNING_KEYS {
            assert!(notes().contains(key.name));
        }
    }
}
