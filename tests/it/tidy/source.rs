//! A Rust source, seen apart: its code without comments and literals, and its comments. No parser: enough of the grammar
//! to find paths, names and test modules, which is what the rules look at.

use std::{iter::Peekable, ops::Range, str::Chars};

/// One file.
pub(crate) struct Source {
    /// From the project's top, with slashes.
    pub(crate) path: String,
    /// As it stands.
    pub(crate) text: String,
    /// Only tests use it.
    pub(crate) only_tests: bool,
    /// The text with comments and literals blanked, line for line.
    code: String,
    /// The text with everything but comments blanked, line for line.
    comments: String,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let (code, comments) = split(text);
        let only_tests = !path.starts_with("src/");
        Self { path: path.to_owned(), text: text.to_owned(), only_tests, code, comments }
    }

    /// The paths (without `.rs`) of the modules that `#[cfg(test)] mod NAME;` brings in.
    pub(crate) fn test_modules(&self) -> Vec<String> {
        let (folder, file) = self.path.rsplit_once('/').unwrap_or(("", &self.path));
        let own = match file {
            "mod.rs" | "lib.rs" | "main.rs" => folder.to_owned(),
            _ => format!("{folder}/{}", file.trim_end_matches(".rs")),
        };
        let items = self.test_items().into_iter().map(|range| &self.code[range]).filter(|item| item.ends_with(';'));
        items.filter_map(module_name).map(|name| format!("{own}/{name}")).collect()
    }

    /// How many lines are left without `#[cfg(test)]` items.
    pub(crate) fn lines_without_tests(&self) -> usize {
        let tests: usize = self.test_items().into_iter().map(|range| self.code[range].lines().count()).sum();
        self.text.lines().count() - tests
    }

    /// Every path (`tokio::spawn`, `crate::store::Store`) outside of tests and its line; `use` trees are unfolded, and
    /// `self` and `super` resolved.
    pub(crate) fn paths(&self) -> Vec<(usize, String)> {
        let code = self.code_without_tests();
        let tokens = tokens(&code);
        let mut found = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            if tokens[at].1 == "use" {
                at = unfold(&tokens, at + 1, &mut Vec::new(), &mut found);
            } else if is_word(tokens[at].1) {
                let line = tokens[at].0;
                let mut path = vec![tokens[at].1];
                while tokens.get(at + 1).is_some_and(|token| token.1 == "::")
                    && tokens.get(at + 2).is_some_and(|token| is_word(token.1))
                {
                    path.push(tokens[at + 2].1);
                    at += 2;
                }
                found.push((line, path));
                at += 1;
            } else {
                at += 1;
            }
        }
        let found = found.into_iter().filter(|(_, path)| path.len() > 1 || path[0] != "self");
        found.map(|(line, path)| (line, self.resolve(&path))).collect()
    }

    /// Every word of the code outside of tests and its line.
    pub(crate) fn words(&self) -> Vec<(usize, String)> {
        let code = self.code_without_tests();
        let words = tokens(&code).into_iter().filter(|(_, token)| is_word(token));
        words.map(|(line, word)| (line, word.to_owned())).collect()
    }

    /// Every word of the comments and its line.
    pub(crate) fn comment_words(&self) -> Vec<(usize, &str)> {
        tokens(&self.comments).into_iter().filter(|(_, token)| is_word(token)).collect()
    }

    /// Every macro that is called, and its line.
    pub(crate) fn macros(&self) -> Vec<(usize, &str)> {
        let tokens = tokens(&self.code);
        let is_call = |three: &&[(usize, &str)]| {
            is_word(three[0].1) && three[1].1 == "!" && ["(", "[", "{"].contains(&three[2].1)
        };
        tokens.windows(3).filter(is_call).map(|three| three[0]).collect()
    }

    /// The name of every `mod`, and its line.
    pub(crate) fn module_names(&self) -> Vec<(usize, &str)> {
        let tokens = tokens(&self.code);
        tokens.windows(2).filter(|two| two[0].1 == "mod" && is_word(two[1].1)).map(|two| two[1]).collect()
    }

    fn resolve(&self, path: &[&str]) -> String {
        let supers = path.iter().take_while(|segment| **segment == "super").count();
        let relative = supers > 0 || path[0] == "self";
        if !relative {
            return path.join("::");
        }
        let inner = self.path.trim_start_matches("src/").trim_end_matches(".rs").trim_end_matches("/mod");
        let mut module: Vec<_> = inner.split('/').collect();
        module.truncate(module.len().saturating_sub(supers));
        let rest = path.iter().skip(supers.max(1)).copied();
        ["crate"].into_iter().chain(module).chain(rest).collect::<Vec<_>>().join("::")
    }

    fn code_without_tests(&self) -> String {
        let mut code = self.code.clone();
        for range in self.test_items() {
            let blank = blanked(&code[range.clone()]);
            code.replace_range(range, &blank);
        }
        code
    }

    /// Where the items are that stand behind `#[cfg(test)]`, attribute included.
    fn test_items(&self) -> Vec<Range<usize>> {
        const MARK: &str = "#[cfg(test)]";
        let mut items = Vec::new();
        let mut from = 0;
        while let Some(found) = self.code[from..].find(MARK) {
            let start = from + found;
            let end = item_end(&self.code, start + MARK.len());
            items.push(start..end);
            from = end;
        }
        items
    }
}

