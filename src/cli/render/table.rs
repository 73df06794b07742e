//! Aligned tables.

use console::{measure_text_width, truncate_str};

use super::{Palette, Tone, escape};

/// Blanks between columns.
const GAP: usize = 2;
/// The last column keeps at least this width on a narrow terminal; the line then wraps.
const LAST_MIN: usize = 16;

/// One cell: its text, and what it means.
pub(crate) struct Cell {
    text: String,
    tone: Option<Tone>,
}

impl Cell {
    /// Text from anywhere; harmful characters are escaped.
    pub(crate) fn new(text: impl AsRef<str>) -> Self {
        Self { text: escape::line(text.as_ref()).into_owned(), tone: None }
    }

    /// The same, coloured.
    pub(crate) fn toned(text: impl AsRef<str>, tone: Tone) -> Self {
        Self { tone: Some(tone), ..Self::new(text) }
    }
}

/// The lines of a table: a heading, then the rows; columns as wide as their widest cell, columns that are empty in every row
/// left out, the last cut so that a line fits into `width`.
pub(crate) fn lines(headings: &[&str], rows: Vec<Vec<Cell>>, palette: Palette, width: Option<usize>) -> Vec<String> {
    let used: Vec<usize> = (0..headings.len())
        .filter(|&column| rows.iter().any(|row| row.get(column).is_some_and(|cell| !cell.text.is_empty())))
        .collect();
    let heading = headings.iter().map(|text| Cell::toned(text, Tone::Strong)).collect();
    let all: Vec<Vec<Cell>> = std::iter::once(heading).chain(rows).collect();
    let widths: Vec<usize> = used
        .iter()
        .map(|&column| {
            all.iter().filter_map(|row| row.get(column)).map(|cell| measure_text_width(&cell.text)).max().unwrap_or(0)
        })
        .collect();
    let last_width = width.map(|width| {
        let before: usize = widths.iter().rev().skip(1).map(|width| width + GAP).sum();
        width.saturating_sub(before).max(LAST_MIN)
    });
    all.iter().map(|row| line(row, &used, &widths, palette, last_width)).collect()
}

/// A record: one field per line, those that are empty left out.
pub(crate) fn fields(fields: &[(&str, String)], palette: Palette) -> Vec<String> {
    let used = fields.iter().filter(|(_, value)| !value.is_empty());
    let width = used.clone().map(|(name, _)| name.len()).max().unwrap_or(0) + GAP;
    used.map(|(name, value)| {
        format!("{}{}{}", palette.paint(Tone::Quiet, name), " ".repeat(width - name.len()), escape::line(value))
    })
    .collect()
}

fn line(row: &[Cell], used: &[usize], widths: &[usize], palette: Palette, last_width: Option<usize>) -> String {
    let mut out = String::new();
    for (position, (&column, &width)) in used.iter().zip(widths).enumerate() {
        let Some(cell) = row.get(column) else { continue };
        let last = position + 1 == used.len();
        let text = match last_width {
            Some(limit) if last => truncate_str(&cell.text, limit, "…"),
            Some(_) | None => cell.text.as_str().into(),
        };
        out.push_str(&cell.tone.map_or_else(|| text.to_string(), |tone| palette.paint(tone, &text)));
        if !last {
            out.push_str(&" ".repeat(width.saturating_sub(measure_text_width(&text)) + GAP));
        }
    }
    out.truncate(out.trim_end().len());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_by_what_the_eye_sees() {
        let rows = vec![
            vec![Cell::new("中文"), Cell::new(""), Cell::toned("done", Tone::Good)],
            vec![Cell::new("a"), Cell::new(""), Cell::new("x\u{1b}")],
        ];
        assert_eq!(
            lines(&["NAME", "EMPTY", "END"], rows, Palette::Bare, None),
            ["NAME  END", "中文  done", "a     x\\u001b"]
        );
    }

    #[test]
    fn the_last_column_is_cut_to_the_width() {
        let rows = vec![vec![Cell::new("a"), Cell::new("0123456789012345678901234")]];
        assert_eq!(lines(&["N", "TEXT"], rows, Palette::Bare, Some(23)), ["N  TEXT", "a  0123456789012345678…"]);
    }

    #[test]
    fn a_record_leaves_empty_fields_out() {
        let record = [("step", "s1".to_owned()), ("key", String::new()), ("attempts", "2\u{7}".to_owned())];
        assert_eq!(fields(&record, Palette::Bare), ["step      s1", "attempts  2\\u0007"]);
    }

    #[test]
    fn colour_does_not_shift_columns() {
        let rows = vec![vec![Cell::toned("ok", Tone::Good), Cell::new("x")]];
        assert_eq!(
            lines(&["S", "T"], rows, Palette::Coloured, None),
            ["\u{1b}[1mS\u{1b}[0m   \u{1b}[1mT\u{1b}[0m", "\u{1b}[32mok\u{1b}[0m  x"]
        );
    }
}
