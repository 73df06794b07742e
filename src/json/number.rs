//! The numbers of a JSON text, of any size and precision: compared by sign, digits and exponent, never computed (R4).

use std::borrow::Cow;

/// Where the number that starts at `at` ends; else where it breaks the grammar, and what was expected there.
pub(super) fn end(text: &[u8], at: usize) -> Result<usize, (usize, &'static str)> {
    let mut at = at;
    if text.get(at) == Some(&b'-') {
        at += 1;
    }
    if text.get(at) == Some(&b'0') {
        at += 1;
        if text.get(at).is_some_and(u8::is_ascii_digit) {
            return Err((at, "no digit after a leading zero"));
        }
    } else {
        at = digits(text, at)?;
    }
    if text.get(at) == Some(&b'.') {
        at = digits(text, at + 1)?;
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        at += 1;
        if matches!(text.get(at), Some(b'+' | b'-')) {
            at += 1;
        }
        at = digits(text, at)?;
    }
    Ok(at)
}

fn digits(text: &[u8], from: usize) -> Result<usize, (usize, &'static str)> {
    let count = text[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    if count == 0 { Err((from, "a digit")) } else { Ok(from + count) }
}

/// Whether the whole text is one JSON number, without blanks around it.
pub(super) fn is_number(text: &str) -> bool {
    end(text.as_bytes(), 0) == Ok(text.len())
}

/// The one spelling of a JSON number's value: an integer without outer zeros, then its exponent where there is one (`-12e3`,
/// `5e-1`, `0`). It takes time and space for the number's length, whatever its size.
pub(super) fn canonical(number: &str) -> Cow<'_, str> {
    let (sign, unsigned) = match number.strip_prefix('-') {
        Some(unsigned) => ("-", unsigned),
        None => ("", number),
    };
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, ""));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if unsigned.len() == whole.len() && !whole.ends_with('0') {
        return Cow::Borrowed(number);
    }
    let all = format!("{whole}{fraction}");
    let all = all.trim_start_matches('0');
    let digits = all.trim_end_matches('0');
    if digits.is_empty() {
        return Cow::Borrowed("0");
    }
    let exponent = moved(exponent, all.len() - digits.len(), fraction.len());
    let mark = if exponent == "0" { "" } else { "e" };
    let exponent = if exponent == "0" { "" } else { &exponent };
    Cow::Owned(format!("{sign}{digits}{mark}{exponent}"))
}

/// Decimal digits that an `i128` surely holds, with room for adding the length of a text.
const SMALL_DIGITS: usize = 36;

/// `exponent + up - down`, where the exponent may have any number of digits and the others are lengths within one text.
fn moved(exponent: &str, up: usize, down: usize) -> String {
    let (negative, digits) = match exponent.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, exponent.strip_prefix('+').unwrap_or(exponent)),
    };
    let digits = digits.trim_start_matches('0');
    let by = up.abs_diff(down);
    if digits.len() <= SMALL_DIGITS {
        let magnitude = digits.bytes().fold(0, |sum, digit| sum * 10 + i128::from(digit - b'0'));
        let by = i128::try_from(by).expect("a length is far below 2^127");
        let moved = if negative { -magnitude } else { magnitude } + if up < down { -by } else { by };
        return moved.to_string();
    }
    // It is far larger than any length, so it keeps its sign and only its size moves.
    let sign = if negative { "-" } else { "" };
    let moved = ripple(digits, by, negative == (up < down));
    format!("{sign}{moved}")
}

/// `digits` plus `by` (`grow`) or minus it, digit by digit; `digits` spells the far larger number.
fn ripple(digits: &str, by: usize, grow: bool) -> String {
    let mut digits = digits.as_bytes().to_vec();
    let mut rest = by;
    for digit in digits.iter_mut().rev() {
        if rest == 0 {
            break;
        }
        let step = u8::try_from(rest % 10).expect("one digit is below 10");
        let value = *digit - b'0';
        let carries = if grow { value + step >= 10 } else { value < step };
        *digit = b'0' + (if grow { value + step } else { value + 10 - step }) % 10;
        rest = rest / 10 + usize::from(carries);
    }
    let digits = String::from_utf8(digits).expect("decimal digits are ASCII");
    if rest > 0 { format!("{rest}{digits}") } else { digits.trim_start_matches('0').to_owned() }
}

#[cfg(test)]
mod tests {
    use super::{canonical, is_number};

    #[test]
    fn one_value_has_one_spelling() {
        for (number, spelling) in [
            ("0", "0"),
            ("-0", "0"),
            ("-0.000e-99999999999999999999999999999999999999999", "0"),
            ("4711", "4711"),
            ("-4711.0", "-4711"),
            ("4.711e3", "4711"),
            ("4711000E-3", "4711"),
            ("1000", "1e3"),
            ("1e3", "1e3"),
            ("0.001e+6", "1e3"),
            ("0.10", "1e-1"),
            ("-1.10", "-11e-1"),
            ("1e0", "1"),
            ("1e-0", "1"),
            ("1e00000000000000000000000000000000000000000000000003", "1e3"),
            ("117.63331139400017", "11763331139400017e-14"),
            ("1e400", "1e400"),
        ] {
            assert_eq!(canonical(number), spelling, "{number}");
        }
    }

    #[test]
    fn an_exponent_of_any_length_carries_and_borrows() {
        let nines = "9".repeat(50);
        let power = format!("1{}", "0".repeat(50));
        assert_eq!(canonical(&format!("10e{nines}")), format!("1e{power}"));
        assert_eq!(canonical(&format!("0.1e{power}")), format!("1e{nines}"));
        assert_eq!(canonical(&format!("0.1e-{nines}")), format!("1e-{power}"));
        assert_eq!(canonical(&format!("10e-{power}")), format!("1e-{nines}"));
        assert_eq!(canonical(&format!("{}e{nines}", "70".repeat(60))), format!("{}7e{power}", "70".repeat(59)));
        assert_eq!(canonical(&format!("1.{}e{power}", "3".repeat(123))), {
            format!("1{}e{}877", "3".repeat(123), "9".repeat(47))
        });
    }

    #[test]
    fn small_and_long_exponents_are_moved_alike() {
        // Around the border between machine arithmetic and digits, `10e<n>` and `1e<n+1>` are one number.
        for length in 34..39 {
            for last in ["8", "9"] {
                let exponent = format!("{}{last}", "9".repeat(length - 1));
                let above = (exponent.parse::<u128>().unwrap() + 1).to_string();
                assert_eq!(canonical(&format!("10e{exponent}")), canonical(&format!("1e{above}")), "{exponent}");
                assert_eq!(canonical(&format!("0.1e{above}")), canonical(&format!("1e{exponent}")), "{exponent}");
                assert_eq!(canonical(&format!("0.1e-{exponent}")), canonical(&format!("1e-{above}")), "{exponent}");
            }
        }
    }

    #[test]
    fn only_the_grammar_of_rfc_8259_is_a_number() {
        for text in ["0", "-1", "1.5", "1e5", "1E+5", "-0.0e-0"] {
            assert!(is_number(text), "{text}");
        }
        for text in ["", "-", "+1", "01", "00", "1.", ".5", "1e", "1e+", "0x1", "1 ", " 1", "NaN", "1_000", "١"] {
            assert!(!is_number(text), "{text}");
        }
    }
}
