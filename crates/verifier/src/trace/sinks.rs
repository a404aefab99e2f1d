//! The consumers of a walk's events.

use super::{Apart, Event, Listener};
use crate::Config;
use crate::log::note::Note;
use crate::log::position::LogPosition;
use crate::log::{Log, verbose_to};
use crate::rejection::{LogForm, Refused, Stop};
use crate::state::ids::CkptId;
use crate::watch::Recorder;
use skep_uapi::words::Words;

/// The kernel's log, the recorder of the walk, and the listener.
pub(crate) struct Trace<'a> {
    pub(crate) log: Log,
    words: Words,
    pub(crate) log_at: LogPosition,
    /// Whether a consumer follows the walk insn by insn: the log, the recorder, or a listener.
    pub(super) is_followed: bool,
    pub(super) recorder: Option<Box<Recorder>>,
    pub(super) listener: Option<&'a mut (dyn Listener + 'a)>,
    /// Whether the listener wants registers.
    pub(super) tells_registers: bool,
    /// Whether insns on scalars may be reported as one run.
    tells_runs: bool,
    /// By insn: the reason last reported why states were kept apart.
    last_apart: Vec<Option<Apart>>,
}

impl<'a> Trace<'a> {
    /// With the log alone, as configured.
    pub(crate) fn new(config: &Config) -> Trace<'a> {
        let log = Log::new(config.log_level, config.log_bytes_max);
        Trace {
            is_followed: log.traces(),
            log,
            words: config.profile.words,
            log_at: LogPosition::default(),
            recorder: None,
            listener: None,
            tells_registers: false,
            tells_runs: false,
            last_apart: Vec::new(),
        }
    }

    /// Adds a listener.
    pub(crate) fn with_listener(mut self, listener: &'a mut dyn Listener) -> Trace<'a> {
        self.tells_registers = listener.wants_registers();
        self.tells_runs = !self.tells_registers && !self.log.traces();
        self.listener = Some(listener);
        self.is_followed = true;
        self
    }

    /// Adds a recorder.
    pub(crate) fn with_recorder(mut self) -> Trace<'a> {
        self.recorder = Some(Box::default());
        self.is_followed = true;
        self
    }

    /// The same, with a shorter lifetime.
    pub(crate) fn for_less<'b>(self) -> Trace<'b>
    where
        'a: 'b,
    {
        let listener = self.listener.map(|listener| listener as &mut (dyn Listener + 'b));
        Trace {
            listener,
            log: self.log,
            words: self.words,
            log_at: self.log_at,
            is_followed: self.is_followed,
            recorder: self.recorder,
            tells_registers: self.tells_registers,
            tells_runs: self.tells_runs,
            last_apart: self.last_apart,
        }
    }

    /// The log, and the record if there is one.
    pub(crate) fn finish(self) -> (String, Option<Box<Recorder>>) {
        (self.log.finish(), self.recorder)
    }

    pub(crate) fn has_listener(&self) -> bool {
        self.listener.is_some()
    }

    /// Whether a consumer needs every insn rather than counts of insns.
    #[inline(always)]
    pub(crate) fn wants_each_insn(&self) -> bool {
        self.is_followed && !self.tells_runs
    }

    /// Whether the reason is not that last reported of the insn; then it is from now on.
    #[inline(always)] // Called for most searches.
    pub(super) fn is_news(&mut self, insn_idx: u32, why: Apart) -> bool {
        let last = self.last_apart.get(insn_idx as usize);
        last != Some(&Some(why)) && self.note_reason(insn_idx as usize, why)
    }

    #[cold]
    fn note_reason(&mut self, at: usize, why: Apart) -> bool {
        if self.last_apart.len() <= at {
            self.last_apart.resize(at + 1, None);
        }
        self.last_apart[at] = Some(why);
        true
    }

    /// Reports an event to the listener, if any.
    pub(super) fn tell(&mut self, event: Event<'_>) {
        if let Some(listener) = &mut self.listener {
            listener.tell(event);
        }
    }

    /// The verification of a function starts.
    pub(crate) fn tell_function(&mut self, subprog: u32) {
        if let Some(recorder) = &mut self.recorder {
            recorder.begin_root();
        }
        self.tell(Event::Function { subprog });
    }

    /// A branch was pushed.
    #[inline(always)]
    pub(crate) fn tell_waits(&mut self, from: u32, to: u32) {
        if !self.is_followed {
            return;
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.push();
        }
        self.tell(Event::Waits { from, to });
    }

    /// The state before the insn was saved.
    #[inline(always)]
    pub(crate) fn tell_saved(&mut self, id: CkptId, insn_idx: u32) {
        if !self.is_followed {
            return;
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.checkpoint(id);
        }
        self.tell(Event::Saved { insn_idx });
    }

    /// Names of interned values may be reused.
    pub(crate) fn tell_sweep(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.forget_names();
        }
    }

    /// Writes a note to the log.
    #[cold] // In line, it costs the walk's functions registers.
    pub(crate) fn note(&mut self, note: Note<'_>) {
        if self.log.level != 0 {
            self.log.write(format_args!("{note}"));
        }
    }

    /// Prints a refusal: it ends the walk or is overruled.
    #[cold]
    pub(crate) fn refused(&mut self, refused: &Refused) {
        let words = self.words;
        match refused.log_form {
            LogForm::Line => verbose_to!(self, "{}\n", refused.kind.text(words)),
            LogForm::OpenLine => verbose_to!(self, "{}", refused.kind.text(words)),
            LogForm::Nothing => {}
        }
        for line in &refused.led_to {
            let text = line.text(words);
            if !text.is_empty() {
                verbose_to!(self, "{text}\n");
            }
        }
    }

    /// The same, before lines are added to the refusal.
    #[cold]
    pub(crate) fn refused_first(&mut self, mut stop: Stop) -> Stop {
        if let Some(refused) = stop.as_refused_mut() {
            self.refused(refused);
            refused.log_form = LogForm::Nothing;
        }
        stop
    }
}
