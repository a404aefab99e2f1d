//! The diagnosis of a refusal by the verifier: its parts, and their order.

use super::advice::Advice;
use super::held::{Held, Missed};
use super::history::{History, named_register, names};
use super::note::Note;
use super::value::{Diagnosis, Severity};
use super::{budget, ctx_field, inlined, missing_check, moved, near, notation, notes, rule};
use crate::catalogue::is_of_declaration;
use crate::insn_text::insn_with_map;
use crate::verifier::RegValue;
use crate::{Profile, Refusal, Session, Verdict, Verification, VerifyOptions};
use skep_program::{Program, SourcePlace};
use skep_uapi::Behaviours;

/// Bytes of the path that are kept if the program has to be verified again to get it.
const PATH_BYTES: usize = 16 << 20;

/// The diagnosis of a refusal, which is the verdict of `verification`.
pub(super) fn diagnosis(
    session: &Session,
    program: &Program,
    refusal: &Refusal,
    verification: &Verification,
    options: &VerifyOptions,
) -> Diagnosis {
    let subject = Subject { session, program, options };
    if verification.path.is_some() {
        return subject.refused(refusal, verification);
    }
    let options = VerifyOptions { path_bytes_max: Some(PATH_BYTES), ..*options };
    let again = session.verify(program, &options);
    match &again.verdict {
        Verdict::Rejected(refusal) => subject.refused(refusal, &again),
        // There may be no memory for the path.
        _ => subject.refused(refusal, verification),
    }
}

/// Lines of notes and of the message beyond which nothing is added that only leads to the place.
const LINES_MAX: usize = 5;

/// Gives the text of an insn, and its location.
fn describing(program: &Program) -> impl Fn(usize) -> notes::Described {
    |idx| {
        let branches = program.insns.get(idx).is_some_and(|insn| insn.is_conditional_jump());
        let is_told = |it: &SourcePlace| it.text.trim() != "}" && (!branches || may_test(&it.text));
        let place = program.source_place(idx).filter(is_told);
        Some((insn_with_map(program, idx)?, place))
    }
}

/// Whether a line may have a test: compilers give some branches a line that has none.
fn may_test(text: &str) -> bool {
    const WORDS: [&str; 8] = ["if", "while", "for", "loop", "match", "case", "else", "do"];
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let has_sign = text.contains(['(', '<', '>', '=', '!', '?', '&', '|']);
    text.is_empty() || has_sign || words.any(|word| WORDS.contains(&word))
}

/// The program of a diagnosis.
struct Subject<'a> {
    session: &'a Session,
    program: &'a Program,
    options: &'a VerifyOptions,
}

