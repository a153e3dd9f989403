//! The operand types and results of operators.

use cel::common::ast::{Expr, IdedExpr, LiteralValue};

use super::{CelType, TypeChecker, describe_type};

impl TypeChecker<'_> {
    /// Returns the type of an operator's result, and reports operands that do not match.
    pub(super) fn operator(&mut self, name: &str, nodes: &[IdedExpr], types: &[CelType]) -> CelType {
        match (name, types) {
            ("_&&_" | "_||_" | "!_" | "@not_strictly_false", types) => {
                for (node, of) in nodes.iter().zip(types) {
                    if !matches!(of, CelType::Any | CelType::Bool) {
                        let at = self.span_of(node);
                        self.report(at, "this is neither true nor false".to_owned(), describe_type(node, of));
                    }
                }
                CelType::Bool
            }
            ("_==_" | "_!=_", [one, other]) => {
                if !one.is_comparable(other) {
                    self.report_mismatch(nodes, one, other, "never the same");
                }
                CelType::Bool
            }
            ("_<_" | "_<=_" | "_>_" | "_>=_", [one, other]) => {
                let ordered =
                    |of: &CelType| matches!(of, CelType::Any | CelType::Text | CelType::Bool) || of.is_number();
                if !(ordered(one) && ordered(other) && one.is_comparable(other)) {
                    self.report_mismatch(nodes, one, other, "neither is greater");
                }
                CelType::Bool
            }
            ("@in", [one, other]) => {
                let of = match other {
                    CelType::List(of) => of.is_comparable(one),
                    CelType::Map(_) | CelType::Object(_) => CelType::Text.is_comparable(one),
                    CelType::Any => true,
                    _ => false,
                };
                if !of {
                    self.report_mismatch(nodes, one, other, "it is never in there");
                }
                CelType::Bool
            }
            ("_?_:_", [condition, one, other]) => {
                if !matches!(condition, CelType::Any | CelType::Bool) {
                    let at = self.span_of(&nodes[0]);
                    self.report(at, "this is neither true nor false".to_owned(), describe_type(&nodes[0], condition));
                }
                one.clone().union(other.clone())
            }
            ("_[_]" | "_[?_]", [of, key]) => self.index(nodes, of, key),
            ("-_", [of]) => self.arithmetic(nodes, of, of),
            ("_+_", [CelType::Text, CelType::Text]) => CelType::Text,
            ("_+_", [one @ CelType::List(_), other @ CelType::List(_)]) => one.clone().union(other.clone()),
            ("_+_" | "_-_" | "_*_" | "_/_" | "_%_", [one, other]) => self.arithmetic(nodes, one, other),
            _ => CelType::Any,
        }
    }

    fn arithmetic(&mut self, nodes: &[IdedExpr], one: &CelType, other: &CelType) -> CelType {
        match (one, other) {
            (CelType::Any, _) | (_, CelType::Any) => CelType::Any,
            (one, other) if one.is_number() && one == other => one.clone(),
            (one, other) => {
                self.report_mismatch(nodes, one, other, "there is no such sum, difference, product or quotient");
                CelType::Any
            }
        }
    }

    fn index(&mut self, nodes: &[IdedExpr], of: &CelType, key: &CelType) -> CelType {
        match (of, key) {
            (CelType::Any, _) => CelType::Any,
            (CelType::List(of), CelType::Any | CelType::Int | CelType::Uint) => (**of).clone(),
            (CelType::Map(of), CelType::Any | CelType::Text) => (**of).clone(),
            (CelType::Object(_), CelType::Text) => match &nodes[1].expr {
                Expr::Literal(LiteralValue::String(field)) => self.field(of, field.inner(), &nodes[0]),
                _ => CelType::Any,
            },
            (CelType::Object(_), CelType::Any) => CelType::Any,
            (of, key) => {
                let at = self.span_of(&nodes[0]);
                self.report(at, format!("{key} names nothing in {of}"), describe_type(&nodes[0], of));
                CelType::Any
            }
        }
    }

    fn report_mismatch(&mut self, nodes: &[IdedExpr], one: &CelType, other: &CelType, why: &str) {
        let at = nodes.first().map_or(0..self.text.len(), |node| self.span_of(node));
        self.report(at, format!("{one} and {other} cannot be combined"), why.to_owned());
    }
}
