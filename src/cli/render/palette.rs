//! The few colours of the output.

/// Whether colours are used at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Palette {
    /// None.
    Bare,
    /// The terminal's own eight.
    Coloured,
}

/// What a piece of text means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// It went well.
    Good,
    /// It went wrong.
    Bad,
    /// It waits, or is tried again.
    Waiting,
    /// Nothing was to be done.
    Quiet,
    /// A heading.
    Strong,
}

impl Palette {
    /// The text in the colour of its tone.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Waiting => "33",
            Tone::Quiet => "2",
            Tone::Strong => "1",
        };
        match self {
            Self::Bare => text.to_owned(),
            Self::Coloured => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }
}