impl Subject<'_> {
    fn refused(&self, refusal: &Refusal, verification: &Verification) -> Diagnosis {
        if let Some(declared) = self.declared(refusal, verification) {
            return declared;
        }
        // The insn that replaces an unresolved reference is not informative.
        let shown = refusal.insn_idx.filter(|_| refusal.load.is_none());
        let mut notes: Vec<Note> = notes::of_section(refusal, self.program).into_iter().collect();
        notes.extend(ctx_field::note(refusal, self.program));
        notes.extend(notes::without_target(refusal, self.program));
        notes.extend(notes::of_license(refusal, self.program));
        notes.extend(refusal.since().map(|text| Note { text, at: None }));
        notes.extend(notes::btf_not_loaded(refusal, self.program));
        // The table is that of 6.18.
        if self.session.host.behaviours == Behaviours::reference() {
            notes.extend(notes::callers_of_helper(refusal, self.program.prog_type));
        }
        notes.extend(notes::map_type(refusal));
        notes.extend(notes::unsuited_map(refusal, self.program));
        notes.extend(rule::note(self.session, self.program, verification));
        notes.extend(notes::not_reached(refusal, self.program, &describing(self.program)));
        let describe = describing(self.program);
        notes.extend(notes::never_returns(refusal, self.program, &describe));
        let lacks = refusal.load.and(refusal.insn_idx);
        notes.extend(lacks.and_then(|idx| notes::used_at(idx, self.program, &describe)));
        let btf = self.program.kernel_btf.as_deref();
        let is_load = refusal.load.is_some();
        let similar_names = if is_load { near::names(&refusal.message, btf) } else { Vec::new() };
        notes.extend(near::note(&similar_names));
        let spending = budget::spending(refusal, verification, self.program, || self.spent());
        let (told, elsewhere) = match (spending, notes::encoding(refusal, self.program)) {
            (Some(spending), _) => (spending.notes, spending.at),
            (None, Some(note)) => (vec![note], None),
            (None, None) => self.of_path(refusal, verification, shown),
        };
        notes.extend(told);
        let at = elsewhere.or_else(|| notes::target(refusal, self.program)).or(refusal.insn_idx);
        let shown = at.filter(|_| refusal.load.is_none());
        for note in self.around(shown, refusal, verification) {
            let is_told = notes.iter().any(|told| told.is_at_line_of(&note));
            let lines = notes.len() + refusal.message.lines().count();
            notes.extend((!is_told && lines < LINES_MAX).then_some(note));
        }
        let insn = shown.and_then(|idx| insn_with_map(self.program, idx));
        // The called function also determines the advice.
        let said =
            format!("{}\nthe insn is {}", refusal.message, insn.as_deref().unwrap_or("none"));
        let names = |thing: &str| self.name_of(thing, refusal, verification);
        let Advice { title, help } = Advice::of(&refusal.kind, &said, &notes, names);
        let help = if notation::is_rust(self.program) { notation::in_rust(&help) } else { help };
        Diagnosis {
            severity: Severity::Error,
            code: refusal.kind.clone(),
            title,
            message: refusal.said(verification.because.as_deref()),
            insn_idx: at,
            insn,
            at: at.and_then(|idx| self.shown_at(idx, refusal)),
            notes,
            help,
            similar_names,
        }
    }

    /// What leads to the insn that is shown, or on from it: the access for which it computes the
    /// address, the program's own line beside one of another file, and the call of the function.
    fn around(
        &self,
        shown: Option<usize>,
        refusal: &Refusal,
        verification: &Verification,
    ) -> Vec<Note> {
        let Some((idx, path)) = shown.zip(verification.path.as_ref()) else { return Vec::new() };
        let inlined = inlined::note(idx, path, self.program);
        let used = moved::note(refusal, self.program, &describing(self.program));
        used.into_iter().chain(inlined).chain(notes::called_at(path, self.program)).collect()
    }

    /// The line of an insn; for a failed CO-RE relocation, one that names what it asks for.
    fn shown_at(&self, idx: usize, refusal: &Refusal) -> Option<SourcePlace> {
        match near::asked_of_core(&refusal.message) {
            Some(name) => self.program.source_place_with(idx, name),
            None => self.program.source_place(idx),
        }
    }

    /// How the program used up its budget, by a second verification; none if there is not enough
    /// memory for that.
    fn spent(&self) -> Option<Profile> {
        let (verification, profile) = self.session.profile(self.program, self.options);
        matches!(verification.verdict, Verdict::Rejected(_)).then_some(profile)
    }

    /// The source's name of the object of a rejection.
    fn name_of(&self, thing: &str, refusal: &Refusal, found: &Verification) -> Option<String> {
        let describe = describing(self.program);
        match thing {
            "acquired" => names::of_call(self.program, found.acquired_by?, &describe),
            "release" => Held::at(refusal, found, self.program, &describe)?.released_by(),
            "range" => notes::allowed_range(refusal),
            "section" => notes::sleepable_section(self.program),
            "end" => names::end_of(
                &self
                    .program
                    .source_place(Held::at(refusal, found, self.program, &describe)?.by)?
                    .text,
            ),
            "accessed" => names::address_at(&self.program.source_place(refusal.insn_idx?)?),
            _ => missing_check::name_of(thing, refusal, found, self.program, &describe),
        }
    }

    /// A call of a function that no program can call: the error is in its declaration, and the
    /// arguments do not matter.
    fn declared(&self, refusal: &Refusal, verification: &Verification) -> Option<Diagnosis> {
        let because = verification.because.as_deref()?;
        let call = refusal.insn_idx.filter(|_| is_of_declaration(&refusal.kind))?;
        let start = notes::called(refusal, self.program)?;
        let called_at = format!("{} at", refusal.message.trim_end());
        Some(Diagnosis {
            insn_idx: Some(start),
            at: self.program.source_place(start),
            notes: vec![notes::since(&called_at, call, &describing(self.program))],
            ..Diagnosis::of_code(Severity::Error, &refusal.kind, because)
        })
    }

    /// Notes from the path to the rejection: held resources, branches, registers, checks; and the
    /// insn to look at, if that is not the rejected one.
    fn of_path(
        &self,
        refusal: &Refusal,
        verification: &Verification,
        shown: Option<usize>,
    ) -> (Vec<Note>, Option<usize>) {
        let program = self.program;
        let Some(path) = &verification.path else { return (Vec::new(), None) };
        let describe = describing(program);
        let because = verification.because.as_deref();
        let held = Held::at(refusal, verification, program, &describe);
        let missed = held.as_ref().and_then(|it| it.missed(refusal, path, program, &describe));
        let checks = missing_check::notes(refusal, path, program, &describe);
        let history = History::of(path, program).shortened(checks.len() > 1).of_refusal(refusal);
        let result = history.set_by(0, program).and_then(|(made, is_constant)| {
            notes::result_made(refusal, made, is_constant, path, program)
        });
        let missing = held.as_ref().zip(missed);
        let at = missing.map(|(held, missed)| held.place(missed)).or(result);
        let origin = history.origin_without_line(refusal, program).filter(|_| at.is_none());
        let at = at.or(origin);
        let mut notes = Vec::new();
        let value = |regno: Option<u8>| history.value(regno?).map(RegValue::view);
        notes.extend(notes::inner_map(refusal, value(named_register(refusal)), program));
        notes.extend(notes::tail_call_map(refusal, value(history.passed_map(refusal)), program));
        notes.extend(origin.and(shown).map(|idx| notes::without_line(idx, program)));
        notes.extend(held.as_ref().filter(|it| at != Some(it.by)).map(|it| it.note(&describe)));
        notes.extend(missing.map(|(held, missed)| held.why(missed)));
        let more = because.filter(|text| !refusal.said(Some(text)).contains(text.trim_end()));
        notes.extend(more.map(|text| notes::because(text, refusal, program)));
        let acquired = verification.acquired_by;
        let left = notes::left_by(refusal, path, program, acquired);
        let left = left.filter(|_| !matches!(missed, Some(Missed::Since(_) | Missed::Everywhere)));
        let says = "the last branch on this path is at";
        let line = |idx| program.source_place(idx).map(|spot| (spot.file, spot.line));
        let is_shown = |idx| {
            at.is_some_and(|at| at == idx || line(at).is_some_and(|it| Some(it) == line(idx)))
        };
        let is_told = |idx: &usize| !is_shown(*idx) && !notes::is_end_line(program, *idx);
        notes.extend(left.filter(is_told).map(|idx| notes::since(says, idx, &describe)));
        notes.extend(history.notes(refusal, shown, program, &describe));
        for check in checks {
            // A comparison that a register's note names, too, is repeated to say what it lacks.
            let is_plain = check.text.starts_with("it was compared ");
            let is_told = is_plain && notes.iter().any(|note| note.is_about_insn_of(&check));
            notes.extend((!is_told).then_some(check));
        }
        if let Some(idx) = at.or(shown) {
            let constant = history.constant(0);
            let lacks = constant
                .and_then(|value| notes::constant_without_line(refusal, idx, value, program));
            if lacks.is_some() {
                notes
                    .iter_mut()
                    .filter(|it| it.text.starts_with("R0 is "))
                    .for_each(|it| it.at = None);
            }
            notes.extend(lacks);
        }
        notes.extend(notes::not_owned(refusal, value(Some(1)), program, &describe));
        (notes, at)
    }
}

#[cfg(test)]
mod tests {
    use super::may_test;

    #[test]
    fn lines_that_may_have_a_test() {
        for (text, may) in [
            ("\tif (data + 4 > end)", true),
            ("NEED(data, 14);", true),
            ("} else {", true),
            ("if flag {", true),
            ("", true),
            ("C30;C30;C30;", false),
            ("}", false),
            ("return x;", false),
        ] {
            assert_eq!(may_test(text), may, "{text}");
        }
    }
}
