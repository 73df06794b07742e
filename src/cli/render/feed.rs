//! A task's feed: a tree that is kept up to date in place on a terminal, lines elsewhere, or JSON.

use std::{collections::HashMap, io};

use console::{Term, measure_text_width, truncate_str};

use super::{Form, Palette, Tone, escape, json, lines, live, print, print_json, tell, words};
use crate::proto::{CallStatus, FeedCard};

/// The height that is taken where the terminal tells none.
const HEIGHT_DEFAULT: usize = 24;
/// The least that is kept of a line, whatever the terminal's width.
const WIDTH_MIN: usize = 20;

/// Shows a task's cards as they come.
pub(crate) trait ShowFeed {
    /// One card, and where the feed goes on behind it.
    fn card(&mut self, card: &FeedCard, resume_token: &str) -> io::Result<()>;

    /// Something about the connection, for people, to standard error.
    fn notice(&mut self, text: &str);
}

/// What shows a feed in this form.
pub(crate) fn show(form: Form) -> Box<dyn ShowFeed> {
    match form {
        Form::Json { terminal } => Box::new(Objects { terminal }),
        Form::Plain => Box::new(Lines),
        Form::Terminal { palette } => {
            Box::new(Screen { term: Term::stdout(), palette, tree: Tree::default(), drawn: 0 })
        }
    }
}

struct Objects {
    terminal: bool,
}

impl ShowFeed for Objects {
    fn card(&mut self, card: &FeedCard, resume_token: &str) -> io::Result<()> {
        print_json(&json::card(card, resume_token), self.terminal)
    }

    fn notice(&mut self, text: &str) {
        tell(text);
    }
}

struct Lines;

impl ShowFeed for Lines {
    fn card(&mut self, card: &FeedCard, _: &str) -> io::Result<()> {
        print(&plain(card))
    }

    fn notice(&mut self, text: &str) {
        tell(text);
    }
}

/// A card as a line of its own; a call's is set in below its batch's.
fn plain(card: &FeedCard) -> String {
    let indent = if card.parent_step_id.is_empty() { "" } else { "  " };
    format!("{indent}{} {}", escape::line(&card.step_id), told(card, Palette::Bare))
}

/// `post_order failed: no stock`.
fn told(card: &FeedCard, palette: Palette) -> String {
    let detail = if card.detail.is_empty() { String::new() } else { format!(": {}", card.detail) };
    let status = format!("{}{detail}", words::call_status(card.status));
    let (tone, mark) = lines::status_mark(card.status);
    let (title, status) = (escape::line(&card.title), escape::line(&status));
    match palette {
        Palette::Bare => format!("{title} {status}"),
        Palette::Coloured => format!("{} {title} {}", palette.paint(tone, mark), palette.paint(tone, &status)),
    }
}

/// The newest card of each step that is shown in place: trees with a step that is not over.
#[derive(Default)]
struct Tree {
    /// The steps without a parent, in the order in which they began.
    roots: Vec<String>,
    /// By root: its calls, in the order in which they began.
    children: HashMap<String, Vec<String>>,
    cards: HashMap<String, FeedCard>,
}

impl Tree {
    /// Takes a card in. Gives the lines of the tree that it brings to its end: they change no more.
    fn take(&mut self, card: &FeedCard, palette: Palette) -> Vec<String> {
        let (id, parent) = (card.step_id.clone(), card.parent_step_id.clone());
        let is_new = self.cards.insert(id.clone(), card.clone()).is_none();
        if !self.cards.contains_key(&parent) && !parent.is_empty() {
            // Its batch's card was shown before this feed was taken up again.
            self.cards.remove(&id);
            return vec![format!("  {}", told(card, palette))];
        }
        match (is_new, parent.is_empty()) {
            (true, true) => self.roots.push(id.clone()),
            (true, false) => self.children.entry(parent).or_default().push(id.clone()),
            (false, _) => {}
        }
        if !card.parent_step_id.is_empty() || card.status == i32::from(CallStatus::Running) {
            return Vec::new();
        }
        let lines = self.lines_of(&id, palette);
        self.roots.retain(|root| *root != id);
        self.cards.remove(&id);
        for child in self.children.remove(&id).unwrap_or_default() {
            self.cards.remove(&child);
        }
        lines
    }

    /// What goes on.
    fn lines(&self, palette: Palette) -> Vec<String> {
        self.roots.iter().flat_map(|root| self.lines_of(root, palette)).collect()
    }

    fn lines_of(&self, root: &str, palette: Palette) -> Vec<String> {
        let children = self.children.get(root).map(Vec::as_slice).unwrap_or_default();
        let card = |id: &String| self.cards.get(id).map(|card| told(card, palette)).unwrap_or_default();
        let mut lines: Vec<String> = self.cards.get(root).map(|card| told(card, palette)).into_iter().collect();
        for (number, child) in children.iter().enumerate() {
            let branch = if number + 1 == children.len() { "└─" } else { "├─" };
            lines.push(format!("{} {}", palette.paint(Tone::Quiet, branch), card(child)));
        }
        lines
    }
}

struct Screen {
    term: Term,
    palette: Palette,
    tree: Tree,
    /// How many lines at the bottom are replaced by the next draft.
    drawn: usize,
}

