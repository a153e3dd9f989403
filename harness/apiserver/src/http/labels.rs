//! Parses label selectors of queries like upstream's `labels.Parse`, with its errors.

use std::collections::BTreeSet;

use crate::types::names;

/// Parses a label selector.
///
/// # Errors
/// The syntax error.
pub(crate) fn parse(text: &str) -> Result<Vec<LabelRequirement>, String> {
    let mut parser = SelectorParser { tokens: tokens(text), at: 0 };
    let mut all = Vec::new();
    loop {
        match parser.peek() {
            Token::Word(_) | Token::Sign("!") => {
                let requirement = parser.requirement().map_err(|why| format!("unable to parse requirement: {why}"))?;
                all.push(requirement);
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

struct SelectorParser {
    tokens: Vec<Token>,
    at: usize,
}

impl SelectorParser {
    fn peek(&self) -> Token {
        self.tokens.get(self.at).cloned().unwrap_or(Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn requirement(&mut self) -> Result<LabelRequirement, String> {
        let mut token = self.next();
        let missing = token == Token::Sign("!");
        if missing {
            token = self.next();
        }
        let Token::Word(key) = token else { return Err(format!("found '{}', expected: identifier", token.text())) };
        check("<nil>", &key, &names::key(&key))?;
        let requirement = |operator| Ok(LabelRequirement { key: key.clone(), operator });
        if matches!(self.peek(), Token::End | Token::Sign(",")) {
            return requirement(if missing { LabelOperator::Missing } else { LabelOperator::Exists });
        }
        if missing {
            return requirement(LabelOperator::Missing);
        }
        let operator = self.next();
        match &operator {
            Token::Word(word) if word == "in" => requirement(LabelOperator::In(self.values(&key)?)),
            Token::Word(word) if word == "notin" => requirement(LabelOperator::NotIn(self.values(&key)?)),
            Token::Sign("=" | "==") => requirement(LabelOperator::In(BTreeSet::from([self.value(&key)?]))),
            Token::Sign("!=") => requirement(LabelOperator::NotIn(BTreeSet::from([self.value(&key)?]))),
            Token::Sign(sign @ (">" | "<")) => {
                let value = self.value(&key)?;
                let number = value.parse::<i64>().map_err(|_| {
                    format!("values[0][{key}]: Invalid value: \"{value}\": for 'Gt', 'Lt' operators, the value must be an integer")
                })?;
                requirement(if *sign == ">" { LabelOperator::Greater(number) } else { LabelOperator::Less(number) })
            }
            other => Err(format!("found '{}', expected: in, notin, =, ==, !=, gt, lt", other.text())),
        }
    }

    /// Parses one value, which may be empty.
    fn value(&mut self, key: &str) -> Result<String, String> {
        if matches!(self.peek(), Token::End | Token::Sign(",")) {
            return Ok(String::new());
        }
        match self.next() {
            Token::Word(value) => {
                check(&format!("values[0][{key}]"), &value, &names::label_value(&value))?;
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
            check(&format!("values[{at}][{key}]"), value, &names::label_value(value))?;
        }
        Ok(values)
    }
}

fn check(path: &str, value: &str, wrong: &[String]) -> Result<(), String> {
    if wrong.is_empty() { Ok(()) } else { Err(format!("{path}: Invalid value: \"{value}\": {}", wrong.join("; "))) }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LabelRequirement {
    pub(crate) key: String,
    pub(crate) operator: LabelOperator,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LabelOperator {
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Exists,
    Missing,
    Greater(i64),
    Less(i64),
}
