//! `x-kubernetes-validations`: rules in CEL.
//!
//! A rule is read when its definition is created. A function that this server does not have is
//! refused then; what only shows when a rule is evaluated makes the request unsupported.
//!
//! Upstream: `apiserver/schema/cel`.

use std::collections::BTreeMap;
use std::sync::Arc;

use cel::common::ast::{EntryExpr, Expr, IdedExpr};
use cel::objects::Key;
use cel::parser::PrattParser;
use cel::{Context, ExecutionError, Value as Cel};
use serde_json::Value;

use super::schema::Schema;
use super::values::paired;
use crate::field::FieldError;

/// The functions that rules may call, besides operators and macros.
const FUNCTIONS: [&str; 12] =
    ["bool", "contains", "double", "dyn", "endsWith", "int", "matches", "size", "startsWith", "string", "type", "uint"];

/// One rule.
#[derive(Debug)]
pub(super) struct Rule {
    text: String,
    root: IdedExpr,
    /// Whether it compares with the object before the update.
    looks_back: bool,
    message: String,
    message_expression: Option<IdedExpr>,
    reason: String,
    /// Where its error is reported, below the node.
    field: String,
}

impl Rule {
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        let text = |name: &str| value[name].as_str().unwrap_or_default().trim().to_owned();
        let rule = text("rule");
        let field = text("fieldPath").trim_start_matches('.').to_owned();
        if field.contains(['[', '\'']) {
            return Err(format!("a rule with the fieldPath {field}"));
        }
        if value["optionalOldSelf"] == true {
            return Err("a rule with optionalOldSelf".to_owned());
        }
        let message = text("messageExpression");
        let (root, looks_back) = read(&rule)?;
        Ok(Self {
            root,
            looks_back,
            message: text("message"),
            message_expression: if message.is_empty() { None } else { Some(read(&message)?.0) },
            reason: text("reason"),
            field,
            text: rule,
        })
    }

    /// The rule as errors name it.
    fn named(&self) -> &str {
        if self.message.is_empty() { &self.text } else { &self.message }
    }
}

/// An expression, and whether it uses `oldSelf`.
fn read(text: &str) -> Result<(IdedExpr, bool), String> {
    let root = PrattParser::default().parse(text).map_err(|_| format!("the CEL rule {text:?}"))?;
    let mut looks_back = false;
    look(&root, &mut Vec::new(), &mut looks_back).map_err(|what| format!("{what} in the CEL rule {text:?}"))?;
    Ok((root, looks_back))
}

fn look(node: &IdedExpr, bound: &mut Vec<String>, looks_back: &mut bool) -> Result<(), String> {
    match &node.expr {
        Expr::Unspecified | Expr::Literal(_) => Ok(()),
        Expr::Ident(name) => {
            *looks_back |= name == "oldSelf";
            let known = name.starts_with('@')
                || ["self", "oldSelf"].contains(&name.as_str())
                || ["int", "string", "bool", "double", "uint", "list", "map"].contains(&name.as_str())
                || bound.contains(name);
            if known { Ok(()) } else { Err(format!("the name {name}")) }
        }
        Expr::Select(select) => look(&select.operand, bound, looks_back),
        Expr::Call(call) => {
            let operator = !call.func_name.starts_with(|first: char| first.is_ascii_alphabetic());
            if !operator && !FUNCTIONS.contains(&call.func_name.as_str()) {
                return Err(format!("the function {}", call.func_name));
            }
            for part in call.target.as_deref().into_iter().chain(&call.args) {
                look(part, bound, looks_back)?;
            }
            Ok(())
        }
        Expr::List(list) => list.elements.iter().try_for_each(|element| look(element, bound, looks_back)),
        Expr::Map(map) => map.entries.iter().try_for_each(|entry| match &entry.expr {
            EntryExpr::MapEntry(entry) => {
                look(&entry.key, bound, looks_back)?;
                look(&entry.value, bound, looks_back)
            }
            EntryExpr::StructField(_) => Err("a struct".to_owned()),
        }),
        Expr::Struct(_) => Err("a struct".to_owned()),
        Expr::Comprehension(all) => {
            look(&all.iter_range, bound, looks_back)?;
            look(&all.accu_init, bound, looks_back)?;
            let outer = bound.len();
            bound.extend([all.iter_var.clone(), all.accu_var.clone()]);
            bound.extend(all.iter_var2.clone());
            let mut parts = [&all.loop_cond, &all.loop_step, &all.result].into_iter();
            let done = parts.try_for_each(|part| look(part, bound, looks_back));
            bound.truncate(outer);
            done
        }
    }
}

/// What the rules of a schema find.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) errors: Vec<FieldError>,
    /// Rules that fail on a value that did not change.
    pub(super) warnings: Vec<String>,
}

