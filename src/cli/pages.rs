//! Lists that come in pages.

use super::{
    exit::{Exit, Failure},
    render::{
        Form, print,
        table::{self, Cell},
        tell,
    },
};

/// Rows asked for at once: few enough that the first show up soon.
const PAGE_SIZE: u32 = 100;

/// Walks through the pages of a list until it ends or enough is shown.
pub(crate) struct Pages {
    left: u32,
    /// The next page's token; `None` once there is no further page.
    token: Option<String>,
}

impl Pages {
    /// At most `limit` rows.
    pub(crate) fn new(limit: u32) -> Self {
        Self { left: limit, token: Some(String::new()) }
    }

    /// Size and token of the page to ask for; none once the list is at its end.
    pub(crate) fn next(&self) -> Option<(i32, String)> {
        let token = self.token.as_ref().filter(|_| self.left > 0)?;
        let size = self.left.min(PAGE_SIZE);
        Some((i32::try_from(size).unwrap_or(i32::MAX), token.clone()))
    }

    /// The rows of a page that are still wanted. A page that leads back to itself is the last.
    pub(crate) fn take<T>(&mut self, mut rows: Vec<T>, next: String) -> Vec<T> {
        rows.truncate(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.left = self.left.saturating_sub(u32::try_from(rows.len()).unwrap_or(u32::MAX));
        self.token = Some(next).filter(|next| !next.is_empty() && Some(next) != self.token.as_ref());
        rows
    }

    /// Shows the rows as a table, where they were not shown as JSON already, and says where there are more.
    pub(crate) fn finish(&self, form: Form, headings: &[&str], rows: Vec<Vec<Cell>>) -> Result<Exit, Failure> {
        if rows.is_empty() {
            if form.is_for_people() {
                tell("none");
            }
        } else {
            for line in table::lines(headings, rows, form.palette(), form.width()) {
                print(&line)?;
            }
        }
        if self.left == 0 && self.token.is_some() {
            tell("there are more; --limit N shows them");
        }
        Ok(Exit::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_end_with_the_list_or_the_limit() {
        let mut pages = Pages::new(150);
        assert_eq!(pages.next(), Some((100, String::new())));
        assert_eq!(pages.take(vec![0; 100], "t1".into()).len(), 100);
        assert_eq!(pages.next(), Some((50, "t1".into())));
        assert_eq!(pages.take(vec![0; 60], "t2".into()).len(), 50);
        assert_eq!(pages.next(), None);

        let mut pages = Pages::new(150);
        assert_eq!(pages.take(vec![0; 3], String::new()).len(), 3);
        assert_eq!(pages.next(), None);
    }

    #[test]
    fn a_page_that_leads_back_to_itself_is_the_last() {
        let mut pages = Pages::new(10);
        pages.take(vec![0], "t".into());
        assert!(pages.next().is_some());
        pages.take::<u8>(vec![], "t".into());
        assert_eq!(pages.next(), None);
    }
}
