//! Label selectors of a query, parsed as by upstream's `labels.Parse` and with its errors.

use std::collections::BTreeSet;

use super::select::{Requirement, Test};
use super::validate::words;

/// Read a selector.
///
/// # Errors
/// What is wrong with it.
pub(super) fn parse(text: &str) -> Result<Vec<Requirement>, String> {
    let mut parser = Parser { tokens: tokens(text), at: 0 };
    let mut all = Vec::new();
    loop {
        match parser.peek() {
            Token::Word(_) | Token::Sign("!") => {
                let made = parser.requirement().map_err(|why| format!("unable to parse requirement: {why}"))?;
                all.push(made);
                match parser.next() {
                    Token::End => return Ok(all),
                    Token::Sign(",") => match parser.peek() {
                        Token::Word(_) | Token::Sign("!") => {}
                        other => return Err(format!("found '{}', expected: identifier after ','", other.text())),
                    },
                    other => return Err(format!("found '{}', expected: ',' or 'end of string'", other.text())),
                }
            }
            Token::End => return Ok(all),
            other => return Err(format!("found '{}', expected: !, identifier, or 'end of string'", other.text())),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Word(String),
    Sign(&'static str),
    End,
}

impl Token {
    fn text(&self) -> &str {
        match self {
            Self::Word(word) => word,
            Self::Sign(sign) => sign,
            Self::End => "",
        }
    }
}

fn tokens(text: &str) -> Vec<Token> {
    const SIGNS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"];
    let mut all = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        if rest.is_empty() {
            all.push(Token::End);
            return all;
        }
        if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            all.push(Token::Sign(sign));
            rest = &rest[sign.len()..];
            continue;
        }
        let ends = |c: char| matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<' | ' ' | '\t' | '\r' | '\n');
        let end = rest.find(ends).unwrap_or(rest.len());
        all.push(Token::Word(rest[..end].to_owned()));
        rest = &rest[end..];
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> Token {
        self.tokens.get(self.at).cloned().unwrap_or(Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let mut token = self.next();
        let missing = token == Token::Sign("!");
        if missing {
            token = self.next();
        }
        let Token::Word(key) = token else { return Err(format!("found '{}', expected: identifier", token.text())) };
        check("<nil>", &key, &words::key(&key))?;
        let made = |test| Ok(Requirement { key: key.clone(), test });
        if matches!(self.peek(), Token::End | Token::Sign(",")) {
            return made(if missing { Test::Missing } else { Test::Exists });
        }
        if missing {
            return made(Test::Missing);
        }
        let operator = self.next();
        match &operator {
            Token::Word(word) if word == "in" => made(Test::In(self.values(&key)?)),
            Token::Word(word) if word == "notin" => made(Test::NotIn(self.values(&key)?)),
            Token::Sign("=" | "==") => made(Test::In(BTreeSet::from([self.value(&key)?]))),
            Token::Sign("!=") => made(Test::NotIn(BTreeSet::from([self.value(&key)?]))),
            Token::Sign(sign @ (">" | "<")) => {
                let value = self.value(&key)?;
                let number = value.parse::<i64>().map_err(|_| {
                    format!("values[0][{key}]: Invalid value: \"{value}\": for 'Gt', 'Lt' operators, the value must be an integer")
                })?;
                made(if *sign == ">" { Test::Greater(number) } else { Test::Less(number) })
            }
            other => Err(format!("found '{}', expected: in, notin, =, ==, !=, gt, lt", other.text())),
        }
    }

    /// One value, possibly empty.
    fn value(&mut self, key: &str) -> Result<String, String> {
        if matches!(self.peek(), Token::End | Token::Sign(",")) {
            return Ok(String::new());
        }
        match self.next() {
            Token::Word(value) => {
                check(&format!("values[0][{key}]"), &value, &words::label_value(&value))?;
                Ok(value)
            }
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }

    fn values(&mut self, key: &str) -> Result<BTreeSet<String>, String> {
        let open = self.next();
        if open != Token::Sign("(") {
            return Err(format!("found '{}' expected: '('", open.text()));
        }
        let mut values = BTreeSet::new();
        match self.peek() {
            Token::Sign(")") => {
                self.next();
                return Ok(BTreeSet::from([String::new()]));
            }
            Token::Word(_) | Token::Sign(",") => {}
            other => return Err(format!("found '{}', expected: ',', ')' or identifier", other.text())),
        }
        loop {
            match self.next() {
                Token::Word(value) => {
                    values.insert(value);
                    match self.peek() {
                        Token::Sign(",") => {}
                        Token::Sign(")") => break,
                        other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
                    }
                }
                Token::Sign(",") => {
                    if values.is_empty() || self.peek() == Token::Sign(",") {
                        values.insert(String::new());
                    }
                    if self.peek() == Token::Sign(")") {
                        values.insert(String::new());
                        break;
                    }
                }
                other => return Err(format!("found '{}', expected: ',', or identifier", other.text())),
            }
        }
        self.next();
        for (at, value) in values.iter().enumerate() {
            check(&format!("values[{at}][{key}]"), value, &words::label_value(value))?;
        }
        Ok(values)
    }
}

fn check(path: &str, value: &str, wrong: &[String]) -> Result<(), String> {
    if wrong.is_empty() { Ok(()) } else { Err(format!("{path}: Invalid value: \"{value}\": {}", wrong.join("; "))) }
}