/// Evaluates the rules of a node and of all below it.
///
/// # Errors
/// What could not be evaluated here.
pub(super) fn check(
    schema: &Schema,
    new: &Value,
    old: Option<&Value>,
    path: &str,
    found: &mut Found,
) -> Result<(), String> {
    if new.is_null() {
        return Ok(());
    }
    if !schema.rules.is_empty() {
        let this = cel_of(Some(schema), new);
        let before = old.filter(|old| !old.is_null()).map(|old| cel_of(Some(schema), old));
        for rule in &schema.rules {
            judge(rule, schema, (new, &this), (old, before.as_ref()), path, found)?;
        }
    }
    match new {
        Value::Array(items) => {
            let Some(of) = &schema.items else { return Ok(()) };
            for (at, item) in items.iter().enumerate() {
                let before = old.and_then(|old| paired(schema, old, item));
                check(of, item, before, &format!("{path}[{at}]"), found)?;
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = match (schema.properties.contains_key(name), path) {
                    (true, "") => name.clone(),
                    (true, path) => format!("{path}.{name}"),
                    (false, path) => format!("{path}[{name}]"),
                };
                if let Some(of) = schema.property(name) {
                    check(of, value, old.and_then(|old| old.get(name)), &path, found)?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

fn judge(
    rule: &Rule,
    schema: &Schema,
    (new, this): (&Value, &Cel),
    (old, before): (Option<&Value>, Option<&Cel>),
    path: &str,
    found: &mut Found,
) -> Result<(), String> {
    if rule.looks_back && before.is_none() {
        return Ok(());
    }
    let mut context = Context::default();
    context.add_variable_from_value("self", this.clone());
    if let Some(before) = before {
        context.add_variable_from_value("oldSelf", before.clone());
    }
    match Cel::resolve(&rule.root, &context) {
        Ok(Cel::Bool(true)) => return Ok(()),
        Ok(Cel::Bool(false)) => {}
        Ok(_) => return Err(format!("the CEL rule {:?}, which is neither true nor false", rule.text)),
        Err(error) => {
            let why = match &error {
                ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
                ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
                ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
                _ => return Err(format!("the CEL rule {:?}: {error}", rule.text)),
            };
            let why = format!("{why} evaluating rule: {}", rule.named());
            found.errors.push(FieldError::invalid(path, schema.of_type.as_str(), why));
            return Ok(());
        }
    }
    let evaluated = rule.message_expression.as_ref().and_then(|message| match Cel::resolve(message, &context) {
        Ok(Cel::String(text)) if !text.trim().is_empty() && !text.contains('\n') => Some(text.trim().to_owned()),
        _ => None,
    });
    let default = || match rule.message.as_str() {
        "" => format!("failed rule: {}", rule.text),
        message => message.to_owned(),
    };
    let detail = evaluated.unwrap_or_else(default);
    let path = match (path, rule.field.as_str()) {
        (path, "") => path.to_owned(),
        ("", field) => field.to_owned(),
        (path, field) => format!("{path}.{field}"),
    };
    let whole = matches!(schema.of_type.as_str(), "object" | "array");
    let error = match rule.reason.as_str() {
        "FieldValueForbidden" => FieldError::forbidden(&path, &detail),
        "FieldValueRequired" => FieldError::required(&path, &detail),
        "FieldValueDuplicate" if whole => FieldError::duplicate_untold(&path),
        "FieldValueDuplicate" => FieldError::duplicate(&path, new.clone()),
        _ if whole => FieldError::invalid_untold(&path, detail),
        _ => FieldError::invalid(&path, new.clone(), detail),
    };
    if !rule.looks_back && old == Some(new) {
        found.warnings.push(error.to_string());
    } else {
        found.errors.push(error);
    }
    Ok(())
}

/// A value as rules see it: numbers by their declared type, names of fields escaped.
fn cel_of(schema: Option<&Schema>, value: &Value) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(truth) => Cel::Bool(*truth),
        Value::String(text) => Cel::String(Arc::new(text.clone())),
        Value::Number(number) => {
            let declared = schema.is_some_and(|schema| schema.of_type == "number");
            match number.as_i64().filter(|_| !declared) {
                Some(whole) => Cel::Int(whole),
                None => Cel::Float(number.as_f64().unwrap_or_default()),
            }
        }
        Value::Array(items) => {
            let of = schema.and_then(|schema| schema.items.as_deref());
            Cel::List(Arc::new(items.iter().map(|item| cel_of(of, item)).collect()))
        }
        Value::Object(fields) => {
            let entries = fields.iter().map(|(name, value)| {
                let declared = schema.is_some_and(|schema| schema.properties.contains_key(name));
                let key = if declared { escaped(name) } else { name.clone() };
                (Key::from(key), cel_of(schema.and_then(|schema| schema.property(name)), value))
            });
            Cel::Map(cel::objects::Map { map: Arc::new(entries.collect()) })
        }
    }
}

/// A field's name as an identifier of CEL. Upstream: `cel.Escape`.
fn escaped(name: &str) -> String {
    const RESERVED: [&str; 21] = [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ];
    if RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    let marks = BTreeMap::from([('.', "__dot__"), ('-', "__dash__"), ('/', "__slash__")]);
    let plain = name.replace("__", "\u{0}");
    let letters = plain.chars().map(|letter| match letter {
        '\u{0}' => "__underscores__".to_owned(),
        letter => marks.get(&letter).map_or_else(|| letter.to_string(), |mark| (*mark).to_owned()),
    });
    letters.collect()
}