/// Whether a path is that one or below it, whole segments counted.
pub(crate) fn begins_with(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// The end of the item that begins at an offset: its `;`, or the brace that closes its first block.
fn item_end(code: &str, start: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, symbol) in code[start..].char_indices() {
        match symbol {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && symbol == '}' {
                    return start + offset + 1;
                }
            }
            ';' if depth == 0 => return start + offset + 1,
            _ => {}
        }
    }
    code.len()
}

/// The name in `pub mod NAME;`.
fn module_name(item: &str) -> Option<&str> {
    let tokens = tokens(item);
    let at = tokens.iter().position(|(_, token)| *token == "mod")?;
    tokens.get(at + 1).map(|(_, name)| *name)
}

/// Unfolds the tree that begins at a token; gives the position after it.
fn unfold<'c>(
    tokens: &[(usize, &'c str)],
    mut at: usize,
    prefix: &mut Vec<&'c str>,
    found: &mut Vec<(usize, Vec<&'c str>)>,
) -> usize {
    let depth = prefix.len();
    let mut line = tokens.get(at).map_or(0, |token| token.0);
    let mut is_leaf = true;
    while let Some((token_line, token)) = tokens.get(at) {
        match *token {
            "," | "}" | ";" => break,
            "::" => {}
            "{" => {
                is_leaf = false;
                while tokens.get(at).is_some_and(|(_, token)| ["{", ","].contains(token)) {
                    at = unfold(tokens, at + 1, prefix, found);
                }
            }
            "as" => at += 1,
            segment => {
                line = *token_line;
                prefix.push(segment);
            }
        }
        at += 1;
    }
    if is_leaf && prefix.len() > depth {
        found.push((line, prefix.clone()));
    }
    prefix.truncate(depth);
    at
}

/// Words, `::` and single symbols, each with its line.
fn tokens(code: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (index, line) in code.lines().enumerate() {
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = match first {
                ':' if rest.starts_with("::") => 2,
                _ if is_word_part(first) => rest.find(|other| !is_word_part(other)).unwrap_or(rest.len()),
                _ => first.len_utf8(),
            };
            found.push((index + 1, &rest[..length]));
            rest = rest[length..].trim_start();
        }
    }
    found
}

fn is_word_part(symbol: char) -> bool {
    symbol == '_' || symbol.is_alphanumeric()
}

fn is_word(token: &str) -> bool {
    token.starts_with(|first: char| first == '_' || first.is_alphabetic())
}

fn blanked(text: &str) -> String {
    text.chars().map(|symbol| if symbol == '\n' { '\n' } else { ' ' }).collect()
}

/// Splits a text into its code, literals blanked, and its comments.
fn split(text: &str) -> (String, String) {
    let mut splitter = Splitter { rest: text.chars().peekable(), code: String::new(), comments: String::new() };
    splitter.run();
    (splitter.code, splitter.comments)
}

struct Splitter<'t> {
    rest: Peekable<Chars<'t>>,
    code: String,
    comments: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

impl Splitter<'_> {
    fn run(&mut self) {
        while let Some(symbol) = self.rest.peek().copied() {
            let next = self.rest.clone().nth(1);
            match (symbol, next) {
                ('/', Some('/')) => self.line_comment(),
                ('/', Some('*')) => self.block_comment(),
                ('"', _) => self.string(),
                ('\'', _) => self.character_or_lifetime(),
                _ if symbol == '_' || symbol.is_alphanumeric() => self.word(),
                _ => self.take(Kind::Code),
            }
        }
    }

    /// Moves one character over; the other part gets a blank, so that both keep their lines.
    fn take(&mut self, kind: Kind) {
        let Some(symbol) = self.rest.next() else { return };
        let blank = if symbol == '\n' { '\n' } else { ' ' };
        self.code.push(if kind == Kind::Code { symbol } else { blank });
        self.comments.push(if kind == Kind::Comment { symbol } else { blank });
    }

    fn line_comment(&mut self) {
        while self.rest.peek().is_some_and(|symbol| *symbol != '\n') {
            self.take(Kind::Comment);
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0_usize;
        while let Some(symbol) = self.rest.peek().copied() {
            match (symbol, self.rest.clone().nth(1)) {
                ('/', Some('*')) => {
                    depth += 1;
                    self.take(Kind::Comment);
                }
                ('*', Some('/')) => {
                    depth -= 1;
                    self.take(Kind::Comment);
                }
                _ => {}
            }
            self.take(Kind::Comment);
            if depth == 0 {
                return;
            }
        }
    }

    fn string(&mut self) {
        self.take(Kind::Literal);
        while let Some(symbol) = self.rest.peek().copied() {
            self.take(Kind::Literal);
            match symbol {
                '\\' => self.take(Kind::Literal),
                '"' => return,
                _ => {}
            }
        }
    }

    /// `'x'` and `'\n'` are characters, `'static` is not.
    fn character_or_lifetime(&mut self) {
        let mut ahead = self.rest.clone().skip(1);
        let is_character = match ahead.next() {
            Some('\\') => true,
            Some(_) => ahead.next() == Some('\''),
            None => false,
        };
        self.take(Kind::Code);
        if !is_character {
            return;
        }
        while let Some(symbol) = self.rest.peek().copied() {
            if symbol == '\'' {
                return self.take(Kind::Code);
            }
            self.take(Kind::Literal);
            if symbol == '\\' {
                self.take(Kind::Literal);
            }
        }
    }

    /// A word, or the beginning of a raw string (`r"`, `br##"`).
    fn word(&mut self) {
        let mut word = String::new();
        while let Some(symbol) = self.rest.peek().copied().filter(|symbol| *symbol == '_' || symbol.is_alphanumeric()) {
            word.push(symbol);
            self.take(Kind::Code);
        }
        if !["r", "br", "cr"].contains(&word.as_str()) {
            return;
        }
        let hashes = self.rest.clone().take_while(|symbol| *symbol == '#').count();
        if self.rest.clone().nth(hashes) != Some('"') {
            return;
        }
        for _ in 0..=hashes {
            self.take(Kind::Literal);
        }
        while let Some(symbol) = self.rest.peek().copied() {
            self.take(Kind::Literal);
            let closes =
                symbol == '"' && self.rest.clone().take(hashes).filter(|symbol| *symbol == '#').count() == hashes;
            if closes {
                (0..hashes).for_each(|_| self.take(Kind::Literal));
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        split(text).0
    }

    #[test]
    fn literals_and_comments_are_blanked_line_for_line() {
        assert_eq!(code("a \"b\\\"c\" d"), "a        d");
        assert_eq!(code("a \"b\nc\" d"), "a   \n   d");
        assert_eq!(code("r#\"a\"b\"# c r\"d\" e"), "r        c r    e");
        assert_eq!(code("br\"\\\" c"), "br    c");
        assert_eq!(code("'\"' 'a' '\\'' '\\u{1f}' b"), "' ' ' ' '  ' '      ' b");
        assert_eq!(code("fn f<'a>(x: &'a str) {} // \"x\ny"), "fn f<'a>(x: &'a str) {}      \ny");
        assert_eq!(code("a /* b /* c */ \" */ d"), "a                   d");
        assert_eq!(split("a // b \"c\"\nd").1, "  // b \"c\"\n ");
        assert_eq!(code("let r#type = 1;"), "let r#type = 1;");
    }

    #[test]
    fn paths_are_unfolded_and_resolved() {
        let text = "use a::{b, c::{self, d as e, *}};\nlet x = f::g(h, ::i::j);\nuse super::k;\nself::l::m();\n";
        let paths = Source::new("src/n/o.rs", text).paths();
        let expected = [
            (1, "a::b"),
            (1, "a::c::self"),
            (1, "a::c::d"),
            (1, "a::c::*"),
            (2, "let"),
            (2, "x"),
            (2, "f::g"),
            (2, "h"),
            (2, "i::j"),
            (3, "crate::n::k"),
            (4, "crate::n::o::l::m"),
        ];
        assert_eq!(paths, expected.map(|(line, path)| (line, path.to_owned())));
        assert!(begins_with("tokio::spawn", "tokio") && begins_with("tokio", "tokio"));
        assert!(!begins_with("tokio_util::sync", "tokio"));
    }

    #[test]
    fn test_items_end_where_they_end() {
        let text = "#[cfg(test)]\nmod tests;\n#[cfg(test)]\npub(crate) mod suite;\nfn a() {}\n#[cfg(test)]\nmod t {\n    fn b() {}\n}\nfn c() {}\n";
        let source = Source::new("src/x/mod.rs", text);
        assert_eq!(source.test_modules(), ["src/x/tests", "src/x/suite"]);
        assert_eq!(source.lines_without_tests(), 2);
        let words: Vec<_> = source.words().into_iter().map(|(_, word)| word).collect();
        assert_eq!(words, ["fn", "a", "fn", "c"]);
        assert_eq!(Source::new("src/y.rs", "#[cfg(test)]\nmod tests;\n").test_modules(), ["src/y/tests"]);
    }
}