impl Screen {
    fn clear(&mut self) -> io::Result<()> {
        let drawn = std::mem::take(&mut self.drawn);
        if drawn > 0 { self.term.clear_last_lines(drawn) } else { Ok(()) }
    }

    /// Only as much as fits: what has left the screen cannot be replaced.
    fn draw(&mut self) -> io::Result<()> {
        let (height, width) =
            self.term.size_checked().map_or((HEIGHT_DEFAULT, live::terminal_width()), |(rows, columns)| {
                (usize::from(rows), usize::from(columns))
            });
        let lines = fitting(self.tree.lines(self.palette), height, width);
        for line in &lines {
            self.term.write_line(line)?;
        }
        self.drawn = lines.len();
        Ok(())
    }
}

/// The last lines that fit, cut to the width, below a word on how many there are above.
fn fitting(mut lines: Vec<String>, height: usize, width: usize) -> Vec<String> {
    let most = height.saturating_sub(2).max(1);
    if lines.len() > most {
        let above = lines.len() - most;
        lines.drain(..above);
        lines.insert(0, format!("… {above} more above"));
    }
    let width = width.max(WIDTH_MIN);
    let cut = |line: String| {
        if measure_text_width(&line) < width { line } else { truncate_str(&line, width - 1, "…").into_owned() }
    };
    lines.into_iter().map(cut).collect()
}

impl ShowFeed for Screen {
    fn card(&mut self, card: &FeedCard, _: &str) -> io::Result<()> {
        let settled = self.tree.take(card, self.palette);
        self.clear()?;
        for line in &settled {
            self.term.write_line(line)?;
        }
        self.draw()
    }

    fn notice(&mut self, text: &str) {
        // Nothing can be done for a screen that is gone.
        let _ = self.clear();
        tell(text);
        let _ = self.draw();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(id: &str, parent: &str, title: &str, status: CallStatus, detail: &str) -> FeedCard {
        FeedCard {
            step_id: id.into(),
            parent_step_id: parent.into(),
            title: title.into(),
            status: status.into(),
            detail: detail.into(),
            ..FeedCard::default()
        }
    }

    #[test]
    fn the_tree_shows_the_newest_of_each_step_until_a_batch_is_over() {
        use CallStatus::{Completed, Failed, Running};
        let mut tree = Tree::default();
        let mut take = |card: &FeedCard| {
            let settled = tree.take(card, Palette::Bare);
            (settled, tree.lines(Palette::Bare))
        };
        take(&card("b", "", "batch of 2 calls", Running, ""));
        take(&card("c", "", "batch of 1 call", Running, ""));
        take(&card("s", "b", "post\u{1b}", Running, ""));
        let (settled, lines) = take(&card("s", "b", "post\u{1b}", Failed, "no stock\u{9b}"));
        assert!(settled.is_empty());
        assert_eq!(
            lines,
            ["batch of 2 calls running", "└─ post\\u001b failed: no stock\\u009b", "batch of 1 call running"]
        );
        take(&card("t", "b", "ask", Running, ""));
        let (settled, lines) = take(&card("b", "", "batch of 2 calls", Completed, "1 failed"));
        assert_eq!(
            settled,
            ["batch of 2 calls completed: 1 failed", "├─ post\\u001b failed: no stock\\u009b", "└─ ask running"]
        );
        assert_eq!(lines, ["batch of 1 call running"]);
        let (settled, _) = take(&card("x", "b", "late", Completed, ""));
        assert_eq!(settled, ["  late completed"], "its batch was shown before");
        assert_eq!(tree.cards.len(), 1);
    }

    #[test]
    fn a_step_without_a_batch_is_a_tree_of_its_own() {
        let mut tree = Tree::default();
        assert!(tree.take(&card("s", "", "ask", CallStatus::Running, ""), Palette::Bare).is_empty());
        assert_eq!(tree.take(&card("s", "", "ask", CallStatus::Completed, ""), Palette::Bare), ["ask completed"]);
        assert!(tree.cards.is_empty() && tree.roots.is_empty());
    }

    #[test]
    fn what_is_drawn_fits_the_screen() {
        let lines = |count: usize| (0..count).map(|line| format!("line {line}")).collect::<Vec<_>>();
        assert_eq!(fitting(lines(3), 24, 80), lines(3));
        assert_eq!(fitting(lines(30), 5, 80), ["… 27 more above", "line 27", "line 28", "line 29"]);
        assert_eq!(fitting(vec!["x".repeat(30)], 24, 25), [format!("{}…", "x".repeat(23))]);
    }

    #[test]
    fn elsewhere_a_card_is_a_line_or_an_object() {
        let call = card("s", "b", "post", CallStatus::Awaiting, "waits for review r");
        assert_eq!(plain(&call), "  s post awaiting: waits for review r");
        assert_eq!(plain(&card("b", "", "batch of 1 call", CallStatus::Running, "")), "b batch of 1 call running");
        assert_eq!(
            json::card(&call, "00ff"),
            r#"{"step_id":"s","parent_step_id":"b","title":"post","status":"awaiting","detail":"waits for review r","resume_token":"00ff"}"#
        );
    }
}
